#!/bin/sh
# evalppl --resume: what is left of a run that was killed, wherever that was
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/kept.sh"
prog=evalppl
golden=$top/tests/golden
grad=$golden/grad gguf=$golden/gguf
s=$grad/tied-student t=$grad/tied-teacher m=$gguf/f32-hf
for kind in docs batch long; do
    "$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" $kind $kind \
        2>/dev/null || exit 1
done
teacher -q -m "$t" --dtype f32 batch -o said
tokenize -q -t "$m" --no-eos "$golden/judge/text.jsonl" >text

killed 'documents' 10 -B 1 -c 4 -m "S=$s" --base "T=$t" --temperature 2 \
    --spread --per-source --compare --worst 3 --detail detail --tokens tokens \
    docs
killed 'one model' 10 -B 1 -c 4 -m "S=$s" --detail detail docs
killed 'hf' 11 -B 1 -c 32 --protocol hf -m "S=$s" -m "T=$t" long
killed 'llama.cpp' 11 -B 1 -c 16 --protocol llama.cpp -m "S=$s" long
killed 'lm-eval' 59 -B 1 -c 8 --protocol lm-eval -m "$m" \
    "$golden/judge/text.jsonl"
killed 'batches' 5 -B 1 -m "S=$s" --base "T=$t" batch
killed 'what a teacher said' 5 -B 1 -m "S=$s" --recorded --spread said
killed 'a file of llama.cpp' 7 -B 1 --protocol llama.cpp --spread \
    -m "q=$gguf/q4_1.gguf" --read-base "$golden/llama/f32.kld" --temperature 2
# --- killed while it runs ---
shard write -q -o shards text
stream -q -T 32 -B 1 shards -o batches
set -- -B 1 -m "$m" --base "T=$gguf/q4_1-hf" --spread
judge "$@" batches
mv figures want
mkfifo pipe
evalppl -q "$@" --resume kept2 pipe >out 2>err &
pid=$!
exec 3>pipe
head -c $(($(wc -c <batches) / 2)) batches >&3
begun() { [ "$(wc -c <kept2)" -gt 16 ]; }
await begun
status 1 'another at the same time' evalppl "$@" --resume kept2 batches
like 'is told' 'kept2: another process writes there' err
kill -9 $pid
wait $pid 2>/dev/null
exec 3>&-
ok 'after a kill' judge "$@" --resume kept2 batches
same 'the same' want figures
like 'by what was left' 'goes on after [0-9]+ groups' note

# --- other figures of what was computed; damage, misuse ---
ok 'other tables' evalppl "$@" --resume kept2 --per-source --worst 2 batches
unlike 'of the same' 'goes on' err
printf '%200s' '' | dd of=kept2 bs=1 seek=400 conv=notrunc 2>dd.err
ok 'damage' judge "$@" --resume kept2 batches
same 'it is not used' want figures
status 2 'another model' evalppl "$@" -m "S=$gguf/q4_1-hf" --resume kept2 batches
like 'says so' 'kept2: was made with other models' err
status 2 'another temperature' evalppl "$@" --temperature 2 --resume kept2 batches
status 2 'another context' evalppl "$@" -c 8 --resume kept2 batches
status 2 'other rows' evalppl "$@" -B 2 --resume kept2 batches
like 'says so' 'kept2: was made of another input, or with another -B' err
stream -q -T 32 -B 1 -s 1 shards -o other
status 2 'another text' evalppl "$@" --resume kept2 other
cp text text2
status 3 'another file' evalppl "$@" --resume text2 text
same 'it is as it was' text text2
status 1 'a folder' evalppl "$@" --resume . batches
status 2 'a file to write' evalppl -m "$m" -c 16 --protocol llama.cpp \
    --write-base w --resume kept3 text
done_testing
