#!/bin/sh
# recipes/gemma3.mk with a tiny model and small texts in place of those it
# fetches; its scripts
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/recipe.sh"

# --- pages of help in two languages ---
mkdir help
awk 'BEGIN { for (i = 1; i <= 40; i++) for (l = 0; l < 2; l++) {
    dir = l ? "help/de/usr/share/libreoffice/help/de/text/swriter/guide" : \
        "help/en-us/usr/share/libreoffice/help/en-US/text/swriter/guide"
    if (i == 1) system("mkdir -p " dir)
    f = sprintf("%s/p%02d.html", dir, i)
    print "<body><p>Menu, which is not a part of the text of this page</p>" >f
    print "<div id=\"DisplayArea\" x=\"y\"><h1 id=\"h\">Title</h1>" >f
    for (k = 1; k <= 4; k++)
        printf "<p id=\"%d\" class=\"paragraph\">\n%s %d.%d <b>&lt;&amp;</b> " \
            "%s<span hidden=\"true\" id=\"MACx\" class=\"MAC\"><span " \
            "class=\"e\">Command</span></span>Strg+%d</p>\n", k, \
            l ? "Seite und Absatz" : "Page and paragraph", i, k, \
            "a long enough line of text: ", i * k >f
    print "<p>This paragraph was not translated, on page " i "</p>" >f
    print "<p>The same line on all pages of the help</p>" >f
    print "<div class=\"relatedtopics\"><p>Other pages that are related to" \
        " this page</p></div></body>" >f
    close(f) } }'
ok 'help-text makes text of the help' "$top/scripts/help-text" help text 900 de
equal 'eight pages are judged on' "$(grep -c '' text/held-out/de.txt)" 39
equal 'eight other pages are for development' "$(grep -c '' text/dev/de.txt)" 39
equal 'the text to train on is as long as asked for' \
    "$(wc -c <text/train/de.txt | awk '{ print ($1 >= 900 && $1 < 1300) }')" 1
equal 'paragraphs of the help become text' "$(sed -n 's/[0-9][0-9]*/N/gp; q' text/dev/de.txt)" \
    'Seite und Absatz N.N <& a long enough line of text: Strg+N'
cat text/*/de.txt >all
unlike 'what is not translated, or not of the page, is left out' \
    'not translated|The same line|Menu|related' all
equal 'no line of the help stands twice' "$(sort all | grep . | uniq -d)" ''
ok 'help-text makes English text too' "$top/scripts/help-text" help text 900 en de
for set in held-out dev; do
    for l in en de; do
        sed -n 's/^[A-Za-z ]* \([0-9]*\)[.].*/\1/p' text/$set/$l.txt |
            uniq >$l.$set
    done
    same "$set has the same pages in both languages" en.$set de.$set
done
status 1 'a language that is not there is refused' "$top/scripts/help-text" help text 9 fr
like 'the message names the language that is not there' 'help/fr/.*: not found' err

# --- manual pages, guides, fortunes: scripts/doc-text ---
long='das ist eine Zeile, die lang genug ist, Nummer'
# manual FOLDER: seven paragraphs of its language, one of English, one of code
manual() {
    mkdir -p "$1/usr/share/man/xx/man1"
    {
        printf '.\\" %s 0\n.TH X 1\n.SH "%s 9"\n' "$long" "$long"
        printf '.PP\n%s\n\\fB\\-\\-1\\fR und \\(aqso\\(aq \\e weiter \303\244\n' "$long"
        printf '.TP\n.BI \\-\\-lange= "OPTION UND MEHR" ", " "und noch viel mehr davon"\n'
        printf '%s 2\n.B und\n.IR ls (1),\nso\n' "$long"
        for i in 3 4 5 6 7; do printf '.P\n%s %d\n' "$long" $i; done
        printf '.nf\n%s 8\n.fi\n.P\n%s \\[u00E4]\n.P\n%s \344\n' "$long" "$long" "$long"
        printf '.P\nThis is what nobody of the translators has translated\n'
    } | gzip -c >"$1/usr/share/man/xx/man1/x.1.gz"
}
manual m/de
{
    echo "$long --1 und 'so' \\ weiter ä"
    echo "$long 2 und ls(1), so"
    for i in 3 4 5 6 7; do echo "$long $i"; done
    echo
} >want
ok 'doc-text reads a manual page' "$top/scripts/doc-text" -l de m/de
same 'the manual page becomes text' out want
gunzip -c m/de/usr/share/man/xx/man1/x.1.gz |
    sed 's/ Nummer/ of English/' | gzip -c >m/de/usr/share/man/xx/man1/y.1.gz
