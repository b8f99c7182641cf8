#!/bin/sh
# evalppl's protocols against the programs that they are named after
# (tests/golden/judge), and bits a byte
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/bos.sh"
text=$top/tests/golden/judge/text.jsonl
m=$top/tests/golden/gguf/f32-hf

with_bos "$m" bos

# column NAME FILE: of the first line of a table
column() {
    awk -F '\t' -v name="$1" '$1 == "model" { for (i = 1; i <= NF; i++)
        if ($i == name) k = i; next } k { print $k; exit }' "$2"
}
# golden FILE NAME FIELD
golden() {
    awk -F '\t' -v n="$2" -v k="$3" '$1 == n && $2 == "(all)" { print $k }' \
        "$top/tests/golden/judge/$1.tsv"
}
# figures FILE: all but the time and the memory that it took
figures() {
    awk -F '\t' -v OFS='\t' '{ $19 = $20 = "" } $2 != "time"' "$1"
}
# close WHAT X Y: to 1e-6
close() {
    if awk -v x="$2" -v y="$3" 'BEGIN { d = x / y - 1
        exit !(x > 0 && y > 0 && d <= 1e-6 && d >= -1e-6) }'; then
        pass "$1"
    else
        fail "$1: $2, not $3"
    fi
}

for k in plain bos; do
    [ $k = plain ] && model=$m || model=bos
    ok "$k: the lm-eval protocol runs" evalppl -q -m "$model" --protocol lm-eval -c 32 \
        --format tsv "$text"
    close "$k: word_perplexity is lm-eval's" "$(column word_ppl out)" "$(golden $k lm-eval 3)"
    close "$k: byte_perplexity is lm-eval's" "$(column byte_ppl out)" "$(golden $k lm-eval 4)"
    close "$k: bits_per_byte is lm-eval's" "$(column bits out)" "$(golden $k lm-eval 5)"
    equal "$k: words and bytes are counted" "$(column words out) $(column bytes out)" '123 596'
    figures out >one
    ok "$k: one row and one thread are enough" evalppl -q -m "$model" --protocol lm-eval \
        -c 32 -B 1 -j 1 --format tsv "$text"
    figures out >two
    same "$k: one row and one thread change no bit" one two
    tokenize -q -t "$model" --no-eos "$text" >docs
    ok "$k: the hf protocol runs" evalppl -q -m "$model" --protocol hf -c 32 \
        --stride 12 --format tsv docs
    close "$k: the perplexity of strides is transformers'" "$(column ppl out)" "$(golden $k hf 3)"
    # 8 texts of 596 bytes, less those of the 8 first characters without BOS
    [ $k = plain ] && want=588 || want=596
    equal "$k: the bytes of scored tokens are counted" "$(column bytes out)" "$want"
done
like 'TSV tells the hf protocol' '^# protocol hf, context 32, stride 12, BOS 1, 452 tokens, 8 documents, 444 scored, 596 bytes$' out
ok 'the lm-eval protocol prints text' evalppl -m bos --protocol lm-eval -c 32 "$text"
like 'text tells the lm-eval protocol' '^protocol lm-eval, context 32, stride 32, prefix 1, 452 tokens, 8 documents, 452 scored, 123 words, 596 bytes$' out
like 'text has the columns of lm-eval' ' bits/B +ppl/B +ppl/word ' out

# A window that holds a text scores it as docs does, but for the first token.
echo '{"text": "one two three"}' >one.jsonl
tokenize -q -t bos --no-eos one.jsonl >docs
evalppl -q -m bos --format tsv docs >docs.tsv
ok 'the docs protocol counts bytes' test "$(column bytes docs.tsv)" = 13
equal 'bits a byte are nats by tokens and bytes' "$(awk -v n="$(column nll docs.tsv)" \
    -v t="$(column tokens docs.tsv)" 'BEGIN { printf "%.6f", n * t / 13 / 0.693147180559945 }')" \
    "$(column bits docs.tsv | awk '{ printf "%.6f", $1 }')"
tokenize -q -t bos one.jsonl >docs
evalppl -q -m bos --format tsv docs >eos.tsv
equal 'EOS is a scored token' "$(($(column tokens eos.tsv) - $(column tokens docs.tsv)))" 1
equal 'EOS has no bytes' "$(column bytes eos.tsv)" 13

# --- a run that is asked how it stands says the same at its end ---
tokenize -q -t "$m" --no-eos "$text" >docs
set -- -q -m "S=$top/tests/golden/gguf/q4_1-hf" --base "T=$m" -c 32 -B 1 \
    --format tsv
evalppl "$@" docs >whole
mkfifo pipe
evalppl "$@" pipe >asked 2>asked.err &
pid=$!
exec 3>pipe # it has begun: it opens the pipe
kill -USR1 $pid
cat docs >&3
exec 3>&-
wait $pid
equal 'a run goes on after SIGUSR1' "$?" 0
like 'SIGUSR1 prints the figures so far' '^so far: protocol docs, context 32, .* [1-9][0-9]* scored' asked.err
like 'SIGUSR1 prints a line for each model' '^S +[0-9.]+ ' asked.err
figures whole >one
figures asked >two
same 'SIGUSR1 changes no bit of the report' one two

