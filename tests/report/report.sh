#!/bin/sh
# report: the page and the tables made from the files of a run
. "${0%/*}/../lib/lib.sh"

# wellformed FILE: every element that is opened is closed in order, attributes
# are in quotes, and what would be markup is escaped
cat >wellformed.awk <<'EOF'
BEGIN { RS = "<" }
function bad(why) { print why ": <" $0; wrong = 1; exit }
function entities(s) {
    gsub(/&(amp|lt|gt|quot|#39);/, "", s)
    return s !~ /&/
}
NR == 1 { if ($0 != "") bad("text before"); next }
{
    at = index($0, ">")
    if (at == 0) bad("not ended")
    tag = substr($0, 1, at - 1)
    text = substr($0, at + 1)
    if (tag == "!DOCTYPE html") next
    if (tag != "style" && index(text, ">")) bad("raw >")
    if (!entities(tag) || (tag != "style" && !entities(text))) bad("raw &")
    if (tag ~ /^\//) {
        if (stack[n--] != substr(tag, 2)) bad("not the one open")
        next
    }
    empty = sub(/\/$/, "", tag)
    name = tag
    sub(/[ \n].*/, "", name)
    gsub(/[ \n]+[a-zA-Z-]+[0-9]?="[^"]*"/, "", tag)
    if (tag != name || name !~ /^[a-z][a-z0-9]*$/) bad("attributes")
    if (!empty) stack[++n] = name
}
END {
    if (!wrong && n != 0) print "not closed: " stack[n]
    exit wrong || n != 0
}
EOF
wellformed() {
    awk -f "$RETORT_SCRATCH/wellformed.awk" "$1"
}
for bad in '<p>a</b>' '<p>a' '<p>a & b</p>' '<p a=b></p>' '<p a="b"c"></p>'; do
    printf '%s' "$bad" >bad.html
    status 1 "the check finds $bad not well formed" wellformed bad.html
done

# cells ID: the rows of the table of page.html, fields with tabs between
cells() {
    awk -v id="id=\"$1\"" 'index($0, id) { on = 1 }
        on && /^<tr>/ {
            gsub(/<\/t[hd]>/, "\t")
            gsub(/<[^>]*>/, "")
            sub(/\t$/, "")
            print
        }
        /<\/table>/ { on = 0 }' page.html
}

# metrics CE KL STEPS: a log of the student
metrics() {
    awk -v ce="$1" -v kl="$2" -v n="$3" 'BEGIN {
        OFS = "\t"
        print "step", "tokens", "scored", "loss", "ce", "kl", "squarehead", \
            "lr", "norm", "seconds", "of a later version"
        for (i = 1; i <= n; i++)
            print i, i * 64, 60, ce, ce + 1 / i, kl / i, 0, "1e-05", 0.5, \
                "0.250", "word"
    }'
}

# ---- a run of student alone ----
mkdir run
metrics 4.4 0.05 900 >run/metrics.tsv
ok 'a run of student alone is shown' report run
like 'a note says where the page is' '^report: the page is run/report.html$' err
cp run/report.html page.html
ok 'the page of a run alone is well formed' wellformed page.html
for id in ce kl-log speed norm; do
    like "the page of a run alone has the chart $id" "<figure id=\"$id\">" \
        page.html
done
# Nothing but the table is in a box that scrolls, so that on a phone a caption has
# the width of the page, and the last columns can be moved into view.
awk 'BEGIN { RS = "<div class=\"scroll\"" } NR > 1 {
    sub(/<\/div>.*/, ""); n++; bad += !/^[^>]*tabindex="0"><table / || \
        /<caption/ ||
    !/<\/table>$/ || !/aria-labelledby="[a-z-]*-is"/ } END { print (n > 0), bad + 0 }' \
    page.html >got
equal 'boxes that scroll hold tables, without captions' "$(cat got)" '1 0'
awk '/<p class="caption" id="/ { n++ } /<table / { t++ } END { print t - n }' \
    page.html >got
equal 'each table has its caption before it' "$(cat got)" 0
unlike 'the page of a run alone has no chart of what it lacks' \
    'id="(squarehead|paired|models)"' page.html
like 'the axis of steps has units' 'class="m">step \(of 64 tokens\)</text>' \
    page.html
