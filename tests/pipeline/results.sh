#!/bin/sh
# recipes/results: every row is what the files beside it make, every run has a
# command, and README and docs/ have the tables drawn from the rows;
# scripts/results, scripts/curve
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/results.sh"

mkdir none
touch none/qwen2.5-coder-0.5b.gguf # which would be fetched
for t in "$top"/recipes/results/*.table; do
    table=${t##*/} table=${table%.table}
    again "$top/recipes/results" "$table" >wrong
    equal "each row of $table is what lies beside it" "$(cat wrong)" ''
    # PyTorch's runs are by hand.
    [ -e "${t%.table}.tsv" ] || continue # cells, or rows of other tables
    for run in $(sed 1d "$t" | cut -f 2 | sort -u |
        grep -vE '^(pytorch(-seed-[0-9]+)?|-)$'); do
        ok "recipes/runs.sh knows the run $table/$run" env -C "$top" \
            recipes/runs.sh -n WORK="$PWD/none" "$table/$run"
        recipe=$(awk -F '\t' -v run="$run" '$1 == run { print $NF; exit }' \
            "${t%.table}.tsv" | sed 's/^make -f \([^ ]*\).*/\1/')
        like "$run is a row of $table by the recipe of its command" \
            "-f ${recipe:-recipes/.*} WORK=[^ ]*none/$run TABLE=$table " out
    done
done
# Tables stand in pages between the command that draws them and an end.
for page in README.md docs/results.md docs/after.md docs/performance.md; do
    mkdir -p pages
    cp "$top/$page" pages/
    ok "the tables of $page are drawn" env -C "$top" scripts/results write \
        "$PWD/pages/${page##*/}"
    same "$page has the tables as scripts/results draws them" \
        "pages/${page##*/}" "$top/$page"
done
for t in "$top"/recipes/results/*.table; do
    table=${t##*/} table=${table%.table}
    equal "the table $table stands in one page" "$(cat "$top/README.md" \
        "$top"/docs/*.md | grep -cx \
        "<!-- scripts/results draw recipes/results $table -->")" 1
done
ok 'the plot of the curve is drawn' report -q -o curve.svg \
    "$top/recipes/results/curve.tsv"
same 'the plot is the one beside the rows' curve.svg \
    "$top/recipes/results/curve.svg"
for t in "$top"/recipes/results/*.tsv; do
    [ -e "$t" ] || continue
    if [ -e "${t%.tsv}.table" ]; then pass "${t##*/} has a table"
    else fail "${t##*/} has a table"; fi
    unlike "no row of ${t##*/} has a path of this machine" '/(work|home|tmp|root)/' "$t"
done

# --- a run of two documents, by hand: losses 2 and 3 of 10 and 30 tokens ---
mkdir -p o/distilled o/rival o/train
echo '{}' >o/train/manifest.json
echo x >o/held-out.tokens
tr ' ' '\t' >o/eval.tsv <<'END'
# protocol stream
model source parameters documents tokens nll nll_se ppl ppl_low ppl_high kl kl_se agree agree_se regained bytes bits bits_se
teacher (all) 200 2 40 2.75 0.375 15.642632 0.133354 1834.9 0.0 - 1.0 - 100 80 1.98371234 0.32460671
distilled (all) 100 2 40 3.125 0.5625 22.759895 0.017915 28914.6 0.25 0.0375 0.8 0.015 50 80 2.25421857 0.27050559
rival (all) 100 2 40 3.375 0.5625 29.224283 0.023 37127.1 0.5 0.0 0.7 0.0 10 80 2.43455605 0.32460671

model other quantity difference se z source
distilled rival nll -0.25 0.0 - (all)
distilled rival kl -0.25 0.0375 -6.667 (all)

document source tokens nll+teacher nll+distilled nll+rival kl+distilled kl+rival agree+distilled agree+rival bytes
0000000000000001 x 10 2.0 2.0 2.25 0.175 0.5 0.83 0.7 8
0000000000000002 x 30 3.0 3.5 3.75 0.275 0.5 0.79 0.7 72
END
sed -i 's/+/ /g' o/eval.tsv
for m in distilled rival; do
    printf 'step\ttokens\tscored\tseconds\n1\t256\t255\t1.5\n2\t512\t510\t90\n' \
        >o/$m/metrics.tsv
