#!/bin/sh
# recipes/reference.mk with a tiny model: rows cut from all text joined, blocks
# that are named, rows of results; scripts/doc-text
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/results.sh"
. "$top/tests/lib/recipe.sh"

# --- text of packages ---
mkdir -p p/usr/share/doc/x/de p/usr/share/doc/x/en-US p/usr/share/games/fortunes
long='a line of prose that is long enough to be kept, number'
{
    printf '<html><head><style>p { }</style></head><body class="c">\n<nav><p>'
    printf '%s in the navigation</p></nav><script>if (a < b) { }</script>\n' "$long"
    for i in 1 2 3 4 5; do printf '<p>%s <b>%d</b></p>' "$long" $i; done
    printf '<p>too short</p><li>%s &lt;6&gt; &amp;lt;&nbsp;\n</li>' "$long"
    printf '<p>%s caf&eacute;, \303\251</p></body>\n' "$long"
} >p/usr/share/doc/x/a.html
sed 's/number/figure/g' p/usr/share/doc/x/a.html >p/usr/share/doc/x/en-US/b.html
sed 's/number/Zahl/g' p/usr/share/doc/x/a.html >p/usr/share/doc/x/de/c.html
sed 's/number/Zahl/g' p/usr/share/doc/x/a.html >p/usr/share/doc/x/a.de.html
cp p/usr/share/doc/x/a.html p/usr/share/doc/x/again.html
printf 'short\n%%\n%s one\n%s two\n%%\n%s three, and more\n' "$long" "$long" "$long" \
    >p/usr/share/games/fortunes/f
echo "$long, of an index, which is no text at all" >p/usr/share/games/fortunes/f.dat
ok 'text of packages' "$top/scripts/doc-text" p
awk 'BEGIN { RS = "" } { print "document"; print }' out | sort >got
{
    printf 'document\ndocument\ndocument\ndocument\n'
    for w in number figure; do
        for i in 1 2 3 4 5; do echo "$long $i"; done | sed "s/number/$w/"
        echo "$long <6> &lt;" | sed "s/number/$w/"
    done
    printf '%s one\n%s two\n%s three, and more\n' "$long" "$long" "$long"
} | sort >want
same 'pages and fortunes, each once, in English' got want

# --- rows ---
mkdir mine other
sed -n 1,9p "$top/corpus/en.jsonl" | sed 's/.*"text": "//; s/"}$//; s/\\n\\n/\n\n/g
    s/\\n/\n/g; s/\\"/"/g' >mine/en.txt
sed -n 10,14p "$top/corpus/en.jsonl" | sed 's/.*"text": "//; s/"}$//; s/\\n/\n/g
    s/\\"/"/g' >other/x.txt
ok 'rows of a text' env BUILD="$BUILD" "$top/scripts/text-rows" "$gguf" 32 7 \
    other/x.txt rows
ok 'as batches' stream -q -T 32 -B 7 --pack none --no-shuffle -o rows.b rows
shard dump --values 100000 rows >/dev/null
tokenize -q -t "$gguf" --no-bos --no-eos --ids other/x.txt | tr ' ' '\n' |
    head -n 224 >want
shard export npy -q -o rows.npy rows
tail -c +129 rows.npy | od -An -v -t u2 | tr -s ' ' '\n' | sed 1d >got
same 'are its tokens, cut at every 32' got want
equal 'a document each' "$(shard list rows | awk '$1 == "rows" { print $2, $3 }')" \
    '7 224'
echo 'A few words.' >short
status 3 'a text without a row' env BUILD="$BUILD" "$top/scripts/text-rows" \
    "$gguf" 32 0 short none
like 'is named' 'short: no row of 32 tokens' err

# --- the recipe ---
recipe() {
    run_recipe reference RESULTS="$work/r" KEEP=1 \
        T=32 B=2 BATCHES=6 WARMUP=1 SAVE=3 CALIB_ROWS=2 CONTEXT=32 \
        TEXT="$work/mine" HELD_OUT_TEXT="$work/other" JUDGED_ROWS=35 \
        JUDGED_BYTES=5000 PROMPTS="'en:a b'" "$@"
}
ok 'a run and its rows' recipe rival row
equal 'of four models' "$(cut -f 1-4 r/reference.tsv | tr '\t\n' ' ,')" \
    'run model seed tokens,w teacher - -,w pruned - -,w distilled 1 384,w rival 1 384,'
like 'with its command' "	make -f recipes/reference.mk .*BATCHES='6' .*TEXT='mine' " \
    r/reference.tsv
unlike 'without paths' "$work" r/reference.tsv
again r reference >wrong
equal 'which are what lies beside them' "$(cat wrong)" ''
equal 'judged are so many rows' "$(awk -F '\t' '$2 == "rival" { print $7, $8 }' \
    r/reference.tsv)" '35 1085'
equal 'the blocks named are left' "$(tr -d ' \n' <w/full/pruned/config.json |
    grep -o '"kept":[^]]*')" '"kept":[1'