like 'the axis of values has units' 'class="">tokens/s</text>' page.html
printf 'run\t900\t57600\t256\t4.4012\t0.00006\t0.00000\t0.500\n' >want
cells runs >got
same 'the page has the final figures of the run' got want
unlike 'the page needs nothing from elsewhere' \
    '(src|href)=|url\(|@import|<script' page.html
like 'the page goes light and dark' 'prefers-color-scheme: dark' page.html
ok 'a run alone is shown as text' report -q --text run
like 'the text has the figures of the page' '^run +900 +57600 +256 +4\.4012' out
ok 'the page is written to another file' report -q -o other.html run
same 'the page in another file is the same' other.html run/report.html
ok 'the page is written to standard output' report -q -o - run
same 'the page on standard output is the same' out run/report.html
printf '901\t57664\t6' >>run/metrics.tsv
ok 'a log with a line that is being written is shown' report -q run
same 'a line that is being written does not count' run/report.html other.html

# ---- held-out batches that were judged beside it ----
cp -r run judged
{
    printf 'step\ttokens\tscored\tloss\tce\tkl\tseconds\n'
    printf '%s\t6400\t570\t%s\t%s\t%s\t1.5\n' 300 1.5 4.5 0.25 600 1.25 \
        4.25 0.125 900 1.375 4.75 0.0625
    printf '1200\t64'
} >judged/held-out.tsv
ok 'a run with evaluations is shown' report judged
ok 'the page with evaluations is well formed' wellformed judged/report.html
cp judged/report.html page.html
for id in held-ce held-kl; do
    like "the page with evaluations has the chart $id" "<figure id=\"$id\">" \
        page.html
done
printf 'judged\t3\t600\t1.2500\t4.2500\t0.12500\t4.7500\t0.06250\n' >want
cells held-out >got
same 'the table has the best and the last evaluation' got want
for row in 4 2; do # the last evaluation, then the first too
    awk -F '\t' -v OFS='\t' -v row="$row" 'NR == row { $4 = "nan" } NR < 5' \
        judged/held-out.tsv >x
    cp x judged/held-out.tsv
    ok "evaluation $((row - 1)) without a loss is shown" report -o page.html \
        judged
    cells held-out | cut -f 1-4 >got
    printf 'judged\t3\t600\t1.2500\n' >want
    same "a loss that is NaN in row $row is not the best" got want
done
printf '%s\t6400\t570\t%s\t%s\t%s\t1.5\n' 300 1.5 4.5 0.25 600 1.25 \
    4.25 0.125 900 1.375 4.75 0.0625 | { sed 1q judged/held-out.tsv; cat; } >x
mv x judged/held-out.tsv
ok 'a run with evaluations is shown as text' report -q --text judged
like 'the text has the best and the last evaluation' \
    '^judged +3 +600 +1.2500 +4.2500 +0.12500 +4.7500 +0.06250' out
unlike 'a page without evaluations has no such charts' 'held-' run/report.html
sed 4q judged/held-out.tsv | cut -f 1-4 >x
mv x judged/held-out.tsv
status 3 'evaluations without a column are bad input' report judged
like 'the message for a missing column names it' \
    "^report: judged/held-out.tsv: .*ce.*; it is left out" err
unlike 'the page has no chart of these evaluations' 'id="held-' \
    judged/report.html
like 'the page has the other charts' 'id="ce"' judged/report.html
rm -r judged

# ---- values that no chart can show ----
# gone WHAT SED: a log of 30 steps, changed by a script of sed
gone() {
    mkdir -p odd
    metrics 4.4 0.05 30 | sed "$2" >odd/metrics.tsv
    ok "a log with $1 is shown" report -q -o page.html odd
    ok "the page of a log with $1 is well formed" wellformed page.html
    unlike "the page of a log with $1 has no broken number" \
        '[^a-z](nan|inf)[^a-z]' page.html
}
tab=$(printf '\t')
field="[^$tab]*$tab"
gone 'NaN in the middle' "15s/${tab}4.4$tab$field/${tab}nan${tab}nan$tab/"
equal 'NaN is a gap in the curve' "$(sed -n '/id="ce"/,/figure>/p' page.html |
    grep line | tr -cd M)" MM
gone 'values that are infinite' \
    "10,12s/${tab}4.4$tab$field/${tab}inf$tab-inf$tab/"
