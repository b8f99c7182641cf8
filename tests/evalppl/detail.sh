#!/bin/sh
# evalppl --detail, --token-losses and --worst against transformers
# (tests/golden/judge/detail.*), and what must not change them
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden/judge
gguf=$top/tests/golden/gguf
tokenize -q -t "$gguf/f32-hf" --no-eos "$golden/text.jsonl" >docs
tab=$(printf '\t')

# judge MORE ...: into d, t and out
judge() {
    evalppl -q -m "model=$gguf/q4_1-hf" --base "base=$gguf/f32-hf" -c 32 \
        --detail d --token-losses t "$@" docs
}
# agree WHAT FILE GOLDEN FIRST KEYS OFF: the columns from FIRST on are the
# golden's, which is made in single precision, to OFF, in lines of the same KEYS
# first columns
agree() {
    if awk -F '\t' -v first="$4" -v keys="$5" -v most="$6" '
        function off(x, y) {
            if (x == "-" || y == "-") return (x != y)
            return (x - y <= most && y - x <= most ? 0 : 1) }
        { k = ""; for (i = 1; i <= keys; i++) k = k $i "\t" }
        FNR == NR { want[k] = $0; n++; next }
        !(k in want) { print "# not wanted: " $0; bad = 1; next }
        { split(want[k], w, "\t"); n--
          for (i = first; i <= NF; i++) if (off($i, w[i])) {
              print "# column " i ": " $0 " not " want[k]; bad = 1 } }
        END { if (n) print "# " n " lines are missing"
            exit bad || n || !NR }' "$3" "$2"; then
        pass "$1"
    else
        fail "$1"
    fi
}

ok '--detail and --token-losses write their files' judge --worst 3
mv out report
sed 1d d | grep -v "${tab}source$tab" >tables
agree 'the tables are those of transformers' tables "$golden/detail.tsv" 4 3 3e-6

# Documents are numbered there; a class takes the place of the bytes.
tail -n +2 t | awk -F '\t' -v OFS='\t' '$2 != last { last = $2; d++ }
    { print d - 1, $3, $4, $5, $7, $8, $9 }' >tokens
awk -F '\t' -v OFS='\t' '{ print $1, $2, $3, $8, $5, $6, $7 }' \
    "$golden/detail.tokens.tsv" >want
agree "every token has the golden's loss, KL and class" tokens want 5 4 1e-5
equal 'the columns of the tokens are named' "$(head -n 1 t)" \
    "$(printf 'source\tdocument\tposition\tid\tclass\ttext\tnll base\tnll model\tkl model')"
like 'a newline is shown escaped' "${tab}white space$tab\\\\n$tab" t
like 'parts of characters are shown as bytes' "${tab}other$tab\\\\x[89a-f][0-9a-f]$tab" t

# The worst by KL, by hand from all tokens.
tail -n +2 t | awk -F '\t' '{ s[$2] += $9; n[$2]++ }
    END { for (d in s) printf "%.5f %s\n", s[d] / n[d], d }' |
    sort -r | head -n 3 | cut -d ' ' -f 2 >want
sed -n '/^worst/,$p' report | sed 1d | cut -d ' ' -f 1 >got
same '--worst names the documents with the highest KL' want got
ok '--worst prints TSV' judge --worst 2 --format tsv
equal 'the worst documents have a table of their own' "$(grep '^document' out | cut -f 1-4)" "$(printf 'document\tsource\ttokens\tnll base')"
equal '--worst 2 names two documents' "$(sed -n '/^$/,$p' out | grep -Ec '^[0-9a-f]{16}')" 2
# All of them make the figures of the whole.
ok '--worst names all documents' judge --worst 1000 --format tsv
awk -F '\t' '$1 == "document" { on = 1; next }
    on { n += $3; bytes += $8; for (i = 4; i < 8; i++) s[i] += $3 * $i }
    END { printf "%.6f\t%.6f\t%.6f\t%.6f\t%d\t%d\n", s[4] / n, s[5] / n, \
        s[6] / n, s[7] / n, n, bytes }' out >got
awk -F '\t' '$2 == "(all)" { nll[$1] = $6; kl = $11; same = $15; n = $5; b = $21 }
    END { printf "%s\t%s\t%s\t%s\t%d\t%d\n", nll["base"], nll["model"], kl, \
        same, n, b }' out >want