status 2 'other blocks' recipe KEEP=0
like 'are refused' "made with KEEP=1, not KEEP=0" err
status 2 'a search instead' recipe KEEP=
like 'is refused' "made with KEEP=1, not KEEP=$" err
status 2 'a smoke run' recipe SMOKE=1 row
like 'a smoke run is no row' 'a smoke run is no row' err
echo 'teacher [31.98, 0.0, 1.0, 37.09, 0.0, 1.0]' >peer
ok 'a peer' recipe row PEER="$work/peer"
like 'has its row' '^pytorch	teacher	.*	31.98	' r/reference.tsv
ok 'by another seed' recipe peer SEED=2 PEER="$work/peer"
like 'another' '^pytorch-seed-2	teacher	.* kd 6 10 DIR TEXT HELD_OUT_TEXT 2$' \
    r/reference.tsv
ok 'the batches of a run' recipe order
ok 'trained on' student -q -m w/full/pruned --warmup 1 --lr 3e-4 --keep 1 -o x \
    w/full/order.stream
same 'give the same model' x/model.safetensors w/full/rival/model.safetensors

# --- what the teacher says, kept ---
like_k() {
    ok 'another' recipe WORK="$work/$1" LIKE="$work/k" "$2" like
    ok '... is like it' recipe WORK="$work/$1" STORED=1 "$2" "$3"
}
ok 'a run with the targets kept' recipe WORK="$work/k" STORED=1 distil
same 'ends at the same bytes' k/full/distilled/model.safetensors \
    w/full/distilled/model.safetensors
status 2 'others are asked for' recipe WORK="$work/k" STORED=1 SAYS=--final distil
like 'which is told' 'targets[*] was made with SAYS=, not SAYS=--final$' err
like_k l STUDENT='--ce 0' distil
unlike 'without a teacher' '^teacher' err
ok 'with one' recipe WORK="$work/n" STUDENT='--ce 0' distil
same 'it is the same' l/full/distilled/model.safetensors \
    n/full/distilled/model.safetensors
like_k m ROUND=q4_0 report
unlike 'what differs in judgement alone is not trained' '^student' err
like_k y SAYS='--final --hidden none' plan
if [ -e y/full/pruned ] && [ ! -e y/full/targets ]; then pass 'other targets are not taken'
else fail 'other targets are not taken'; fi

ok 'final states alone' recipe WORK="$work/f" SAYS=--final distil
ok 'hidden states without SquareHead' recipe WORK="$work/g" \
    STUDENT='--squarehead 0' distil
same 'teach the same' f/full/distilled/model.safetensors \
    g/full/distilled/model.safetensors

status 2 'options of mixing are heard' recipe WORK="$work/mixed" MIX=--alpha=none \
    distil
like 'by stream' '^stream: .*alpha' err
ok 'nothing trained' recipe WORK="$work/z" BATCHES=0 row
equal 'has rows of two models' "$(awk -F '\t' '$1 == "z" { print $2, $4 }' \
    r/reference.tsv | tr '\n' ',')" 'teacher -,pruned -,'
rows_of() { sed -n '/^document/,$p' "$1/full/eval.tsv" | cut -f 1 | sort; }
equal 'the same documents as in another folder' "$(rows_of z)" "$(rows_of w)"
unlike 'judged as ever' 'kl_back' z/full/eval.tsv
ok 'options of the judgement' recipe WORK="$work/z" BATCHES=0 JUDGE=--spread report
like 'are heard' 'kl_back' z/full/eval.tsv

# --- every stage, each with options of its own ---
printf '%s\n' 'kind choice' 'choice {a}' 'choice {b}' 'answer {g}' >q.form
awk 'BEGIN { for (i = 0; i < 30; i++) printf "{\"a\":\"%s\",\"b\":\"%s\",\"g\":%d}\n", \
    "word " i, "ward " i * 7 % 30, i % 2 }' >q.jsonl
all() {
    recipe WORK="$work/a" RUN=every TABLE=stages VOCAB=290 KEEP= BLOCKS=1 CANDIDATES=1 \
        PRUNE=--no-repair SPARSIFY='--method magnitude' SAYS='--top 8' \
        TASKS="$work/q.form=$work/q.jsonl" "$@"
}
ok 'vocabulary, blocks, zeros, top tokens, tasks' all row
o=a/full
like 'a smaller vocabulary' '"vocab_size": *290' $o/vocab/config.json
like 'which the student has' '"vocab_size": *290' $o/distilled/config.json
like 'and the pattern' '"2:4"' $o/distilled/config.json
like 'the teacher said its top 8' '^teacher: top 8: ' err
equal 'its rows' "$(cut -f 1,2 r/stages.tsv | tr '\t\n' ' ,')" \
    'run model,every teacher,every pruned,every distilled,'
like 'which name the settings' "SPARSIFY='--method magnitude' .*VOCAB='290'" r/stages.tsv
like 'without folders' "TASKS='q.form=q.jsonl' " r/stages.tsv
unlike 'of any kind' "$work" r/stages.tsv
again r stages >wrong
equal 'are what lies beside them' "$(cat wrong)" ''
head -n 20 q.jsonl >fewer.jsonl
ok 'other items' all TASKS="$work/q.form=$work/fewer.jsonl" row
equal 'are scored' "$(gzip -dc r/stages/every.items.tsv.gz | sed 1d | cut -f 2 |
    sort -u | wc -l | tr -d ' ')" 20
ok 'none' all TASKS= row
equal 'are in the row, nor beside it' "$(cut -f 21 r/stages.tsv | sed 1d | uniq)
$(find r/stages -name '*items*')" '-
'
status 2 'another teaching' all SAYS='--top 9'
like 'is refused' 'made with SAYS=--top 8, not SAYS=--top 9' err
done_testing
