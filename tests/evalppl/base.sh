#!/bin/sh
# evalppl: llama.cpp's file of a base model read and written, and --spread
. "${0%/*}/../lib/lib.sh"
gguf=$top/tests/golden/gguf llama=$top/tests/golden/llama
grad=$top/tests/golden/grad
ln -s "$llama/f32.kld" base
judge() { evalppl -q --protocol llama.cpp "$@"; }

# numbers FILE: value and error of each line that llama-perplexity prints
numbers() {
    awk '/:/ { sub(/.*: */, ""); gsub("±", ""); gsub("%", "")
        for (i = 1; i <= NF; i++) print $i }' "$1"
}
# The same in that order of evalppl's TSV of the model q.
ours() {
    awk -F '\t' '
    $1 == "base" && NF == 28 { pb = $8; eb = $8 * $7 }
    $1 == "q" && NF == 28 { pq = $8; eq = $8 * $7 }
    $1 == "q" && NF == 6 { v[$3 " " $4] = $5; e[$3 " " $4] = $6 }
    function put(key, scale) { print v[key] * scale
        if (e[key] != "-") print e[key] * scale }
    END {
        print pq; print eq; print pb; print eb
        put("nll correlation", 100); put("ppl ln ratio", 1)
        put("ppl ratio", 1); put("ppl difference", 1)
        n = split("mean max 99.9 99 95 90 median 10 5 1 0.1 min", s, " ")
        for (i = 1; i <= n; i++) put("kl " s[i], 1)
        n = split("mean max 99.9 99 95 90 75 median 25 10 5 1 0.1 min rms", s,
            " ")
        for (i = 1; i <= n; i++) put("delta_p " s[i], 100)
        put("agree mean", 100)
    }' OFMT=%.9g CONVFMT=%.9g "$1"
}
# figures WHAT GOLDEN: out has them within what is printed, and fp32's rounding
figures() {
    ours out >mine
    numbers "$2" >theirs
    equal "$1: all figures are llama-perplexity's" "$(paste theirs mine | awk '
        { d = $1; sub(/[^.]*\.?/, "", d); off = $1 - $2; if (off < 0) off = -off
          size = $1 < 0 ? -$1 : $1; n++
          half = 0.5
          for (i = length(d); i > 0; i--) half /= 10
          if (NF != 2 || !(off <= half + 4e-6 * size))
              print NR, $0 }
        END { print n }')" "$(grep -c '' theirs)"
}

# --- a file that llama-perplexity wrote ---
ok 'a file of llama-perplexity is read' judge -m "q=$gguf/q4_1.gguf" --read-base base --spread \
    --format tsv
like "the file's protocol is llama.cpp" \
    '^# protocol llama.cpp, context 32, stride 32, no BOS, 256 tokens, 8 windows, 120 scored' out
figures 'q4_1' "$llama/f32-q4_1.txt"
equal 'llama-perplexity prints 43 figures' "$(grep -c '' theirs)" 43
cp out whole
ok 'the file is read with other rows and threads' judge -m "q=$gguf/q4_1.gguf" --read-base base \
    --spread --format tsv -B 1 -j 2
strip() { awk -F '\t' -v OFS='\t' 'NF == 28 { $19 = $20 = "" } $2 != "time"' "$1"; }
strip whole >a
strip out >b
same 'rows and threads change no digit of the figures' a b
ok 'a model that begins with BOS reads the file' judge -m "q=$gguf/f16.gguf" \
    --read-base base --spread --format tsv
like 'the report names its BOS' ', BOS 1,' out
figures 'f16' "$llama/f32-f16.txt"
ok 'several models read the file in one pass' judge -m "q=$gguf/q4_1.gguf" \
    -m "b=$gguf/f16.gguf" --read-base base --spread --format tsv --compare
like 'the differences of KL are reported' '^q	b	kl	-0.2705[0-9]*	' out
grep -E '^q	.all.' out | cut -f 1-18 >one
grep -E '^q	.all.' whole | cut -f 1-18 >two
same 'the first model has the figures that it has alone' one two
ok '--token-losses and --detail take a file as the base' judge -m "q=$gguf/q4_1.gguf" \
    --read-base base --token-losses tokens --detail detail
equal 'every scored token has a line' "$(grep -c '^text	' tokens)" 120
like 'the tables have KL' '^q	all	-	120	.*	0.15011' detail
like 'the report counts bytes' 'bytes' out
ok '--temperature takes a file as the base' judge -m "q=$gguf/q4_1.gguf" --read-base base \
    --temperature 3 --spread
like 'percentiles are printed as text' '^99.9 %( +[0-9.]+){5}$' out

# --- a file that llama-perplexity reads ---
head -c 380 "$top/tests/golden/smollm2/text.txt" >text
ok 'text becomes ids' tokenize -q -t "$gguf/f32.gguf" --no-eos -o docs text
ok 'a file for llama-perplexity is written' judge -m "$gguf/f32.gguf" -c 32 --write-base mine.kld docs
cp mine.kld first.kld
# rows FILE: the numbers of a file from its first row on
rows() { tail -c +$((20 + 8 * 32 * 4 + 1)) "$1" | od -A n -v -t u2 -w608; }
equal 'the file has the size of the golden' "$(($(wc -c <mine.kld) - $(wc -c <base)))" 0
equal 'head and tokens are those of the golden' \
    "$(head -c 1044 mine.kld | cksum)" "$(head -c 1044 base | cksum)"