ok 'doc-text -n is the number of bytes after which it stops' "$top/scripts/doc-text" -l de -n 9 m/de
equal 'a few bytes are one page' "$(grep -c '^$' out)" 1
status 2 'another option of doc-text is refused' "$top/scripts/doc-text" -x m
like 'the message shows the usage of doc-text' '^usage: scripts/doc-text ' err
# guides FOLDER: HTML and fortunes
guides() {
    mkdir -p "$1/usr/share/gimp/xx" "$1/usr/share/games/fortunes/de"
    for i in 1 2 3 4 5 6; do echo "<p>$long Ä&nbsp;$i</p>"; done \
        >"$1/usr/share/gimp/xx/a.html"
    printf '%s\nund noch eine\n%%\nThe %s\n' "$long" "$long" \
        >"$1/usr/share/games/fortunes/de/f"
}
guides m/g
ok 'doc-text reads a guide and fortunes' "$top/scripts/doc-text" -l de m/g
{
    echo; echo
    echo "$long"
    for i in 1 2 3 4 5 6; do echo "$long Ä $i"; done
    echo 'und noch eine'
} | sort >want
sort out >got
same 'a guide and fortunes become text' got want

# --- the recipe ---
declaration
recipe() {
    run_recipe gemma3 \
        UDHR="$work/udhr" HELP="$work/help" LANGUAGES='de en mt' BYTES=900 \
        T=64 B=2 BATCHES=40 LR=1e-2 WARMUP=1 SAVE=3 CALIB_ROWS=2 BLOCKS=1 \
        CONTEXT=64 STUDENT= PIECES='--max-doc 60 --split-long' \
        PROMPTS="'en:a b'" "$@"
}
ok 'the recipe makes all its steps' recipe
o=w/full
for f in report.txt report.html samples.txt distilled/config.json; do
    if [ -s "$o/$f" ]; then pass "the recipe has made $f"; else fail "the recipe has made $f"; fi
done
unlike 'articles held out are not trained on' '^eng (5|11|17|23|28):' \
    $o/text/train/en.txt
equal 'articles held out are judged on' "$(grep -c '^eng\|^deu' $o/text/held-out/udhr.txt)" 10
sed 's/.*"text": "//; s/[^A-Za-z ].*//; q' "$top/corpus/en.jsonl" >yes
sed 's/.*"text": "//; s/[^A-Za-z ].*//; q' "$top/corpus/held-out/en.jsonl" >no
like 'corpus is trained on' "$(cat yes)" $o/text/train/en.txt
like 'a language without help has the Declaration' '^mlt 1: ' $o/text/train/mt.txt
sed 's/.*"text": "//; s/[.].*//; q' "$top/corpus/mt.jsonl" >yes
like 'a language without help has the corpus' "$(cat yes)" $o/text/train/mt.txt
unlike 'topics of the corpus held out are not trained on' "$(cat no)" $o/text/train/en.txt
like 'topics of the corpus held out are judged on' "$(cat no)" $o/text/held-out/corpus.jsonl
equal 'bits.txt has a line for each language' "$(awk '{ print $1 }' $o/bits.txt |
    tr '\n' ' ')" 'bits/byte corpus de en udhr all '
like 'bits a byte are shown at the end' '^bits/byte +teacher +pruned +distilled +won back' out
twice recipe

