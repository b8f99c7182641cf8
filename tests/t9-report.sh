#!/bin/sh
# scripts/report: the page and the tables made from the files of a run
. "${0%/*}/lib.sh"
report=$top/scripts/report

# page FILE: every element that is opened is closed, in order
balanced() {
    if command -v xmllint >/dev/null; then
        xmllint --noout "$1"
        return
    fi
    awk 'BEGIN { RS = "<" }
        NR > 1 {
            sub(/>.*/, "")
            if (/^!/ || /\/$/) next
            name = $1
            if (name ~ /^\//) {
                if (open[n--] != substr(name, 2)) { bad = 1; exit }
            } else
                open[++n] = name
        }
        END { exit bad || n != 0 }' "$1"
}

# values ID: the numbers of the table ID of page.html, a line a row
values() {
    awk -v id="$1" '
        index($0, "id=\"" id "\"") { on = 1 }
        on && /<tr>/ {
            row = ""
            while (match($0, /<data value="[^"]*"/)) {
                row = row " " substr($0, RSTART + 13, RLENGTH - 14)
                $0 = substr($0, RSTART + RLENGTH)
            }
            if (row != "") print row
        }
        /<\/table>/ { on = 0 }' page.html
}

# The columns as evalppl writes them; one model is better in KL alone.
evaluation() {
    tr ' ' '\t' <<'END'
model source parameters documents tokens nll nll_se ppl ppl_low ppl_high kl kl_se kl_t kl_t_se agree agree_se recovery regained tokens_s memory
teacher (all) 3148608 105 45434 4.98127728 0.03894594 145.660312 134.834231 157.355638 0.00000000 - - - 1.000000 - 100.000 100.000 7561.5 45898560
pruned (all) 1870272 105 45434 5.02852080 0.03888923 152.706961 141.373041 164.949525 0.04540506 0.00150262 - - 0.719065 0.005823 95.386 0.000 11670.4 32396608
distilled (all) 1870272 105 45434 4.98007580 0.03903801 145.485409 134.647742 157.195390 0.01179732 0.00046434 - - 0.847141 0.002873 100.120 102.543 11771.5 32396608
rival (all) 1870272 105 45434 4.98168548 0.03912050 145.719783 134.842597 157.474386 0.03174493 0.00088792 - - 0.764978 0.003279 99.959 99.136 11378.7 32396608
teacher bg 3148608 4 2077 3.94975588 0.03154862 51.922690 46.963381 57.405699 0.00000000 - - - 1.000000 - 100.000 100.000 - -
pruned bg 1870272 4 2077 3.99695268 0.03123763 54.432025 49.281786 60.120496 0.05834789 0.00295448 - - 0.636495 0.011218 95.390 0.000 - -
distilled bg 1870272 4 2077 3.94527376 0.03064303 51.690487 46.888275 56.984532 0.00831153 0.00054377 - - 0.833414 0.007736 100.449 109.497 - -
rival bg 1870272 4 2077 3.94655211 0.03125346 51.756608 46.857150 57.168361 0.02263671 0.00114560 - - 0.772749 0.007201 100.321 106.788 - -
teacher code 3148608 1 3038 5.06848029 - 158.932612 - - 0.00000000 - - - 1.000000 - 100.000 100.000 - -
pruned code 1870272 1 3038 5.09132888 - 162.605802 - - 0.04958420 - - - 0.737327 - 97.741 0.000 - -
distilled code 1870272 1 3038 5.06965900 - 159.120001 - - 0.01700000 - - - 0.800000 - 99.882 94.841 - -
rival code 1870272 1 3038 5.07570000 - 160.090002 - - 0.03600000 - - - 0.750000 - 99.277 68.403 - -

model other quantity difference se z
teacher distilled nll 0.00120148 0.00106632 1.127
distilled rival nll -0.00160968 0.00199117 -0.808
distilled rival kl -0.01994761 0.00049452 -40.338
END
}

# metrics CE STEPS: a log of the student
metrics() {
    awk -v ce="$1" -v n="$2" 'BEGIN {
        OFS = "\t"
        print "step", "tokens", "scored", "loss", "ce", "kl", "squarehead", \
            "lr", "norm"
        for (i = 1; i <= n; i++)
            print i, i * 64, 60, ce, ce + 1 / i, 0.05 / i, 0, "1e-05", 0.5
    }'
}

mkdir run run/teacher run/distilled run/rival
{
    echo '# protocol docs, context 512, <i>stride</i> 511'
    evaluation
} >run/eval.tsv