rows mine.kld >r1
rows base >r2
equal "the numbers are the golden's, or one step beside" "$(paste -d ' ' r1 r2 | awk '
    { for (i = 5; i <= 304; i++) { off = $i - $(i + 304)
          if (off < 0) off = -off
          n += off == 0; m += off == 1; more += off > 1 } }
    END { print n + m, more + 0, (m < n / 10) }')" "36000 0 1"
ok 'the file is written with other rows and threads' judge -m "$gguf/f32.gguf" -c 32 -B 3 -j 2 \
    --write-base mine.kld docs
same 'rows and threads change no bit of the file' first.kld mine.kld
ok 'a file is written for the base of two models' judge -m "q=$gguf/q4_1.gguf" \
    --base "B=$gguf/f32.gguf" -c 32 --write-base mine.kld --spread \
    --format tsv docs
same 'it is the file of the model alone' first.kld mine.kld
awk -F '\t' '$3 == "kl" || $3 == "kl_back" || $3 == "delta_p" { print $5 }' \
    out >direct
ok 'a file that evalppl wrote is read' judge -m "q=$gguf/q4_1.gguf" --read-base mine.kld --spread \
    --format tsv
awk -F '\t' '$3 == "kl" || $3 == "kl_back" || $3 == "delta_p" { print $5 }' \
    out >again
equal 'the file gives the figures of two models in one pass' "$(paste direct again | awk '
    { off = $1 - $2; if (!(off <= 2e-4 && off >= -2e-4)) print; n++ }
    END { print n }')" 43
ok 'a model reads the file that it wrote' judge -m "q=$gguf/f32.gguf" \
    --read-base mine.kld --spread --format tsv
equal 'no reverse KL is below 0' "$(awk -F '\t' '
    $3 == "kl_back" && $4 == "min" { print ($5 > -3e-8) }' out)" 1
head -c 300 "$top/tests/golden/smollm2/text.txt" >text
ok 'text becomes ids with BOS' tokenize -q -t "$gguf/f16.gguf" --no-eos -o bos text
ok 'a file with BOS is written' judge -m "$gguf/f16.gguf" -c 32 --write-base bos.kld bos
equal 'the file has BOS only at the beginning of the text' \
    "$(tail -c +21 "$llama/bos.kld" | head -c $((3 * 32 * 4)) | cksum)" \
    "$(tail -c +21 bos.kld | head -c $((3 * 32 * 4)) | cksum)"

# --- by source; what a base changes not ---
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs batches || exit 1
ok 'two models are compared by source' evalppl -q -m "q=$grad/tied-student" \
    --base "T=$grad/tied-teacher" --spread --per-source --temperature 2 \
    --format tsv batches
equal 'each source has percentiles' "$(awk -F '\t' 'NF == 6 && $4 == "rms" {
    print $2 }' out | tr '\n' ' ')" '(all) bg cs '
equal 'the means are those of the report' "$(awk -F '\t' '
    NF == 28 { kl[$1 $2] = $11; t[$1 $2] = $13 }
    NF == 6 && $3 == "kl" && $4 == "mean" { print ($5 == kl[$1 $2]) }
    NF == 6 && $3 == "kl_t" && $4 == "mean" { print ($5 == t[$1 $2]) }' out |
    tr '\n' ' ')" '1 1 1 1 1 1 '
strip out >a
for rows in 1 3; do
    ok "two models are compared with $rows rows and threads" evalppl -q -m "q=$grad/tied-student" -B $rows -j $rows \
        --base "T=$grad/tied-teacher" --spread --per-source --temperature 2 \
        --format tsv batches
    strip out >b
    same "$rows rows and threads change no digit by source" a b
done
ok 'percentiles by source are printed as text' evalppl -q -m "q=$grad/tied-student" --base "T=$grad/tied-teacher" \
    --spread --per-source batches
like 'the text names model, base and source' '^q against T, bg: [0-9]+ predictions' out

# --- what the stream's teacher says ---
t=$grad/tied-teacher
"$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" batch batch || exit 1
pair() { evalppl -q -m "q=$grad/tied-student" --temperature 3 --spread \
    --format tsv "$@"; }