gone 'numbers too large' "10s/${tab}4.4$tab$field/${tab}1e300${tab}1e300$tab/"
gone 'the largest numbers' "10s/${tab}4.4$tab$field/${tab}1e30$tab-1e30$tab/"
gone 'a column of nothing' "2,\$s/${tab}4.4$tab$field/${tab}4.4$tab$tab/"
unlike 'a column of nothing is no chart' 'id="ce"' page.html
gone 'equal values' "2,\$s/${tab}4.4$tab$field/${tab}4.4${tab}7$tab/"
gone 'one step' '3,$d'
like 'a log of one step is a point' 'd="M[0-9.]+ [0-9.]+h0"' page.html
gone 'no seconds' '2,$s/0.250/0.000/'
unlike 'a log without seconds has no speed' 'id="speed"' page.html
gone 'steps of zero' '2,$s/^[0-9]*/0/'
metrics 4.4 0.05 2 | sed '1s/seconds/hours/' >odd/metrics.tsv
ok 'a log with a column less is shown' report -q -o page.html odd
printf 'odd\t2\t128\t-\t4.9000\t0.02500\t0.00000\t0.500\n' >want
cells runs >got
same 'a missing column is a dash in the table' got want

# ---- what evalppl found ----
evaluation() {
    tr ' ' '\t' <<'END'
model source parameters documents tokens nll nll_se ppl ppl_low ppl_high kl kl_se kl_t kl_t_se agree agree_se ppl_ratio regained tokens_s memory new
teacher (all) 3148608 105 45434 4.98127728 0.03894594 145.660312 134.834231 157.355638 0.00000000 - - - 1.000000 - 100.000 100.000 7561.5 45898560 x
pruned (all) 1870272 105 45434 5.28852080 0.03888923 198.003456 183.373041 213.949525 0.24540506 0.00150262 - - 0.719065 0.005823 73.565 0.000 11670.4 32396608 x
distilled (all) 1870272 105 45434 4.98999580 0.03903801 146.935409 135.647742 158.195390 0.01179732 0.00046434 - - 0.847141 0.002873 99.132 97.163 11771.5 32396608 x
rival (all) 1870272 105 45434 5.00168548 0.03912050 148.662783 136.842597 160.474386 0.03174493 0.00088792 - - 0.764978 0.003279 97.980 93.358 11378.7 32396608 x
teacher bg 3148608 4 2077 3.94975588 0.03154862 51.922690 46.963381 57.405699 0.00000000 - - - 1.000000 - 100.000 100.000 - - x
pruned bg 1870272 4 2077 3.99695268 0.03123763 54.432025 49.281786 60.120496 0.05834789 0.00295448 - - 0.636495 0.011218 95.390 0.000 - - x
distilled bg 1870272 4 2077 3.94527376 0.03064303 51.690487 46.888275 56.984532 0.00831153 0.00054377 - - 0.833414 0.007736 100.449 109.497 - - x
rival bg 1870272 4 2077 3.94655211 0.03125346 51.756608 46.857150 57.168361 0.02263671 0.00114560 - - 0.772749 0.007201 100.321 106.788 - - x
teacher code 3148608 1 3038 5.06848029 - 158.932612 - - 0.00000000 - - - 1.000000 - 100.000 100.000 - - x
pruned code 1870272 1 3038 5.09132888 - 162.605802 - - 0.04958420 - - - 0.737327 - 97.741 0.000 - - x
distilled code 1870272 1 3038 5.06965900 - 159.120001 - - 0.01700000 - - - 0.800000 - 99.882 94.841 - - x

model other quantity difference se z source
rival distilled nll -0.2 0.1 -2.000 bg
teacher distilled nll -0.00120148 0.00106632 -1.127 (all)
rival distilled nll 0.01168968 0.00199117 5.871 (all)
distilled rival kl -0.00194761 0.00149452 -1.303 (all)
END
}
mkdir eval
{
    echo '# protocol docs, context 512, <i>stride</i> 511'
    evaluation
} >eval/eval.tsv
ok 'a folder of eval.tsv alone is shown' report -q -o page.html eval
ok 'the page of eval.tsv is well formed' wellformed page.html
like 'the protocol is escaped' '&lt;i&gt;stride&lt;/i&gt; 511' page.html