ok 'a page of eval.tsv alone' "$report" run page.html
equal 'says nothing' "$(cat out err)" ''
ok 'is well formed' balanced page.html
for f in teacher/metrics.tsv rival/metrics.tsv prune.tsv samples.txt facts.txt
do
    like "names the missing $f" "there is no $f" page.html
done
unlike 'needs nothing from elsewhere' '(src|href)=|url\([^#]|@import|<script' \
    page.html
like 'goes light and dark' 'prefers-color-scheme: dark' page.html
like 'the protocol, escaped' '&lt;i&gt;stride&lt;/i&gt; 511' page.html

# Every number of the table is the file's, to the last digit.
awk -F '\t' 'BEGIN { n = split("3 8 11 15 17 18 19 20", col, " ") }
    $2 == "(all)" {
        for (i = 1; i <= n; i++) {
            row[i] = row[i] " " $col[i]
            if (col[i] == 8) row[i] = row[i] " " $9 " " $10
            if (col[i] == 11 && $12 != "-") row[i] = row[i] " " $12
        }
    }
    END { for (i = 1; i <= n; i++) print row[i] }' run/eval.tsv >want
values main >got
same 'the main table' got want
awk -F '\t' '$2 == "bg" || $2 == "code" {
        row[$2] = row[$2] " " $8 " " $11
    }
    END { print row["bg"]; print row["code"] }' run/eval.tsv >want
values languages >got
same 'the table by language' got want
like 'what is shown is rounded' 'value="145.485409">145.49</data>' page.html

# The summary says who wins, and when nobody does.
like 'distilled wins in KL' 'the distilled one is better in divergence.*40.3 st' \
    page.html
like 'nobody wins in loss' 'the loss\) there is no difference.*0.8 standard' \
    page.html
mkdir turned
awk 'BEGIN { FS = OFS = "\t" }
    $1 == "distilled" && $3 == "kl" { $4 = "0.02"; $5 = "0.004"; $6 = "5.000" }
    $1 == "distilled" && $3 == "nll" {
        $1 = "rival"; $2 = "distilled"; $4 = "-0.3"; $5 = "0.1"; $6 = "-3.000"
    }
    1' run/eval.tsv >turned/eval.tsv
ok 'a run that the rival wins' "$report" turned page.html
like 'in KL' 'the rival one is better in divergence.*5.0 standard' page.html
like 'in loss' 'the rival one is better in perplexity.*3.0 standard' page.html
unlike 'and distilled does not' 'the distilled one is better' page.html

