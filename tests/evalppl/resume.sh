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
    --spread --per-source --compare --worst 3 --detail detail --token-losses tokens \
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
status 1 'a second run on one file is refused' evalppl "$@" --resume kept2 batches
like 'the error names the other process' 'kept2: another process writes there' err
kill -9 $pid
wait $pid 2>/dev/null
exec 3>&-
ok 'a run goes on after a kill' judge "$@" --resume kept2 batches
same 'the resumed run has the figures of a whole one' want figures
like 'a note says how much was saved' 'goes on after [0-9]+ groups' note

# --- other figures of what was computed; damage, misuse ---
ok 'another report is made of the saved results' evalppl "$@" --resume kept2 --per-source --worst 2 batches
unlike 'a complete file needs no going on' 'goes on' err
printf '%200s' '' | dd of=kept2 bs=1 seek=400 conv=notrunc 2>dd.err
ok 'a damaged record is computed again' judge "$@" --resume kept2 batches
same 'the figures are right after damage' want figures
status 2 'a file of another model is refused' evalppl "$@" -m "S=$gguf/q4_1-hf" --resume kept2 batches
like 'the error names the models' 'kept2: was made with other models' err
status 2 'a file of another temperature is refused' evalppl "$@" --temperature 2 --resume kept2 batches
status 2 'a file of another context is refused' evalppl "$@" -c 8 --resume kept2 batches
status 2 'a file with another -B is refused' evalppl "$@" -B 2 --resume kept2 batches
like 'the error names input and -B' 'kept2: .*another input.* -B' err
stream -q -T 32 -B 1 -s 1 shards -o other
status 2 'a file of another text is refused' evalppl "$@" --resume kept2 other
cp text text2
status 3 'a file that is not of --resume is refused' evalppl "$@" --resume text2 text
same 'that file stays as it was' text text2
status 1 'a folder is refused as the file' evalppl "$@" --resume . batches
status 2 '--write-base with --resume is refused' evalppl -m "$m" -c 16 --protocol llama.cpp \
    --write-base w --resume kept3 text
done_testing
