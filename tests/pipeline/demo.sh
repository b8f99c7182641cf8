#!/bin/sh
# scripts/demo at a tiny size, with a report that fails; and the README's
# figures against what the demo, where it was run, left in its folder
. "${0%/*}/../lib/lib.sh"

# --- a tree of its own: two languages, a tiny model ---
mkdir -p tree/scripts tree/corpus/held-out tree/recipes tree/bin
for f in demo first-words samples; do
    cp "$top/scripts/$f" tree/scripts
done
head -n 4 "$top/corpus/en.jsonl" >tree/corpus/en.jsonl
head -n 4 "$top/corpus/mt.jsonl" >tree/corpus/mt.jsonl
for l in en de fr it; do
    head -n 1 "$top/corpus/held-out/$l.jsonl" >"tree/corpus/held-out/$l.jsonl"
done
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
ok 'the demo runs at a tiny size' demo d
like 'the demo says first what the teacher takes' '^time[.]step  ' out
like 'the demo says first what disk it takes' '^run[.]disk[.]ids  ' out
equal 'each stage is one line with the seconds that are left' "$(grep -c \
    '^== [1-6] of 6: .* .[0-9]* s, about [0-9]* s left.$' out)" 6
equal 'the seconds that are left become fewer' "$(sed -n \
    's/^== [2-6] of 6: .* about \([0-9]*\) s left.$/\1/p' out | tail -n 4)" \
    "$(sed -n 's/^== [2-6] of 6: .* about \([0-9]*\) s left.$/\1/p' out |
        tail -n 4 | sort -rn)"
unlike 'no progress but of the last program of a pipe is shown' \
    '^(stream|shard)( 0|:)' err
like 'the student from stored states has the bytes of the live one' \
    'live and stored: identical bytes' out
like 'a table has agreement and what was won back' \
    '^teacher +[0-9.]+ .* 100\.0% +100\.0%' out
like 'the rival is compared' '^distilled +rival +KL ' out
for m in teacher pruned distilled rival; do
    equal "$m continues four texts that are held out" \
        "$(awk -F '\t' -v m=$m '$2 == m && $3 != "" { n++ } END { print n }' \
            d/samples.txt) $(grep -c "^   $m " out)" '4 4'
done
equal 'the page has what each model writes after each prompt' \
    "$(cut -f 1,2 d/samples.txt | sort -u | wc -l) $(grep -c '<h4 lang' \
        d/report.html)" '16 4'
equal 'what a model writes does not repeat the prompt' \
    "$(awk -F '\t' 'index($3, $4) == 1' d/samples.txt)" ''
status 1 'a model that cannot be opened ends scripts/samples' \
    sh -c 'echo en:a | "$1" 4 teacher=none' sh "$top/scripts/samples"
equal 'a prompt is the beginning of a held-out text' \
    "$(cut -f 4 d/samples.txt | sort -u | while IFS= read -r p; do
        cat tree/corpus/held-out/*.jsonl | grep -cF -- "$p"
    done | sort -u)" 1
if [ -s d/report.html ]; then pass 'the demo makes a page'
else fail 'the demo makes a page'; fi
for rate in distilled:1e-3 rival:2e-3; do
    like "${rate%:*} is trained at its own rate" \
        "student -m pruned .*--lr ${rate#*:} -o ${rate%:*}$" d/facts.txt
done
like 'the sizes are kept' \
    '^sizes.STEPS=4 RATIO=0.1 KD_STEPS=3 ROWS=2 LR=1e-3 RIVAL_LR=2e-3$' d/facts.txt
like 'the kernels are kept' '^kernels.[a-z0-9]+$' d/facts.txt

rm tree/bin/report
printf '#!/bin/sh\necho "report: broken" >&2\nexit 3\n' >tree/bin/report
chmod +x tree/bin/report
ok 'a report that fails does not end the demo' demo d
like 'a report that fails is named' '^report: broken$' err
like 'the demo says the status of a report that fails' \
    'the report failed with status 3; the demo goes on' out
like 'texts are shown after a report that failed' '^   rival +' out

# --- the README ---
# The table and the differences, without what the machine decides: the table
# of the text report up to "won back", that of differences whole.
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
    ok "$1: its report is printed" report -q --text "$d"
    table model out "won back" >want
    table model "$top/README.md" "won back" >got
    same "$1: the table is that of the report" got want
    table 'model +than' out errors | grep -v '^[a-z]* pruned ' >want
    table 'model +than' "$top/README.md" errors >got
    same "$1: the differences are those of the report" got want
}
demo_in_readme 'README shows the last demo'
done_testing
