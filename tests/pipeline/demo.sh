#!/bin/sh
# scripts/demo at a tiny size, with a report that fails; and the README's
# figures against what the demo, where it was run, left in its folder
. "${0%/*}/../lib/lib.sh"

# --- a tree of its own: two languages, a tiny model ---
mkdir -p tree/scripts tree/corpus/held-out tree/recipes tree/bin
cp "$top/scripts/demo" tree/scripts
head -n 4 "$top/corpus/en.jsonl" >tree/corpus/en.jsonl
head -n 4 "$top/corpus/mt.jsonl" >tree/corpus/mt.jsonl
head -n 2 "$top/corpus/held-out/en.jsonl" >tree/corpus/held-out/en.jsonl
sed 's/\(hidden_size"\): 192/\1: 24/; s/\(intermediate_size"\): 576/\1: 48/
    s/\(_layers"\): 6/\1: 2/; s/\(_heads"\): 6/\1: 2/; s/\(head_dim"\): 32/\1: 12/' \
    "$top/recipes/small.json" >tree/recipes/small.json
for p in $(names); do
    ln -s "$BUILD/bin/$p" "tree/bin/$p"
done
demo() {
    STEPS=4 KD_STEPS=3 RATIO=0.1 LR=1e-3 RIVAL_LR=2e-3 BUILD=$PWD/tree \
        sh tree/scripts/demo "$@"
}
ok 'the demo' demo d
equal 'says first what it takes' "$(grep -v '^$' out | sed -n '2p;4s/ .*//p' |
    tr '\n' ' ')" 'the teacher: time.step '
like 'disk, too' '^run.disk.hidden  ' out
like 'live and precomputed agree' 'live and precomputed: identical bytes' out
like 'a table, with agreement and the ratio of perplexities' \
    '^teacher +[0-9.]+ .* 100\.0% +100\.0%' out
like 'the rival beside' '^distilled +rival +KL ' out
like 'samples behind it' '^fr +distilled +La vieille femme' out
if [ -s d/report.html ]; then pass 'a page'; else fail 'a page'; fi
for rate in distilled:1e-3 rival:2e-3; do
    like "${rate%:*} at its own rate" \
        "student -m pruned .*--lr ${rate#*:} -o ${rate%:*}$" d/facts.txt
done
like 'the sizes are kept' \
    '^sizes.STEPS=4 RATIO=0.1 KD_STEPS=3 LR=1e-3 RIVAL_LR=2e-3$' d/facts.txt
like 'and the kernels' '^kernels.[a-z0-9]+$' d/facts.txt

rm tree/bin/report
printf '#!/bin/sh\necho "report: broken" >&2\nexit 3\n' >tree/bin/report
chmod +x tree/bin/report
ok 'a report that fails' demo d
like 'is named' '^report: broken$' err
like 'and said' 'the report failed with status 3; the demo goes on' out
equal 'the samples are there' "$(wc -l <d/samples.txt)" 9
like 'and shown' '^fr +distilled +La vieille femme' out

# --- the README ---
# Its table and its differences, without what the machine decides: the table
# of the text report up to "ratio", that of differences whole.
fact() {
    sed -n "s/^$1	//p" "$BUILD/demo/facts.txt"
}
# The table whose heads begin with $1 in file $2, up to the column $3
table() {
    awk -v head="^ *$1 " -v last="$3" '
        $0 ~ head { on = 1; sub(/^ */, ""); n = index($0, last) + length(last) }
        on && NF == 0 { exit }
        on { sub(/^ */, ""); $0 = substr($0, 1, n - 1); $1 = $1; print }' "$2"
}
demo_in_readme() {
    d=$BUILD/demo
    if [ ! -e "$d/report.html" ] || [ ! -e "$d/facts.txt" ]; then
        skip "$1" 'no whole run of make demo'
        return
    fi
    if [ -n "$(find "$BUILD/bin" -newer "$d/eval.tsv")" ]; then
        skip "$1" 'make demo is older than the programs'
        return
    fi
    sizes=$(sed -n 's/^[a-z_]*=\${\([A-Z_]*\):-\([0-9.e-]*\)}$/\1=\2/p' \
        "$top/scripts/demo" | paste -s -d ' ' -)
    if [ "$(fact sizes)" != "$sizes" ]; then
        skip "$1" 'make demo was run at other sizes'
        return
    fi
    kernels=$(sed -n 's/.*(under the kernels `\([a-z0-9]*\)`.*/\1/p' "$top/README.md")
    if [ -z "$kernels" ]; then
        fail "$1: names the kernels"
        return
    fi
    if [ "$(fact kernels)" != "$kernels" ]; then
        skip "$1" "the README shows the kernels $kernels, make demo used others"
        return
    fi
    ok "$1: report" report -q --text "$d"
    table model out ratio >want
    table model "$top/README.md" ratio >got
    same "$1: its table" got want
    table 'model +than' out errors >want
    table 'model +than' "$top/README.md" errors >got
    same "$1: its differences" got want
}
demo_in_readme 'README'
done_testing