done
row() {
    "$top/scripts/results" row r t "$1" 7 "make -f t.mk LR='1e-4' row" o
}
# hashes: those of the text, as the row has them
hashes() {
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { print $at["text"] }' r/t.tsv
}
mkdir r
echo train >o/train.txt
echo judged >o/held-out.txt
ok 'a row of joined text is written' row one
equal 'a row has the hashes of its text' "$(hashes)" \
    "$(for w in train judged; do echo "$w" | sha256sum | cut -c 1-8; done |
        paste -s -d / -)"
rm -r o/*.txt r/*
ok 'a row of documents is written' row one
equal 'documents are hashed by their shards' "$(hashes)" \
    "$(for w in '{}' x; do echo "$w" | sha256sum | cut -c 1-8; done |
        paste -s -d / -)"
again r t >wrong
equal 'a row is what lies beside it' "$(cat wrong)" ''
equal 'a row has a line for each model' "$(cut -f 1-5 r/t.tsv | tr '\t\n' ' ,')" \
    'run model seed tokens seconds,one teacher - - -,one distilled 7 512 92,one rival 7 512 92,'
like 'a row has its command' "	make -f t.mk LR='1e-4' row\$" r/t.tsv
cp r/t.tsv before
awk -F '\t' -v OFS='\t' '{ for (i = 1; i < NF; i++) if ($i == "memory") k = i
    for (i = k; i < NF; i++) $i = $(i + 1); NF-- } 1' r/t.tsv >older
{ cat older; awk 'NR > 1 { sub(/^one/, "two"); print }' older; } >r/t.tsv
ok 'a row is added to rows without a column' row two
sed '/^two/d' r/t.tsv >got
same 'older rows have "-" in a new column' got before
cp before r/t.tsv
ok 'a row is written again' row one
same 'a row that is written again stands once' r/t.tsv before
ok 'a second row is written' row two
equal 'the second row stands behind the first' "$(cut -f 1 r/t.tsv | uniq | tr '\n' ' ')" 'run one two '
ok 'a row whose name is a pattern is written' row t.o
ok 'a row whose name is a pattern is written again' row t.o
equal 'a pattern replaces no other row' "$(cut -f 1 r/t.tsv | uniq | tr '\n' ' ')" \
    'run one two t.o '
cp r/t.tsv three
for i in 1 2 3 4 5 6; do row "p$i" & done
wait
equal 'six rows that are written at once all stand' "$(cut -f 1 r/t.tsv | sort -u | tr '\n' ' ')" \
    'one p1 p2 p3 p4 p5 p6 run t.o two '
ok 'a row with a backslash in its command is written' "$top/scripts/results" row r t back 7 "make -f t.mk A='\\t\\n' row" o
like 'a backslash in a command is kept' "	make -f t.mk A='[\\]t[\\]n' row\$" r/t.tsv
cp three r/t.tsv
rm r/t/p?.* r/t/back.*
# damaged COLUMN MODEL VALUE: is found
damaged() {
    awk -F '\t' -v OFS='\t' -v c="$1" -v m="$2" -v x="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) k = i }
        $1 == "two" && $2 == m { $k = x } 1' r/t.tsv >new
    cp r/t.tsv good
    mv new r/t.tsv
    again r t >wrong
    like "a wrong $1 of $2 is found: $3" "^two $2: $1 is .*, not $3" wrong
    mv good r/t.tsv
}
damaged nll teacher 2.7510
damaged nll_se distilled 0.3981
damaged ppl rival 29.2
damaged kl distilled nan
damaged kl_se distilled -
damaged agree rival 0.71
damaged bits teacher 1.98
damaged tokens distilled 513
damaged seconds rival 91
damaged tokens teacher 512
damaged less_kl distilled -0.26
damaged less_nll_se distilled 0.01

# --- tasks: three items of two choices, one of one choice ---
tr ' ' '\t' >o/tasks.tsv <<'END'
# tasks
task source model score items chance acc acc_se acc_norm acc_norm_se acc_bytes acc_bytes_se ppl ppl_se bits_byte recovery recovery_low recovery_high
a (all) teacher acc 3 0.5 1.0 0 - - - - - - - 100.000 100.000 100.000
a (all) distilled acc 3 0.5 0.666667 0.3 - - - - - - - 33.333 1.0 70.0
b (all) teacher acc 1 0 1.0 0 - - - - - - - 100.000 - -
b (all) distilled acc 1 0 0.0 0 - - - - - - - 0.000 - -
(mean) (all) teacher acc 4 0.25 1.0 0 - - - - - - - 100.000 100.000 100.000
(mean) (all) distilled acc 4 0.25 0.333333 0 - - - - - - - 11.111 -5.0 40.0

task source model other score difference se z
a (all) teacher distilled acc 0.333333 0.3 1.1
END
{
    echo 'task source item line model choice right tokens logp greedy characters bytes'
    for m in teacher distilled; do
        echo "a x 0 1 $m 0 1 2 -5.5 0 9 9"; echo "a x 0 1 $m 1 0 2 -6.5 0 9 9"
        echo "a x 1 1 $m 0 0 2 -10.5 0 9 9"; echo "a x 1 1 $m 1 1 2 -9.5 0 9 9"
    done
    # of equal ones the first
    echo 'a x 2 1 teacher 0 1 2 -5.5 0 9 9'; echo 'a x 2 1 teacher 1 0 2 -5.5 0 9 9'
    echo 'a x 2 1 distilled 0 0 2 -5.5 0 9 9'; echo 'a x 2 1 distilled 1 1 2 -5.5 0 9 9'
    echo 'b x 0 1 teacher 0 1 2 -5.5 1 9 9'; echo 'b x 0 1 distilled 0 1 2 -5.5 0 9 9'
} | tr ' ' '\t' >o/items.tsv
ok 'a row with tasks is written' row two
equal 'a row with tasks has the recovery of their mean' "$(awk -F '\t' '$1 == "two" { print $2, $21, $22, $23 }' \
    r/t.tsv | tr '\n' ',')" \
    'teacher 100.000 100.000 100.000,distilled 11.111 -5.0 40.0,rival - - -,'
again r t >wrong
equal 'the recovery is what the items make' "$(cat wrong)" ''
damaged recovery distilled 12.1
damaged recovery teacher 99.0
rm o/tasks.tsv o/items.tsv

# --- memory, speed, abilities ---
{
    for p in 'teacher 240.5' 'teacher 300.5' 'student 812.0' 'student 700.0'; do
        printf '# program %s\n# peak %s\npart\n' "${p% *}" "${p#* }" \
            >"o/distilled/$p.profile"
    done
    printf '# 2 requests\nmodel_id\tmax_concurrency\tmean_ttft_ms\toutput_throughput\n'
    printf 'teacher\t1\t800\t5\ndistilled\t1\t400\t7\n\n'
    printf 'model_id\tbase_model_id\tmeasure\tratio\tratio_low\tratio_high\n'
    printf 'distilled\tteacher\tttft_ms\t2\t1.9\t2.1\n'
    printf 'distilled\tteacher\titl_ms\t3\t1.9\t2.1\n'
    printf 'distilled\tteacher\toutput_throughput\t1.4\t1.3\t1.5\n'
} >o/speed.tsv
for m in teacher distilled; do for i in 1 2 3 4 5; do
    echo "$m H/$i $(((i + ${#m}) % 5 < 2))"; done; done | tr ' ' '\t' >o/humaneval.tsv
for m in teacher distilled; do for i in 1 2 3 4 5; do
    echo "$m $i $(((i + ${#m}) % 2))"; done; echo "$m 6 -"; done | tr ' ' '\t' >o/ifeval.tsv
ok 'a row with memory, speed and abilities is written' row two
equal 'a row has peaks, means and the share that passes' "$(awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $1 == "two" { print $2, $at["memory"], $at["first"], $at["first_by"],
        $at["first_high"], $at["rate"], $at["rate_by"], $at["rate_low"],
        $at["humaneval"], $at["humaneval_se"], $at["mbpp"], $at["ifeval"],
        $at["ifeval_se"] }' r/t.tsv | tr '\n' ',')" \
    'teacher 300.5 800 - - 5 - - 0.400000 0.244949 - 0.400000 0.244949,distilled 812.0 400 2 2.1 7 1.4 1.3 0.400000 0.244949 - 0.400000 0.244949,rival - - - - - - - - - - - -,'
again r t >wrong
equal 'memory, speed and abilities are what lies beside the row' "$(cat wrong)" ''
damaged memory teacher 240.5
damaged first distilled 401
damaged first_by distilled 1.9
damaged rate_by distilled -
damaged humaneval distilled 0.6
damaged humaneval_se teacher 0.2
damaged ifeval teacher 0.5
ok 'abilities are counted' "$top/scripts/abilities" o/humaneval.tsv o/ifeval.tsv
equal 'abilities have shares and differences from the first model' \
    "$(sed 1d out | tr '\t\n' ' ,')" \
    'HumanEval teacher 5 0.400000 0.244949 - -,HumanEval distilled 5 0.400000 0.244949 0.000000 0.447214,IFEval teacher 5 0.400000 0.244949 - -,IFEval distilled 5 0.400000 0.244949 0.000000 0.000000,'
status 2 'abilities of no file are refused' "$top/scripts/abilities"
rm o/speed.tsv o/humaneval.tsv o/ifeval.tsv o/distilled/*.profile

# --- what PyTorch printed ---
{
    printf 'Loading: 0%%\rLoading: 100%%\ntrain rows 6585 tokens 1685760\n'
    echo 'teacher [31.98, 0.0, 1.0, 37.09, 0.0, 1.0]'
    echo 'BI [0.992, 0.178] drop [3, 9]'
    echo 'params 99114048 pruned eval [113.51, 1.431, 0.381, 172.23, 1.708, 0.366]'
    echo '40 40960 ce 3.1 kl 2.0 sh 0.2 ewt ppl/kl/agree, in-domain [70.5, 1.0, 0.45, 9.0, 1.0, 0.4] 200s'
    echo '80 81920 ce 3.0 kl 1.9 sh 0.1 ewt ppl/kl/agree, in-domain [60.5, 0.9, 0.5, 9.0, 1.0, 0.4] 401s'
} >peer.kd
sed 's/kl [0-9.]* sh [0-9.]*/kl 0.000 sh 0.0000/; s/60.5/61.5/' peer.kd >peer.ce
ok 'rows of a peer are written' "$top/scripts/results" peer r t them 'distil.py kd' peer.kd peer.ce
equal "a peer's rows have its last figures" "$(awk -F '\t' '$1 == "them" {
    print $2, $4, $5, $6, $11, $16, $18 }' r/t.tsv | tr '\n' ',')" \
    'teacher - - - 31.98 0.0 1.0,pruned - - 99114048 113.51 1.431 0.381,distilled 81920 401 99114048 60.5 0.9 0.5,rival 81920 401 99114048 61.5 0.9 0.5,'