# Every number is the file's, rounded.
awk -F '\t' '$2 == "(all)" {
        printf \
            "%s\t%.3f\t%.2f\t%.1f..%.1f\t%.4f\t%.1f%%\t%.1f%%\t%.0f\t%.1f\n", \
            $1, $3 / 1e6, $8, $9, $10, $11, 100 * $15, $18, $19, $20 / 1e6
    }' eval/eval.tsv >want
cells models >got
same 'the main table has the figures of eval.tsv' got want
{
    printf \
        'bg\t4\t51.9\302\2615.2\t54.4\302\2615.4\t51.7\302\2615.0\t51.8\302\2615.2\n'
    printf 'code\t1\t158.9\t162.6\t159.1\t-\n'
} >want
cells sources >got
same 'the table by source has the figures of eval.tsv' got want

# The result: 198.003456 / 145.660312 = 1.3594
tiles() {
    sed -n '/id="result"/,/^<\/div>/p' page.html | sed 's/<[^>]*>//g' >tiles
}
tiles
like 'a tile has the cost of pruning' \
    '^\+35\.9 %perplexity by cutting teacher to pruned, .*59\.4 %.* 198, not 145\.7$' \
    tiles
like 'a tile has the share that distillation won back' \
    '^97\.2 %of that loss is won back by distilled: perplexity 146\.9, \+0\.9 %' \
    tiles
like 'a tile has the share that the rival won back' \
    '^93\.4 %of that loss is won back by rival' tiles
like 'a tile says which model is better' \
    '^5\.9 standard errorsby which distilled is better than rival in loss: 0\.0117 ' \
    tiles
like 'a tile says where no model is better' \
    '^1\.3 standard errorsbetween distilled and rival in KL .*no difference' \
        tiles
mkdir free
awk 'BEGIN { FS = OFS = "\t" } $1 == "pruned" { $8 = 145.1 } 1' \
    eval/eval.tsv >free/eval.tsv
ok 'pruning that cost nothing is shown' report -q -o page.html free
tiles
like 'a tile says that pruning cost nothing' '^-0\.4 %perplexity' tiles
like 'the tile says why there is no share' 'not 145\.7; too little' tiles
unlike 'without a cost no tile has a share' 'won back' tiles
awk 'BEGIN { FS = OFS = "\t" } NF > 7 && $1 ~ /^(distilled|rival)$/ { $18 = "-" }
    1' eval/eval.tsv >free/eval.tsv
ok 'pruning that cost less than its error is shown' report -q -o page.html free
tiles
like 'a tile says that the cost is too small' \
    '^\+35\.9 %perplexity .*; too little' tiles
unlike 'a cost below its error has no share' 'won back' tiles
awk 'BEGIN { FS = OFS = "\t" } { print } $1 == "rival" && NF > 7 {
    for (i = 1; i < 4; i++) { $1 = "other" i; print } }' \
    eval/eval.tsv >free/eval.tsv
ok 'six trained models are shown' report -q -o page.html free
tiles
like 'each of six models has a tile' 'won back by other3' tiles
unlike 'only the table compares six models' 'standard errors' tiles
mkdir before
{
    cat eval/eval.tsv
    printf '%s\tnll\t%s\t0.02\t15\t(all)\n' \
        "pruned${tab}distilled" 0.298525 "pruned${tab}teacher" 0.307244
} >before/eval.tsv
ok 'the models of eval.tsv are shown as text' report -q --text before
tr '\n' ' ' <out >key
for column in 'M param' ppl '95 %' KL top-1 'won back' token/s MB; do
    like "the key explains $column" " $column: [a-z]" key
done
like 'the key says that MB is not the file' "MB: .*more than the model.s file" key
like 'the key says that token/s is of reading' 'token/s: tokens read' key
like 'the text has a row of a model' \
    '^distilled +1\.870 +146\.94 +135\.6\.\.158\.2 +0\.0118 +84\.7% +97\.2%' out
like 'the text has a row of a difference' \
    '^distilled +rival +loss +-0\.01169 +0\.00199 +5\.9$' out
like 'a student is compared with the cut model' \
    '^distilled +pruned +loss +-0\.29852 +0\.02000 +14\.9$' out
unlike 'no row compares with the teacher' '^[a-z]+ +teacher ' out
like 'a note says which differences prove nothing' \
    'Less than 2 std errors prove nothing' out
