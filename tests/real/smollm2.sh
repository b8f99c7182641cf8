#!/bin/sh
# A real model, SmolLM2-135M-Instruct, against golden values of transformers,
# tokenizers and llama.cpp: make check-real MODEL=FILE.gguf (recipes/ fetches
# it).  Without a model one line says that this was skipped.
if [ -z "${RETORT_MODEL:-}" ]; then
    echo '1..0 # SKIP no model: make check-real MODEL=SmolLM2-135M-Instruct.Q4_1.gguf'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden/smollm2

# number JSON.PATH: the number of a line  "NAME": VALUE  after "OBJECT": {
number() {
    sed -n "/\"$1\": {/,/}/s/^ *\"$2\": \([0-9.]*\),*\$/\1/p" \
        "$golden/values.json" | head -n 1
}

# within WHAT got want share: |got - want| <= share * want, both numbers
within() {
    if awk -v a="$2" -v b="$3" -v r="$4" 'BEGIN {
        d = a - b; if (d < 0) d = -d
        exit !(a + 0 > 0 && b + 0 > 0 && d <= r * b) }'; then
        pass "$1: $2, $3"
    else
        fail "$1: $2, $3"
    fi
}

# figure NAME: that column of evalppl's last line of all sources
figure() {
    awk -F '\t' -v name="$1" '/^#/ { next }
        !c { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
        $2 == "(all)" { v = $c }
        END { print v }' out
}

[ -e tests ] || ln -s "$top/tests" tests
ok 'the library has the ids, logits, text and export of the oracle' \
    "$BUILD/tests/real-smollm2" "$RETORT_MODEL"
sed 's/^/# /' out

ok 'tokenize --ids ends with status 0' tokenize -t "$RETORT_MODEL" --no-eos --ids \
    "$golden/text.txt"
tr ' ' '\n' <out | sed '/^$/d' >ids
od -An -v -tu2 --endian=little -w2 "$golden/ids.bin" | tr -d ' ' >want
same 'the ids are those of the tokenizers library' ids want

ok 'tokenize writes a stream of the text' tokenize -t "$RETORT_MODEL" --no-eos -o docs "$golden/text.txt"
for threads in 1 2; do
    ok "evalppl judges the text with $threads threads" evalppl -m "$RETORT_MODEL" -j "$threads" \
        --protocol llama.cpp -c 512 --write-base base --format tsv docs
    figure ppl >ppl.$threads
done
ppl=$(cat ppl.1)
same 'evalppl prints the same digits with two threads' ppl.1 ppl.2
within 'perplexity: ours, transformers (0.05 %)' "$ppl" \
    "$(number transformers ppl)" 0.0005
within 'perplexity: ours, llama-perplexity (0.2 %)' "$ppl" \
    "$(number f32 ppl)" 0.002
within 'perplexity: ours, llama-perplexity without its half-precision cache' \
    "$ppl" "$(number f32_kv_f32 ppl)" 0.0001

# judged NAME FIELD: what lm-eval (lm-eval) or transformers' strides (hf) say
judged() {
    awk -F '\t' -v n="$1" -v k="$2" '$1 == n && $2 == "(all)" { print $k }' \
        "$top/tests/golden/judge/smollm2.tsv"
}
text=$top/tests/golden/judge/text.jsonl
ok 'evalppl judges by the protocol lm-eval' evalppl -m "$RETORT_MODEL" \
    --protocol lm-eval -c 32 --format tsv "$text"
within 'word_perplexity: ours, lm-eval (0.05 %)' "$(figure word_ppl)" \
    "$(judged lm-eval 3)" 0.0005
within 'byte_perplexity' "$(figure byte_ppl)" "$(judged lm-eval 4)" 0.0005
within 'bits_per_byte' "$(figure bits)" "$(judged lm-eval 5)" 0.0005
tokenize -q -t "$RETORT_MODEL" --no-eos -o judge "$text"
ok 'evalppl judges by the protocol hf' evalppl -m "$RETORT_MODEL" --protocol hf -c 32 \
    --stride 12 --format tsv judge
within "perplexity: ours, transformers' strided example (0.05 %)" \
    "$(figure ppl)" "$(judged hf 3)" 0.0005

# Products in bfloat16: on the prose of this repository, in the same bits
# wherever they are made.
ok 'tokenize writes a stream of held-out texts' tokenize -q -t "$RETORT_MODEL" --jsonl -o held \
    "$top/corpus/held-out/en.jsonl" "$top/corpus/held-out/code.jsonl" \
    "$top/corpus/held-out/math.jsonl"
for compute in f32 bf16; do
    ok "evalppl judges with --compute $compute" evalppl -m "$RETORT_MODEL" \
        --compute $compute --format tsv held
    figure ppl >ppl.$compute
done
within 'perplexity: in bfloat16, in fp32 (0.2 %)' "$(cat ppl.bf16)" \
    "$(cat ppl.f32)" 0.002
ok 'evalppl compares bf16 with the logits of fp32' evalppl \
    -m "$RETORT_MODEL" --compute bf16 --protocol llama.cpp --read-base base \
    --format tsv
kl=$(figure kl)
if awk -v kl="$kl" 'BEGIN { exit !(kl > 1e-6 && kl < 1e-3) }'; then
    pass "KL of bf16 to fp32 is below 1e-3: $kl"
else
    fail "KL of bf16 to fp32 is below 1e-3: $kl"
fi

# A profile of real activations, sinks among them, by two ranks and in one.
shard write -q -o real held && stream -q -B 4 -T 256 --batches 1 -o whole real ||
    fail 'batches'
ok 'prune profile measures the whole text' prune profile -m "$RETORT_MODEL" -o whole.p --hessian whole
for r in 0 1; do
    stream -q -B 4 -T 256 --batches 1 --rank $r/2 -o rank real
    ok "prune profile measures the part of rank $r" prune profile -q -m "$RETORT_MODEL" -o "rank$r" --hessian \
        rank
done
ok 'prune profile --add joins both parts' prune profile --add -o ranks rank0 rank1
for f in channels.tsv blocks.tsv; do
    near "the joined parts are the whole profile: $f" 1e-6 ranks/$f whole.p/$f
done

prompt=$(sed -n 's/^ *"prompt": "\(.*\)",$/\1/p' "$golden/values.json")
ok 'generate run goes on with a prompt' generate run -m "$RETORT_MODEL" "$prompt" -n 32
sed -n 's/^  "text": "\(.*\)",$/\1/p' "$golden/values.json" |
    sed 's/\\"/"/g' >text
{ printf '%s' "$prompt"; cat text; } >want
sed -n '1,$p' out >got
same 'the text is the golden continuation' got want
done_testing