near 'all documents make the figures of the whole' 1e-4 want got
mkdir run
mv out run/eval.tsv
ok 'report reads the TSV of --worst' report --text run
like 'report finds the figures before it' '^ *model .*[0-9]' out

ok 'report makes a page of the tokens' report -q t
equal 'the page has all tokens' "$(grep -o '<span ' t.html | grep -c '')" 436
like 'the page has colours and losses' 'background:rgba\(220,30,30,0\.[0-9]*\)" title="nll base [0-9.]*, nll model [0-9.]*, kl model [0-9.]*">' t.html
like 'the page has its text escaped' '>&#39;</span>' t.html
status 2 'report --text refuses a table of tokens' report --text t
status 3 'report refuses a stream' report docs
judge --compare >out
mv d d1
mv t t1
for how in '-B 1' '-B 7' '-j 1' '-j 3'; do
    # shellcheck disable=SC2086 # two words
    ok "tables and tokens are written with $how" judge $how
    same "$how changes no table" d d1
    same "$how changes no token" t t1
done

ok 'a single model has tables, tokens and worst documents' evalppl -q -m "m=$gguf/f32-hf" -c 32 --detail d --token-losses t \
    --worst 1 docs
like 'a single model has no KL' "^m${tab}all${tab}-${tab}436${tab}6.7298[0-9]*${tab}-$tab" d
like 'without a base the worst documents are those of the highest loss' '^7bb9dc86f2c28e9b|^[0-9a-f]{16} text' out
"$BUILD/tests/evalppl/eval" "$top/tests/golden/grad/tied.safetensors" docs ids
ok 'a model without a tokenizer has tables and tokens' evalppl -q -m "m=$top/tests/golden/grad/tied-student" -c 32 \
    --detail d --token-losses t ids
equal 'there are no classes without a tokenizer' "$(grep -c "${tab}class$tab" d)" 0
like 'there are no texts without a tokenizer' "$tab-$tab-$tab" t
ok 'two sources are judged with tables and percentiles' evalppl -q -m "m=$top/tests/golden/grad/tied-student" \
    --base "b=$top/tests/golden/grad/tied-teacher" --spread --per-source \
    --format tsv --detail d ids
want='(all) 1 (all) 1 bg 1 bg 1 cs 1 cs 1 '
for k in '(all)' bg cs; do want="$want$k agree 1 $k kl_back 1 $k delta_p 1 "; done
equal 'the tables have the figures of the report' "$(awk -F '\t' '
    FILENAME == "d" { if ($2 == "all") $3 = "(all)"
        if ($2 == "all" || $2 == "source") {
            kl[$1 $3] = $6; back[$1 $3] = $11; dp[$1 $3] = $12
            agree[$1 $3] = $13; n[$1 $3] = $4 }
        next }
    NF == 28 && FNR > 2 { print $2, (n[$1 $2] == $5 && kl[$1 $2] == $11 || $1 == "b") }
    NF == 6 && $4 == "mean" && $3 == "kl_back" { print $2, $3, (back[$1 $2] == $5) }
    NF == 6 && $4 == "mean" && $3 == "delta_p" { print $2, $3, (dp[$1 $2] == $5) }
    NF == 6 && $4 == "mean" && $3 == "agree" { print $2, $3, (agree[$1 $2] == $5) }
    ' d out | tr '\n' ' ')" "$want"
evalppl -q -m "b=$gguf/f32-hf" --protocol llama.cpp -c 32 --write-base base docs
ok 'a file as the base has tables and tokens' evalppl -q -m "m=$gguf/q4_1-hf" --read-base base \
    --protocol llama.cpp -c 32 --detail d --token-losses t --worst 1
like 'a file as the base has losses' "${tab}-?[0-9.]+${tab}[0-9.]+${tab}[0-9.]+$" t
equal 'a file as the base has no entropy' "$(cut -f 1 d | sort -u | tr '\n' ' ')" 'm model '
like 'a file as the base has no speed' '^base .* 0\.000 +- +0\.0$' out
status 1 'tokens without a folder are an error' evalppl -m "$gguf/f32-hf" --token-losses no/t docs
status 1 'tables without a folder are an error' evalppl -m "$gguf/f32-hf" --detail no/t docs
if [ -e /dev/full ]; then
    status 1 'a full disk for tables is an error' evalppl -m "$gguf/f32-hf" --detail /dev/full docs
fi
done_testing