again r t >wrong
equal "a peer's rows are what lies beside them" "$(cat wrong)" ''
sed -i 's/	61.5	/	61.4	/' r/t.tsv
again r t >wrong
like "a wrong figure of a peer is found" '^them: nothing kept says \[61.4, ' wrong

# --- a table ---
tr '+' '\t' >r/t.table <<'END'
of the run+tokens+minutes+M param+ppl+95 %+KL+top-1+won back
all of it+one+teacher
distilled+one+distilled
its teacher+them+teacher
published+-+1+2+3+4+5+6+7+8
PyTorch+them+distilled
nobody+none+distilled
END
ok 'a table is drawn' "$top/scripts/results" draw r t
cat >want <<'END'
| of the run | tokens | minutes | M param | ppl | 95 % | KL | top-1 | won back |
|---|---|---|---|---|---|---|---|---|
| all of it |  |  | 0.0 | 15.64 | 0.1..1834.9 | 0.000 | 100.0 % | 100 % |
| distilled | 512 | 2 | 0.0 | 22.76 | 0.0..28914.6 | 0.250 ± 0.037 | 80.0 % | 50 % |
| its teacher |  |  |  | 31.98 |  | 0.000 | 100.0 % |  |
| published | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
| PyTorch | 81920 | 7 | 99.1 | 60.50 |  | 0.900 | 50.0 % |  |
| nobody | not run |  |  |  |  |  |  |  |

    make -f t.mk LR='1e-4' row
    distil.py kd
    recipes/runs.sh none