# --- models of different tokenizers, by bits a byte ---
mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
    '<|endoftext|>' >tok/tokenizer_config.json
llama config.json vocab_size 1024
tokenize -q -t tok "$text" >ids
shard write -q -o shards ids
stream -q -B 2 -T 32 --batches 1 -o one shards
student -q -m config.json -t tok -o trained --lr 1e-2 one
awk 'BEGIN { for (i = 1; i < 9; i++) {
    s = ""
    for (k = 0; k < i * i; k++) s = s " " (k * 7919 * i % 1000) "the river"
    print length(s) >"bytes"
    print "{\"text\": \"" s "\"}" } }' >lines.jsonl
set -- -q --protocol lm-eval -c 32 --format tsv
evalppl "$@" -m "A=$m" -m "C=$top/tests/golden/gguf/q4_1-hf" --compare \
    lines.jsonl >one.tsv
evalppl "$@" -m B=trained lines.jsonl >other.tsv
ok 'models of two tokenizers are evaluated' evalppl "$@" -m "A=$m" -m B=trained \
    -m "C=$top/tests/golden/gguf/q4_1-hf" --compare lines.jsonl
mv out both
lines() { figures "$1" | awk -F '\t' '$2 == "(all)" || $3 == "nll"'; }
{ lines one.tsv; lines other.tsv; } | sort >want
lines both | sort >got
same 'each model has the figures that it has alone' want got
for i in A B; do
    [ $i = A ] && of=$m || of=trained
    evalppl "$@" -m "$of" --worst 8 lines.jsonl | awk -F '\t' '
        /^document/ { on = 1; next }
        on { printf "%s %.6f\n", $1, $3 * $4 }' | sort >nll.$i
done
# not every awk has log and sqrt
paste -d ' ' nll.A nll.B bytes | awk '
    function root(x,    r, i) {
        r = 1
        for (i = 0; i < 60; i++) r = (r + x / r) / 2
        return r }
    { x[NR] = ($2 - $4) / 0.69314718055994531; n[NR] = $5
        sx += x[NR]; sn += $5 }
    END { r = sx / sn
        for (i = 1; i <= NR; i++) {
            d = x[i] - r * n[i]
            q += d * d }
        printf "%d %.8f %.8f\n", NR, r, root(NR / (NR - 1) * q) / sn }' >want
equal 'bits a byte are compared by document' "$(awk -F '\t' '
    function near(x, y) { return (x - y <= 2e-6 && y - x <= 2e-6) }
    FILENAME == "want" { split($0, w, " "); next }
    $3 == "bits" {
        print $1 $2, ($1 != "A" || (near($4, w[2]) && near($5, w[3])) ? 1 : 0) }
    ' want both | tr '\n' ' ')" 'AB 1 CB 1 '
ok 'models of two tokenizers are reported as text' evalppl -q --protocol lm-eval -c 32 -m "A=$m" -m B=trained \
    --compare lines.jsonl
like 'the text compares bits a byte' '^bits/B A - B: -?[0-9.]+ \+/- [0-9.]+ \(-?[0-9.]+ standard errors\)$' out
equal 'the text tells what each tokenizer makes of the input' "$(grep -c '^protocol lm-eval.* 8 documents' out)" 2
ok 'models of two tokenizers read standard input' sh -c 'evalppl "$@" <lines.jsonl' sh "$@" -m "A=$m" \
    -m B=trained
ok '--resume saves the results of two tokenizers' evalppl "$@" -m "A=$m" -m B=trained --resume kept lines.jsonl
figures out >want
size=$(wc -c <kept)
head -c $((size * 2 / 3)) kept >part
ok 'a run goes on with a part of the file' evalppl "$@" -m "A=$m" -m B=trained --resume part lines.jsonl
figures out >got
same 'the resumed run has the same figures' want got
status 2 '--token-losses with two tokenizers is refused' evalppl "$@" -m "A=$m" -m B=trained --token-losses t \
    lines.jsonl
status 3 'a base of another vocabulary is refused' evalppl "$@" -m "$m" --base trained \
    lines.jsonl
status 3 'two vocabularies on one stream are refused' evalppl -q -m "$m" -m trained docs

# --- misuse, damage ---
status 3 'a stream is refused by the lm-eval protocol' evalppl -m "$m" --protocol lm-eval docs
echo '{"content": "a"}' >other
status 3 'a line without a text is refused' evalppl -m "$m" --protocol lm-eval other
like 'the error names line and field' 'line 1: no text in a field "text"' err
: >empty
status 3 'an empty text is refused' evalppl -m "$m" --protocol lm-eval empty
status 1 'the lm-eval protocol needs a tokenizer' evalppl -m "$top/tests/golden/grad/tied-student" \
    --protocol lm-eval one.jsonl
status 2 '--stride with the lm-eval protocol is refused' evalppl -m "$m" --protocol lm-eval --stride 4 \
    one.jsonl
done_testing
