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
ok 'doc-text makes text of packages' "$top/scripts/doc-text" p
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
ok 'text-rows cuts a text to rows' env BUILD="$BUILD" "$top/scripts/text-rows" "$gguf" 32 7 \
    other/x.txt rows
ok 'stream makes batches of the rows' stream -q -T 32 -B 7 --pack none --no-shuffle -o rows.b rows
shard dump --values 100000 rows >/dev/null
tokenize -q -t "$gguf" --no-bos --no-eos --ids other/x.txt | tr ' ' '\n' |
    head -n 224 >want
shard export npy -q -o rows.npy rows
tail -c +129 rows.npy | od -An -v -t u2 | tr -s ' ' '\n' | sed 1d >got
same 'rows are the tokens of the text, cut at every 32' got want
equal 'each row is a document' "$(shard list rows | awk '$1 == "rows" { print $2, $3 }')" \
    '7 224'
echo 'A few words.' >short
status 3 'a text shorter than a row is refused' env BUILD="$BUILD" "$top/scripts/text-rows" \
    "$gguf" 32 0 short none
like 'the message names the text without a row' 'short: no row of 32 tokens' err

# --- the recipe ---
recipe() {
    run_recipe reference RESULTS="$work/r" KEEP=1 \
        T=32 B=2 BATCHES=6 WARMUP=1 SAVE=3 CALIB_ROWS=2 CONTEXT=32 \
        TEXT="$work/mine" HELD_OUT_TEXT="$work/other" JUDGED_ROWS=35 \
        JUDGED_BYTES=5000 PROMPTS="'en:a b'" "$@"
}
ok 'a run is made and its rows are written' recipe rival row
equal 'a run has rows of four models' "$(cut -f 1-4 r/reference.tsv | tr '\t\n' ' ,')" \
    'run model seed tokens,w teacher - -,w pruned - -,w distilled 1 384,w rival 1 384,'
like 'a row has the command of its run' "	make -f recipes/reference.mk .*BATCHES='6' .*TEXT='mine' " \
    r/reference.tsv
unlike 'a row has no paths of this machine' "$work" r/reference.tsv
again r reference >wrong
equal 'the rows are what lies beside them' "$(cat wrong)" ''
equal 'as many rows are judged as asked for' "$(awk -F '\t' '$2 == "rival" { print $7, $8 }' \
    r/reference.tsv)" '35 1085'
equal 'the blocks that KEEP names are left' "$(tr -d ' \n' <w/full/pruned/config.json |
    grep -o '"kept":[^]]*')" '"kept":[1'
status 2 'other blocks in KEEP are refused with status 2' recipe KEEP=0
like 'the message says what KEEP was' "made with KEEP=1, not KEEP=0" err
status 2 'a search in place of KEEP is refused with status 2' recipe KEEP=
like 'the message says that KEEP is empty' "made with KEEP=1, not KEEP=$" err
status 2 'a row of a smoke run is refused with status 2' recipe SMOKE=1 row
like 'the message says that a smoke run is no row' 'a smoke run is no row' err
echo 'teacher [31.98, 0.0, 1.0, 37.09, 0.0, 1.0]' >peer
ok "what PyTorch printed is put into rows" recipe row PEER="$work/peer"
like "PyTorch's models have rows" '^pytorch	teacher	.*	31.98	' r/reference.tsv
ok "what PyTorch printed by another seed is put into rows" recipe peer SEED=2 PEER="$work/peer"
like "another seed of PyTorch's has rows of its own" '^pytorch-seed-2	teacher	.* kd 6 10 DIR TEXT HELD_OUT_TEXT 2$' \
    r/reference.tsv
ok 'the batches of a run are written' recipe order
ok 'a student trains on the batches of a run' student -q -m w/full/pruned --warmup 1 --lr 3e-4 --keep 1 -o x \
    w/full/order.stream
same 'the batches of a run give the same model' x/model.safetensors w/full/rival/model.safetensors

# --- what the teacher says, kept ---
like_k() {
    ok "a run LIKE the stored one is linked: $2" recipe WORK="$work/$1" LIKE="$work/k" "$2" like
    ok "the linked run is made: $2" recipe WORK="$work/$1" STORED=1 "$2" "$3"
}
ok 'a run with stored targets is made' recipe WORK="$work/k" STORED=1 distil
same 'stored targets give the same bytes' k/full/distilled/model.safetensors \
    w/full/distilled/model.safetensors