END
same 'the table has the rows that there are' out want
cp r/t.tsv before
awk -F '\t' -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "regained") k = i }
    NR > 1 { $k = "-" } 1' before >r/t.tsv
ok 'a table of runs whose pruning cost nothing' "$top/scripts/results" draw r t
equal 'has "-" as what a judged model has won back' \
    "$(awk -F ' *[|] *' '/^[|] (dist|PyT)/ { print $2, $10 }' out)" \
    'distilled -
PyTorch '
cp before r/t.tsv
# Documents of 10 and 30 tokens, nll higher by 1 and 3: 2.5, and its error: the
# residuals -15 and 15, sqrt(2 * 450) / 40.
sed 's/2.0	2.0	2.25/2.0	3.0	2.25/; s/3.0	3.5	3.75/3.0	6.5	3.75/' o/eval.tsv >new
mv new o/eval.tsv
ok 'a row of a worse run is written' row worse
mv r/t.table before
printf '%s\tnll - one\tKL - one\nplain\tone\tdistilled\nnone\tno\tdistilled
worse\tworse\tdistilled\nits teacher\tworse\tteacher\n' settings >r/t.table
ok 'a table of differences is drawn' "$top/scripts/results" draw r t
equal 'differences are by document, the largest first' "$(sed -n '3,6p' out)" \
    '| worse | 2.500 ± 0.750 | 0.000 ± 0.000 |