ok 'a teacher adds its states to a stream' teacher -q -m "$t" --dtype f32 -o said batch
ok "a student is compared with the teacher's model" pair --base "teacher=$t" batch
strip out | grep -Ev '^#|^q	bytes	' | sort >a
ok "a student is compared with the teacher's states" pair --recorded said
strip out | grep -Ev '^#|^q	bytes	' | sort >b
sed -i 's/^\(teacher	(all)\)	[0-9]*/\1	-/' a b
same 'model and states of the teacher give the same figures' a b
ok 'states are read with other rows and threads' pair --recorded said -B 1 -j 2
strip out | grep -Ev '^#|^q	bytes	' | sort | sed 's/^\(teacher	(all)\)	[0-9]*/\1	-/' >b
same 'rows and threads change no digit beside states' a b
ok 'a teacher sends its states in 16 bits' teacher -q -m "$t" -o half batch
ok 'states in 16 bits are read' pair --recorded half
status 2 '--recorded with the lm-eval protocol is refused' pair --recorded --protocol lm-eval said
status 3 '--recorded without a teacher is refused' pair --recorded batch
like 'the error says that a teacher is missing' 'batch: .*teacher' err
ok 'a teacher leaves out its head' teacher -q -m "$t" --no-head -o less batch
status 3 '--recorded without the head is refused' pair --recorded less
status 3 "--recorded of a teacher's tokens is refused" sh -c 'teacher -q -m "$1" --top 4 -o top batch &&
    evalppl -q -m "$2" --recorded top' sh "$t" "$grad/tied-student"
status 3 '--recorded by a model of another vocabulary is refused' evalppl -q -m "$gguf/f32.gguf" --recorded said
status 2 '--recorded with --base is refused' evalppl -m "$t" --base "$t" --recorded said

# --- damage ---
q=$gguf/q4_1.gguf
for n in 0 7 8 19 20 500 1043 1044 $(($(wc -c <base) - 1)); do
    head -c "$n" base >bad
    status 3 "a file of $n bytes is refused" judge -m "$q" --read-base bad
    equal "a file of $n bytes has no report" "$(cat out)" ''
done
like 'the error says how many bytes are missing' \
    'bad: is truncated: 8 windows of 32 .* 300 take 74004 bytes, and it has 74003' err
{ cat base; printf x; } >bad
status 3 'a file with a byte more is refused' judge -m "$q" --read-base bad
like 'the error says that there are more bytes' 'more than it says' err
# patch AT OCTAL...: the file base with bytes changed
# shellcheck disable=SC2059
patch() {
    patch_at=$1 patch_bytes=$2
    { head -c "$patch_at" base; printf "$patch_bytes"
        tail -c +$((patch_at + $(printf "$patch_bytes" | wc -c) + 1)) base
    } >bad
}
patch 0 'X'
status 3 'another first letter is refused' judge -m "$q" --read-base bad
like 'the error says that it is no such file' 'is no file of llama-perplexity' err
patch 8 '\000\000\000\000'
status 3 'a context of 0 is refused' judge -m "$q" --read-base bad
patch 16 '\377\377\377\377'
status 3 'a negative number of windows is refused' judge -m "$q" --read-base bad
patch 8 '\377\377\377\177\377\377\377\177\377\377\377\177'
status 3 'the largest numbers are refused' judge -m "$q" --read-base bad
patch 24 '\054\001\000\000'
status 3 'a token beyond the vocabulary is refused' judge -m "$q" --read-base bad
like 'the error names the token' 'token 1 is 300.*vocabulary' err
patch $((1044 + 608 * 7)) '\000\000\300\177'
status 3 'a scale that is not a number is refused' judge -m "$q" --read-base bad
like 'the error names the prediction' 'bad: prediction 7: ' err
status 3 'a model of another vocabulary is refused' judge -m "$grad/tied-student" --read-base base
like 'the error names both vocabularies' 'vocabulary of 61, .*base one of 300' err
status 1 'a missing file is an error' judge -m "$q" --read-base none
status 1 'a folder is no file' judge -m "$q" --read-base .
status 1 'a file without a folder is an error' judge -m "$q" -c 32 --write-base no/where docs
cp -R "$gguf/f32-hf" bare
rm bare/tokenizer*
status 3 'a model without a tokenizer is refused' judge -m bare \
    --read-base base

# --- misuse ---
status 2 '--read-base without its protocol is refused' evalppl -m "$q" --read-base base
status 2 '--write-base without its protocol is refused' evalppl -m "$q" --write-base f docs
status 2 '--read-base with --base is refused' judge -m "$q" --base "$q" --read-base base
status 2 '--read-base with --write-base is refused' judge -m "$q" --read-base base --write-base f
status 2 'a text beside the file is refused' judge -m "$q" --read-base base docs
status 2 '--write-base of two models is refused' judge -m "$q" -m "q=$q" --write-base f docs
status 2 '--spread without a base is refused' evalppl -m "$q" --spread docs

# --- what is not finite: weights so large that logits are not ---
cp -R "$gguf/f32-hf" huge
size=$(wc -c <huge/model.safetensors)
{ head -c $((size - 64)) "$gguf/f32-hf/model.safetensors"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        printf '\377\377\177\177'; done; } >huge/model.safetensors
status 4 'infinite logits beside a file are an error' judge -m huge --read-base base --spread
like 'the error names the model' 'huge: the loss of token .* is not finite' err
status 4 'infinite logits beside a model are an error' evalppl -m huge --base "$q" --spread docs
status 4 'infinite logits of the base are an error' judge --base huge -m "$q" -c 32 --write-base gone docs
if [ -e gone ]; then fail 'infinite logits leave a file'; else pass 'infinite logits leave no file'; fi
done_testing