# With everything, and names that would break a careless page.
metrics 4.5 900 >run/teacher/metrics.tsv
metrics 4.4 30 >run/distilled/metrics.tsv
metrics 4.6 30 >run/rival/metrics.tsv
tr ' ' '\t' >run/prune.tsv <<'END'
kind taken blocks kept width parameters nll ppl kl score seconds
whole 0 7 0-6 512 3148608 4.43552171 84.396144 0.00000000 4.43552171 0.424
drop 0 6 1-6 512 2755008 8.60134370 5438.963043 3.91667003 12.51801373 0.271
drop 1 6 0,2-6 512 2755008 4.45468828 86.029330 0.02143759 4.47612587 0.247
mix 1 6 0,2-6 256 1870272 4.49015225 89.135016 0.04142769 4.53157994 0.287
cut 1 6 0,2-6 256 1870272 4.49015226 89.135017 0.04142769 4.53157995 0.309
END
{
    printf 'en\tteacher\ta <script>alert(1)</script> & "b"\n'
    printf 'en\t</h4><b>\tone\\ntwo\\\\n\\tthree\n'
    printf 'de"onload="x\tdistilled\tcut \303 off \377\001 \303\244\n'
} >run/samples.txt
{
    printf 'cpu\ta <b>&amp; "c"\n'
    printf 'command\tstream data |\n    teacher -m "$T" >x\n'
    printf 'command\tsecond\nseconds teacher\t64\n'
} >run/facts.txt
sed "s/rival/<u>'\\&amp;/" run/eval.tsv >eval && mv eval run/eval.tsv
tokenize -q -t "$top/tests/golden/tok/digits.json" --stats \
    "$top"/corpus/*.jsonl >run/tokens.tsv
ok 'a page of everything' "$report" run
mv run/report.html page.html
ok 'is well formed' balanced page.html
unlike 'no section is missing' 'there is no' page.html
unlike 'nothing passes unescaped' '<script|<b>|<u>|"onload|&amp; "c"' page.html
like 'a sample' 'a &lt;script&gt;alert\(1\)&lt;/script&gt; &amp; &quot;b' \
    page.html
like 'its language' '<p lang="de&quot;onload=&quot;x">' page.html
like 'a broken line ends' '^two\\n.three</p>' page.html
like 'bytes that are no UTF-8' "$(printf 'cut \357\277\275 off .*\303\244<')" \
    page.html
like 'a command of two lines' '^    teacher -m &quot;\$T&quot; &gt;x$' page.html
like 'time of a stage' 'teacher</th><td>64 s<' page.html
for id in ppl kl teacher terms versus paired search; do
    like "figure $id has a title" "<title id=\"$id-t\">[^<]" page.html
done
unlike 'no number is broken' '[^a-z](nan|inf)[^a-z]' page.html
ok 'the page on stdout' "$report" run -
same 'is the same' out page.html

# The terminal
ok 'as text' "$report" --text turned
like 'a model' '^distilled +1\.870 +145\.49 +134\.6\.\.157\.2 +0\.0118 +84\.7%' \
    out
like 'a language, with half its interval' '^Bulgarian +4 +51\.9\+-5\.2 +54\.4\+-5\.4 +51\.7\+-5\.0 +51\.8\+-5\.2$' out
unlike 'at most 80 columns' '.{81}' out

# Misuse and bad input
status 2 'no operand' "$report"
status 2 'an unknown option' "$report" --no-such-option run
status 2 'too many operands' "$report" run page.html more
# refused WHAT FILE MESSAGE: exit 3, named, and an older page is left alone
refused() {
    echo old >page.html
    status 3 "$1" "$report" bad page.html
    like 'is named' "^report: bad/$2: $3" err
    equal 'the page is as it was' "$(cat page.html)" old
    equal 'nothing is left behind' "$(ls -d page.html.* 2>/dev/null)" ''
}
status 3 'no folder' "$report" none page.html
mkdir bad
refused 'no eval.tsv' eval.tsv 'cannot be read'
: >bad/eval.tsv
refused 'an empty one' eval.tsv 'is empty'
sed 's/ppl_low/low/' turned/eval.tsv >bad/eval.tsv
refused 'a column less' eval.tsv 'the header has no column ppl_low'
sed 's/145.485409/nan/' turned/eval.tsv >bad/eval.tsv
refused 'not a number' eval.tsv 'line 5: ppl is not a number'
head -c 700 turned/eval.tsv >bad/eval.tsv
refused 'cut short' eval.tsv 'line 6: not 20 fields'
sed '/^rival.bg/d' turned/eval.tsv >bad/eval.tsv
refused 'a line less' eval.tsv 'rival has no line for bg'
sed '$s/.[0-9.]*$//' turned/eval.tsv >bad/eval.tsv
refused 'a broken comparison' eval.tsv 'line [0-9]*: not 6 fields'
cp turned/eval.tsv bad/eval.tsv
tokenize -q -t "$top/tests/golden/tok/digits.json" --stats \
    "$top"/corpus/*.jsonl >tokens.tsv
sed '3s/	[^	]*$//' tokens.tsv >bad/tokens.tsv
refused 'a field of tokens less' tokens.tsv 'line 3: not 13 fields'
sed '3s/	[0-9.]*	/	nan	/' tokens.tsv >bad/tokens.tsv
refused 'tokens that are no number' tokens.tsv 'line 3: '
cp tokens.tsv bad/tokens.tsv
ok 'a table of tokens' "$report" bad page.html
ok 'makes a page' balanced page.html
values tokens-table | cut -d ' ' -f 6,8 >got
sed '1d; $d' tokens.tsv | cut -f 7,9 | tr '\t' ' ' >want
same 'with its figures' got want
rm bad/tokens.tsv
echo 'no tab' >bad/samples.txt
refused 'a bad sample' samples.txt 'line 1: not language'
rm bad/samples.txt
mkdir bad/teacher
sed '3s/4.5/nan/' run/teacher/metrics.tsv >bad/teacher/metrics.tsv
refused 'a loss that is no number' teacher/metrics.tsv 'line 3: '
rm -r bad/teacher
if [ -e /dev/full ]; then
    status 1 'a full disk' sh -c '"$1" turned - >/dev/full' sh "$report"
fi
done_testing