| plain | 0.000 ± 0.000 | 0.000 ± 0.000 |
| none | not run |  |
| its teacher |  |  |'
# Another seed, its documents in another order: higher by 0 and 2, so by 0.5 and
# 2.5 in the mean, the same residuals.
sed '/^0*1	x/{h;d}; /^0*2	x/G; s/2.0	3.0	2.25/2.0	2.0	2.25/; s/3.0	6.5	3.75/3.0	3.5	3.75/' \
    o/eval.tsv >one2
sed 's/3.0	3.5	3.75/3.0	5.5	3.75/' one2 >worse2
for run in one worse; do
    cp ${run}2 o/eval.tsv
    ok "a row of $run by another seed is written" row $run-2
done
sed 's/0.175/3.175/; s/0.275/3.275/' one2 >o/eval.tsv
ok 'a row of a run far from the teacher is written' row far
printf 'far\tfar\tdistilled\n' >>r/t.table
ok 'a table of differences over seeds is drawn' "$top/scripts/results" draw r t
equal 'differences are means over seeds, the largest first' \
    "$(sed -n '3,5p' out)" \
    '| far | 0.000 ± 0.000 | 3.000 ± 0.000 |
| worse | 2.000 ± 0.750, 1.500 to 2.500 | 0.000 ± 0.000, 0.000 to 0.000 |
| plain | 0.000 ± 0.000 | 0.000 ± 0.000 |'
mv before r/t.table
awk -F '\t' -v OFS='\t' '$1 == "one" { $NF = "make -f t.mk A=\047" \
    "0123456789 123456789 123456789 123456789 123456789 123456789\047 B=1 row" }
    1' r/t.tsv >new
mv new r/t.tsv
ok 'a table with a long command is drawn' "$top/scripts/results" draw r t
equal 'a long command is folded, but not between apostrophes' "$(grep -A 1 'A=' out)" \
    "    make -f t.mk A='0123456789 123456789 123456789 123456789 123456789 123456789' \\
        B=1 row"
awk -F '\t' -v OFS='\t' '$1 == "one" || $1 == "them" { $NF = "make -f recipes/" \
    "t.mk A=\047x y\047 GGUF=\047g\047 B=\047" $1 "\047 C=\0471\047 row" } 1' r/t.tsv >new
mv new r/t.tsv
ok 'a table of several runs of a recipe is drawn' "$top/scripts/results" draw r t
equal 'several runs are one command with the settings that they share' "$(sed -n '/^ /p' out)" \
    "    recipes/runs.sh A='x y' C='1' one them none"
rm r/t.tsv
ok 'a table without rows is drawn' "$top/scripts/results" draw r t
equal 'a table without rows says that nothing was run' "$(grep -c 'not run' out)" 5