# A run that was killed goes on where it was.
rm -r $o/distilled/step-40 $o/distilled/config.json
mv $o/distilled/model.safetensors want
# --- Ctrl-C ---
rm -rf stopped
(trap - INT; exec setsid env --default-signal=INT make -s \
    --no-print-directory -C "$top" -f recipes/gemma3.mk -o programs \
    BUILD="$BUILD" TEACHER="$gguf" WORK="$work/stopped" \
    UDHR="$work/udhr" HELP="$work/help" LANGUAGES='de en mt' BYTES=900 T=64 \
    B=2 BATCHES=4000 LR=1e-2 WARMUP=1 SAVE=3 CALIB_ROWS=2 BLOCKS=1 MIX= \
    PIECES='--max-doc 60 --split-long' STUDENT= distil) >out 2>stopped.err &
make=$!
await [ -e stopped/full/distilled/metrics.tsv ]
kill -INT "-$make"
wait "$make"
like 'Ctrl-C: the command that goes on is said' \
    "^to go on: make -f recipes/gemma3.mk .*LANGUAGES='de en mt'.* distil\$" \
    stopped.err
equal 'Ctrl-C: the command is said once' "$(grep -c '^to go on' stopped.err)" 1
like 'Ctrl-C: student says after which step it stopped' 'student: .*stopped after step' stopped.err
rm -r stopped

ok 'a run that is not whole goes on' recipe distil
same 'a run that went on ends in the same bytes' want $o/distilled/model.safetensors
like 'a run that goes on is not begun anew' 'step.* 3[0-9]' err

ok 'the recipe judges on development pages' recipe SET=dev bits
equal 'development pages are those of the help' "$(awk '{ print $1 }' out | tr '\n' ' ')" \
    'bits/byte de en all '

# --- how much is left ---
ln -s "$gguf" gemma3-270m.gguf
cuts() {
    run_recipe gemma3 TEACHER="$work/gemma3-270m.gguf" WORK="$work/cuts" -n \
        prune "$@"
}
ok 'a cut without a size is planned' cuts
like 'a cut without a size leaves as many parameters as 14 blocks' '--params 246M ' out
unlike 'a cut without a size takes blocks and channels' '--blocks' out
like 'a cut without a size is by influence' '--candidates 1 ' out
ok 'a cut with another vocabulary is planned' cuts VOCAB=64K
like 'a cut with fewer ids leaves fewer parameters' '--params 120M ' out
ok 'a cut of whole blocks is planned' cuts BLOCKS=14
like 'a cut of whole blocks leaves as many as asked for' '--blocks 14 ' out
unlike 'a cut of whole blocks has no number of parameters' '--params' out
like 'a cut of whole blocks tries eight candidates' '--candidates 8 ' out
status 2 'another vocabulary without a size is refused' cuts VOCAB=32K
like 'the message says that PARAMS or BLOCKS is needed' 'PARAMS or BLOCKS says how much is left of .*32K' err
ok 'another vocabulary with PARAMS is planned' cuts VOCAB=32K PARAMS=100M
like 'the cut leaves the PARAMS that were asked for' '--params 100M ' out

# --- all languages of the EU ---
for l in cs da el es et 'fi' fr hu it nl pl pt sl sv; do
    mkdir -p help/$l/usr/share/libreoffice/help
    cp -r help/de/usr/share/libreoffice/help/de help/$l/usr/share/libreoffice/help/$l
done
for l in cs da de el en es 'fi' fr hu it nl pl pt ro sv; do
    manual eu/manuals/$l
    touch eu/manuals/$l.done
done
for l in bg cs da de el en es 'fi' fr ga hr hu it lt nl pl pt ro sl sv; do
    guides eu/guides/$l
    touch eu/guides/$l.done
done
# 200 tokens behind a prompt are more than the small model has positions for.
convert -q "$gguf" roomy && sed 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 4096/' \
    roomy/config.json >config && mv config roomy/config.json &&
    convert -q roomy roomy.gguf || fail 'a model of more positions is made'