like 'the text has a row of a source' '^bg +4 +51\.9..?5\.2 +54\.4..?5\.4' out
equal 'the text has at most 80 columns' \
    "$(tr -d '\302' <out | awk 'length > 80')" ''
awk 'BEGIN { FS = OFS = "\t" } NF > 7 { print $1, $2, $3, $4, $5, $8 }' \
    eval/eval.tsv >free/eval.tsv
ok 'perplexities alone are shown' report -q -o page.html free
ok 'the page of perplexities alone is well formed' wellformed page.html
like 'perplexities alone are drawn by source' '<figure id="ppl">' page.html
unlike 'without a base the page has no KL' 'id="kl"|What is left' page.html

# ---- everything, under names that would break a careless page ----
name=$(printf 'x"><u>\047&amp;\033[2J\302\233\342\200\256\377y')
bytes='x&quot;&gt;&lt;u&gt;&#39;&amp;amp;\\x1b\[2J\\xc2\\x9b\\xe2\\x80\\xae\\xffy'
mkdir "$name" "$name/teacher" "$name/distilled" "$name/cached" "$name/$name"
metrics 4.5 0 900 >"$name/teacher/metrics.tsv"
metrics 4.3 0.05 30 >"$name/distilled/metrics.tsv"
cp "$name/distilled/metrics.tsv" "$name/cached"
metrics 4.6 0 30 >"$name/$name/metrics.tsv"
quoted=$(printf '%s' "$name" | sed 's/[&\\/]/\\&/g')
sed "s/rival/$quoted/g; s/code/$quoted/" eval/eval.tsv >"$name/eval.tsv"
tr ' ' '\t' >"$name/prune.tsv" <<END
kind taken blocks kept width parameters nll ppl kl score seconds
whole 0 7 0-6 512 3148608 4.43552171 84.396144 0.00000000 4.43552171 0.424
drop 0 6 1-6 512 2755008 8.60134370 5438.963043 3.91667003 12.51801373 0.271
drop 1 6 0,2-6 512 2755008 4.45468828 86.029330 0.02143759 4.47612587 0.247
cut 1 6 $name 256 1870272 4.49015226 89.135017 0.04142769 4.53157995 0.309
END
{
    printf 'en\tteacher\ta <script>alert(1)</script> & "b"\t</h4><i>\n'
    printf 'en\t</b><b>\tone\\ntwo\\\\n\\tthree\t</h4><i>\n'
    printf 'de"onload="x\tdistilled\tcut \303 off \377\001 \303\244\tan\\\\n\n'
} >"$name/samples.txt"
{
    printf 'cpu\ta <b>&amp; "c"\n'
    printf 'command\tstream data |\n    teacher -m "$T" >x\n'
    printf 'command\tsecond\nseconds\t64\n'
} >"$name/facts.txt"
ok 'statistics of tokens are printed' tokenize -q -t \
    "$top/tests/golden/tok/digits.json" --stats "$top"/corpus/*.jsonl
cp out stats
sed "s/^bg/$quoted/" stats >"$name/tokens.tsv"
ok 'a folder of everything is shown' report -q -o page.html "$name"
ok 'the page of everything is well formed' wellformed page.html
for id in result models pairs sources ppl kl runs ce paired kl-log speed norm \
    pruned tokens samples facts; do
    like "the page of everything has $id" "id=\"$id\"" page.html
done
unlike 'no name or text passes unescaped' \
    '<script|<b>a|<u>|"onload|&amp; "c"|"><u' page.html
equal 'the page has no control byte' \
    "$(tr -d '\n\t\40-\176\200-\377' <page.html)" ''
for place in '<title>[^<]*: ' '<small>' 'th scope="col">' 'th scope="row">' \
    '<td>' 'Cross-entropy less that of ' 'better than ' '<b class="c0">'; do
    case $place in
    '<b class'*) like 'the model of a sample is escaped' \
        "$place&lt;/b&gt;&lt;b&gt;</b> one" page.html ;;
    *) like "the name after $place is escaped" "$place$bytes" page.html ;;
    esac
done
like 'a name in a legend is cut' '</svg>x&quot;&gt;[^<]*~</span>' page.html
like 'a name on an axis is cut' 'class="e">x&quot;&gt;[^<]*~</text>' page.html
like 'the text of a sample is escaped' \
    'a &lt;script&gt;alert\(1\)&lt;/script&gt; &amp; &quot;b' page.html
like 'the language of a sample is escaped' \
    '<p lang="de&quot;onload=&quot;x">' page.html
equal 'a prompt stands once, before what all models write after it' \
    "$(grep '<h4' page.html)" "<div><h4 lang=\"en\">&lt;/h4&gt;&lt;i&gt;</h4>
<div><h4 lang=\"de&quot;onload=&quot;x\">an\\n</h4>"
like 'escapes in a sample are undone' '^two\\n.three</p>' page.html
like 'a command may have two lines' '^    teacher -m &quot;\$T&quot; &gt;x$' \
    page.html
sed -n '/id="ce"/,/figure>/p' page.html | grep ' line' >got
equal 'a run like another is drawn once' "$(wc -l <got)" 3
sed "s/${tab}60$tab/${tab}59$tab/" "$name/cached/metrics.tsv" >59.tsv
mkdir apart apart/a apart/b
cp "$name/cached/metrics.tsv" apart/a
cp 59.tsv apart/b/metrics.tsv
ok 'runs of other batches are shown' report -q -o apart.html apart
unlike 'runs of other batches are not compared' 'id="paired"' apart.html
cells pruned >got
equal 'the table has the steps of pruning' \
    "$(cut -f 1,2,5,6,7 got | head -n 2)" \
    "$(printf 'whole\t7\t3.149\t84.40\t0.0000\ndrop\t6\t2.755\t86.03\t0.0214')"
awk -F '\t' '$1 == "en" { printf "%s\t%d\t%.3f\n", $1, $6, $7 }' stats >want
cells tokens | grep '^en' | cut -f 1,4,5 >got
same 'the table has the statistics of tokens' got want
ok 'a folder of everything is shown as text' report -q --text "$name"
equal 'a terminal finds nothing to obey' \
    "$(tr -d '\n\40-\176\302\261' <out)" ''
like 'a long name is cut in the text' '^x"><u>.&amp;.*~' out

line=$(printf 'a\nb\tc\001')
mkdir "$line" "$line/$line"
metrics 4 0 3 >"$line/$line/metrics.tsv"
ok 'a folder with a newline in its name is shown' report -o page.html "$line"
ok 'the page of a newline in a name is well formed' wellformed page.html
ok 'a newline in a name is shown as text' report -q --text "$line"
like 'a name with a newline is on one line' '^a\\x0ab\\x09c\\x01 +3 ' out
metrics 4 0 2 | cut -f 1 >"$line/$line/metrics.tsv"
status 3 'a bad file below a newline is bad input' report -o page.html "$line"
like 'the message has the name on one line' \
    '^report: a\\x0ab\\x09c\\x01/a.*/metrics.tsv: its header' err