status 2 'other targets than the stored ones are refused' recipe WORK="$work/k" STORED=1 SAYS=--final distil
like 'the message says what SAYS was' 'targets[*] was made with SAYS=, not SAYS=--final$' err
like_k l STUDENT='--ce 0' distil
unlike 'a run LIKE the stored one needs no teacher' '^teacher' err
ok 'the same run with a teacher is made' recipe WORK="$work/n" STUDENT='--ce 0' distil
same 'a run LIKE the stored one gives the same model' l/full/distilled/model.safetensors \
    n/full/distilled/model.safetensors
like_k m ROUND=q4_0 report
unlike 'what differs in judgement alone is not trained' '^student' err
like_k y SAYS='--final --hidden none' plan
if [ -e y/full/pruned ] && [ ! -e y/full/targets ]; then pass 'other targets are not taken'
else fail 'other targets are not taken'; fi

ok 'a run of final states alone is made' recipe WORK="$work/f" SAYS=--final distil
ok 'a run without SquareHead is made' recipe WORK="$work/g" \
    STUDENT='--squarehead 0' distil
same 'hidden states without SquareHead teach nothing' f/full/distilled/model.safetensors \
    g/full/distilled/model.safetensors

status 2 'a wrong option of MIX is refused with status 2' recipe WORK="$work/mixed" MIX=--alpha=none \
    distil
like 'stream names the wrong option of MIX' '^stream: .*alpha' err
ok 'a run of BATCHES=0 is judged' recipe WORK="$work/z" BATCHES=0 row
equal 'a run of BATCHES=0 has rows of two models' "$(awk -F '\t' '$1 == "z" { print $2, $4 }' \
    r/reference.tsv | tr '\n' ',')" 'teacher -,pruned -,'
rows_of() { sed -n '/^document/,$p' "$1/full/eval.tsv" | cut -f 1 | sort; }
equal 'documents are the same in another folder' "$(rows_of z)" "$(rows_of w)"
unlike 'a report without JUDGE has no kl_back' 'kl_back' z/full/eval.tsv
ok 'a report with JUDGE is made' recipe WORK="$work/z" BATCHES=0 JUDGE=--spread report
like 'a report with JUDGE has kl_back' 'kl_back' z/full/eval.tsv

# --- every stage, each with options of its own ---
printf '%s\n' 'kind choice' 'choice {a}' 'choice {b}' 'answer {g}' >q.form
awk 'BEGIN { for (i = 0; i < 30; i++) printf "{\"a\":\"%s\",\"b\":\"%s\",\"g\":%d}\n", \
    "word " i, "ward " i * 7 % 30, i % 2 }' >q.jsonl
all() {
    recipe WORK="$work/a" RUN=every TABLE=stages VOCAB=290 KEEP= BLOCKS=1 CANDIDATES=1 \
        PRUNE=--no-repair SPARSIFY='--method magnitude' SAYS='--top 8' \
        TASKS="$work/q.form=$work/q.jsonl" "$@"
}
ok 'a run with options of every stage is made' all row
o=a/full
convert -q $o/vocab.gguf whole290
like 'the vocabulary is cut to 290 ids' '"vocab_size": *290' whole290/config.json
like 'the student has the cut vocabulary' '"vocab_size": *290' $o/distilled/config.json
like 'the student has the pattern of zeros' '"2:4"' $o/distilled/config.json
like 'the teacher sends its top 8 tokens' '^teacher: top 8: ' err
equal 'the run of every stage has rows of three models' "$(cut -f 1,2 r/stages.tsv | tr '\t\n' ' ,')" \
    'run model,every teacher,every pruned,every distilled,'
like 'the rows name the settings of every stage' "SPARSIFY='--method magnitude' .*VOCAB='290'" r/stages.tsv
like 'the rows name tasks without folders' "TASKS='q.form=q.jsonl' " r/stages.tsv
unlike 'the rows have no paths of this machine' "$work" r/stages.tsv
again r stages >wrong
equal 'the rows of every stage are what lies beside them' "$(cat wrong)" ''
head -n 20 q.jsonl >fewer.jsonl
ok 'a run with other items of a task is judged' all TASKS="$work/q.form=$work/fewer.jsonl" row
equal 'the other items are scored' "$(gzip -dc r/stages/every.items.tsv.gz | sed 1d | cut -f 2 |
    sort -u | wc -l | tr -d ' ')" 20
ok 'a run without tasks is judged' all TASKS= row
equal 'no item is in the row nor beside it' "$(cut -f 21 r/stages.tsv | sed 1d | uniq)
$(find r/stages -name '*items*')" '-
'
status 2 'another SAYS is refused with status 2' all SAYS='--top 9'
like 'the message says that SAYS was the top 8' 'made with SAYS=--top 8, not SAYS=--top 9' err
done_testing