ok 'the recipe runs in all languages' recipe WORK="$work/eu" LANGUAGES=eu BYTES=300 BATCHES=4 \
    WRITTEN=2 TEACHER="$work/roomy.gguf" bits
equal 'tokens of each language are printed' "$(awk '$1 ~ /^..$/ && $4 ~ /%/ { print $1 }' out |
    sort | tr '\n' ' ')" \
    'bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv '
o=eu/full
like 'manual pages are trained on' "^$long 7" $o/text/train/sv.txt
unlike 'guides are not trained on' 'Ä 6$' $o/text/train/sv.txt
like 'guides are judged on' "^$long Ä 6" $o/text/held-out/sv.txt
like 'fortunes are judged on' '^und noch eine' $o/text/held-out/bg.txt
equal 'each language is judged by itself' "$(sed -n '/^bits/,$p' out |
    awk 'NR > 1 { print $1 }' | tr '\n' ' ')" \
    'bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv all '

# --- what the teacher writes ---
printf '%s\n' 'one two three four five six seven eight' 'too short' \
    'a "b" c\d e f g h i' >lines
ok 'model-text writes texts of a model' env BUILD="$BUILD" "$top/scripts/model-text" -j 1 -s 3 \
    roomy.gguf 2 lines
equal 'model-text writes as many texts as asked for' "$(grep -c '^$' out)" 2
like 'texts of a model begin as lines of the text' '^one two three four five' out
like 'texts of a model keep quotes and backslashes' '^a "b" c\\d e f' out
if [ "$(wc -c <out)" -gt 100 ]; then pass 'texts of a model go on'; else fail 'texts of a model go on'; fi
mv out want
ok 'model-text writes texts by another seed' env BUILD="$BUILD" "$top/scripts/model-text" -s 4 \
    roomy.gguf 2 lines
if cmp -s out want; then fail 'another seed gives other texts'; else pass 'another seed gives other texts'; fi
ok 'model-text writes texts by the first seed' env BUILD="$BUILD" "$top/scripts/model-text" -s 3 roomy.gguf 2 lines
same 'a seed gives the same texts again' out want
status 2 'another option of model-text is refused' "$top/scripts/model-text" -x "$gguf" 2 lines
like 'the message shows the usage of model-text' '^usage: scripts/model-text ' err

# --- scripts/bits-a-byte: 3 ln 2 nats a token, 4 tokens, 8 bytes ---
printf 'source\tbytes\tx\nde\t8\t1\nall\t16\t1\n' >stats
tr ' ' '\t' >eval.tsv <<'END'
# protocol
model source tokens nll
a (all) 8 1.38629436112
b (all) 8 0.69314718056
a de 4 2.07944154168
b de 4 1.38629436112

model other quantity difference se z source
a b nll 0.69314718056 0.1 6.9 (all)
a b kl 0.5 0.1 5.0 (all)
a b nll 0.69314718056 0.2 3.5 de
END
ok 'bits-a-byte makes a table' "$top/scripts/bits-a-byte" stats eval.tsv a b
equal 'bits a byte of a language are computed' "$(awk '$1 == "de" { print $2, $3, $4, $5 }' out)" \
    '1.500 1.000 0.500 3.5'
equal 'bits a byte of all languages are computed' "$(awk '$1 == "all" { print $2, $3, $4, $5 }' out)" \
    '1.000 0.500 0.500 6.9'
sed 's/0.2	3.5	de/-	-	de/' eval.tsv >one.tsv
ok 'bits-a-byte takes a source of one document' "$top/scripts/bits-a-byte" stats one.tsv a b
equal 'a source of one document has no standard error' \
    "$(awk '$1 == "de" { print $4, $5 }' out)" '0.500 -'
status 1 'a model that was not judged is refused' "$top/scripts/bits-a-byte" stats \
    eval.tsv a c
done_testing