# ---- missing, malformed, unreadable ----
status 2 'no operand is refused' report
status 2 'an unknown option is refused' report --no-such-option run
status 2 'two operands are refused' report run page.html
status 1 'a folder that is not there is an error' report none
like 'the message names the folder that is not there' \
    '^report: none: No such file' err
mkdir empty
status 3 'an empty folder is bad input' report empty
like 'the message names the empty folder' \
    '^report: empty: holds no file of a run, such as metrics.tsv' err
mkdir -p made/full/distilled
: >made/full/settings
metrics 4 0 3 >made/full/distilled/metrics.tsv
ok 'a folder of retort distil is shown' report -q --text made
like 'its training is shown' '^distilled +3 ' out
ok 'a folder of retort distil has a page' report -q made
ok 'the page is where retort distil makes it' test -s made/full/report.html
status 1 'an output in no folder is an error' report -o no/where run
like 'the message names the output in no folder' '^report: no/where' err

# left_out WHAT FILE MESSAGE [STATUS]: named, on the page too, and the rest is
# shown
mkdir bad
metrics 4 0 3 >bad/metrics.tsv
left_out() {
    status "${4:-3}" "$1 is left out" report -q -o page.html bad
    like "the message for $1 names the file" \
        "^report: bad/$2: .*$3.*; it is left out" err
    like "the page names the file of $1" "Left out: bad/$2: .*$3" page.html
    like "the page without $1 has the rest" 'id="runs"' page.html
    ok "the page without $1 is well formed" wellformed page.html
}
mkdir spread
{ awk 'NF == 0 { exit } 1' eval/eval.tsv
    printf '\nmodel\tsource\tquantity\tstatistic\tvalue\tse\n'
    printf 'code\t(all)\tkl\tmean\t0.5\t0.1\n'; } >spread/eval.tsv