# --- tables in a page ---
cat >page <<END
before
<!-- scripts/results draw $PWD/r t -->
an old table
<!-- end -->
between
<!-- scripts/results draw $PWD/r none -->
END
ok 'a table is written into a page' env -C "$top" sh -c \
    "sed '/between/,\$d' '$PWD/page' >'$PWD/whole'; scripts/results write '$PWD/whole'"
equal 'text around a table and the two lines stay' \
    "$(sed -n '1,2p;$p' whole)" "$(sed -n '1,2p;4p' page)"
like 'the table is the one that is drawn' '^. nobody . not run ' whole
unlike 'what was between the lines is gone' 'an old table' whole
cp page was
status 1 'a table without an end is refused with status 1' env -C "$top" \
    scripts/results write "$PWD/page"
like 'the message for a table that failed says which' 'failed|no line' err
same 'a page that cannot be written stays as it was' page was

# --- the curve: rows by A 4, a 1/2, D 0.1; cuts of 10 to 40 % ---
{
    echo run model tokens parameters nll text
    for r in '100000 900000 2.94 3.3' '100000 800000 3.06 3.7' \
        '100000 700000 3.26 4.2' '100000 600000 3.54 5' \
        '400000 800000 2.98 3.7' '1600000 700000 2.99 4.2'; do
        # shellcheck disable=SC2086 # words
        set -- $r
        echo "a$2-$1 teacher - 1000000 3 x"
        echo "a$2-$1 pruned - $2 $4 x"
        echo "a$2-$1 distilled $1 $2 $3 x"
    done
    # on another text
    echo 'b distilled 50000 700000 9 y'
} | tr ' ' '\t' >c.tsv
# nll left: 0.0475 of 0.95; 0.25 / 0.1475 squared is 2.873
ok 'curve prints rows and tokens' "$top/scripts/curve" 25 95 c.tsv
cat >want <<'END'
a900000-100000 10.0 100000 -0.0600 -0.0600 -0.0600
a800000-100000 20.0 100000 0.0600 0.0600 0.0600
a700000-100000 30.0 100000 0.2600 0.2600 0.2600
a600000-100000 40.0 100000 0.5400 0.5400 0.5400
a800000-400000 20.0 400000 -0.0200 -0.0200 -0.0200
a700000-1600000 30.0 1600000 -0.0100 -0.0100 -0.0100
END
equal 'the fit to rows by the formula is the formula' "$(sed 6q out | tr '\t' ' ')" \
    "$(cat want)"
equal 'tokens of a cut between two cuts are the formula'"'s" "$(sed 1,6d out)" \
    '25 % less, 95 % of the lost nll won back: 2.9e+05 tokens (2.9e+05 to 2.9e+05).'
ok 'curve prints text' "$top/scripts/curve" -t 20 99 c.tsv
like 'the text has the constants' 'A 4.00 \(4.00 to' out
like 'the text has the exponent and the gain' 'a 0.500 .0.500 to 0.500., D 0.100 ' out
like 'the text of four sizes names the plot' '^!.recovery and KL by tokens and by size.*c.svg' out
ok 'curve prints more tokens than were measured' "$top/scripts/curve" 40 99 c.tsv
like 'tokens beyond the rows are called extrapolated' 'extrapolated from at most 1600000' out
status 1 'a cut beyond those measured ends with status 1' "$top/scripts/curve" 50 95 c.tsv
like 'the message says which cut was not measured' 'cut model.* 50 % was measured' out
sed 's/2.98/3.04/' c.tsv >d.tsv
ok 'curve fits a row that does not agree' "$top/scripts/curve" 20 90 d.tsv
like 'rows that do not agree give a range' 'e.0[0-9] tokens .* to ' out
grep -v '^a[69]00000' c.tsv >d.tsv
status 1 'four rows end with status 1' "$top/scripts/curve" -t 25 95 d.tsv
like 'the text says how many rows there are' 'rows 4, numbers 3' out
status 2 'curve without a table is refused with status 2' "$top/scripts/curve" 25 95
status 2 'an unknown word of results is refused with status 2' "$top/scripts/results" show r t
done_testing