ok 'a file of evalppl --spread is shown' report -q -o page.html spread
like 'the page of --spread has the figures' 'perplexity' page.html
: >bad/eval.tsv
left_out 'an eval.tsv that is empty' eval.tsv 'line 1: .*no header'
sed "s/ppl$tab/p$tab/" eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv without a column' eval.tsv 'its header has no column ppl'
sed 's/146.935409/14<6/' eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv with a word for a number' eval.tsv \
    'line 5: ppl is not a number'
head -c 700 eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv that is cut short' eval.tsv 'line 6: it is cut short'
sed "6s/${tab}x\$//" eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv with a short row' eval.tsv 'line 6: .*20 fields, not 21'
sed 7p eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv with a line twice' eval.tsv \
    'line 8: teacher on bg .*twice'
sed '/^rival.(all)/d' eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv without a line of a model' eval.tsv \
    'rival has no line for'
sed "\$s/${tab}(all)\$//" eval/eval.tsv >bad/eval.tsv
left_out 'an eval.tsv with a broken comparison' eval.tsv \
    'line [0-9]*: .*6 fields, not 7'
printf 'a\0b\n' >bad/eval.tsv
left_out 'an eval.tsv with a NUL' eval.tsv 'not text'
rm bad/eval.tsv
mkfifo bad/eval.tsv
left_out 'an eval.tsv that is a fifo' eval.tsv 'not a regular file'
rm bad/eval.tsv
ln -s eval.tsv bad/eval.tsv
left_out 'an eval.tsv that is a link to itself' eval.tsv 'Too many levels' 1
rm bad/eval.tsv
printf 'source\ttokens\ttokens/word\nbg\t1\n' >bad/tokens.tsv
left_out 'a tokens.tsv with a short row' tokens.tsv 'line 2: .*2 fields, not 3'
rm bad/tokens.tsv
echo 'no tab' >bad/samples.txt
left_out 'a samples.txt without tabs' samples.txt 'line 1: .*not language'
rm bad/samples.txt
mkdir bad/teacher
metrics 4 0 3 | sed "3s/${tab}60$tab/$tab/" >bad/teacher/metrics.tsv
left_out 'a metrics.tsv with a short row' teacher/metrics.tsv \
    'line 3: .*10 fields, not 11'
metrics 4 0 3 | cut -f 2- >bad/metrics.tsv
echo old >page.html
status 3 'a folder of bad logs alone is bad input' report -q -o page.html bad
like 'the message for bad logs names one' '^report: bad/' err
equal 'a page is not replaced by nothing' "$(cat page.html)" old

metrics 4 0 3 >bad/metrics.tsv
rm -r bad/teacher
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "source\t"; print "" }' \
    >bad/tokens.tsv
left_out 'a tokens.tsv of a million columns' tokens.tsv \
    'line 1: .*more than 500 columns'
rm bad/tokens.tsv

# More than is shown is said, and takes no longer than reading it.
mkdir many
awk 'BEGIN { OFS = "\t"
    print "model", "source", "parameters", "documents", "tokens", "ppl"
    for (s = 0; s < 20000; s++)
        print "m", (s ? "s" s : "(all)"), 1, 1, 1, 5 }' >many/eval.tsv
ok 'twenty thousand sources are shown in time' timeout 20 report -q -o \
    page.html many
like 'the page says how many sources it leaves out' \
    'Left out: 19799 lines, of more than' page.html
metrics 4.4 0.05 100000 >many/metrics.tsv
ok 'a hundred thousand steps are shown in time' timeout 20 report -q -o \
    page.html many
if [ "$(wc -c <page.html)" -lt 300000 ]; then pass \
    'a hundred thousand steps make a small page'
else fail "the page has $(wc -c <page.html) bytes"; fi

if [ -e /dev/full ]; then
    status 1 'a page on a full disk is an error' sh -c \
        'report -q -o - run >/dev/full'
    like 'the message for a full disk names the output' \
        '^report: <stdout>: No space left' err
    status 1 'a text on a full disk is an error' sh -c \
        'report -q --text run >/dev/full'
else
    skip 'a page on a full disk is an error' 'no /dev/full'
fi
done_testing
