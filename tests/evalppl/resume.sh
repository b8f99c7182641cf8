#!/bin/sh
# evalppl --resume: what is left of a run that was killed, wherever that was
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden
grad=$golden/grad gguf=$golden/gguf
s=$grad/tied-student t=$grad/tied-teacher m=$gguf/f32-hf
for kind in docs batch long; do
    "$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" $kind $kind \
        2>/dev/null || exit 1
done
teacher -q -m "$t" --dtype f32 batch -o said
tokenize -q -t "$m" --no-eos "$golden/judge/text.jsonl" >text

# judge ARGUMENTS: all that is written, without the time that it took
judge() {
    rm -f items detail tokens
    evalppl --format tsv "$@" >report 2>note || return
    awk -F '\t' -v OFS='\t' 'NF == 26 { $19 = "" } 1' report >figures
    for f in items detail tokens; do
        [ ! -e $f ] || cat $f >>figures
    done
}
# forwarded: what was computed by a model, in the profile
forwarded() { grep -c 'forward' profile; }

# killed WHAT N ARGUMENTS: what was computed goes to a file, of which N
# records are left without its last byte; the run says the same from whatever
# length the file had
killed() {
    what=$1 left=$2
    shift 2
    rm -f kept
    ok "$what" judge "$@"
    mv figures want
    ok "$what, kept" judge "$@" --resume kept
    same 'the same' want figures
    cp kept all
    size=$(wc -c <all)
    RETORT_PROFILE=profile judge "$@" --resume kept
    same 'again the same' want figures
    equal 'and nothing was computed' "$(forwarded)" 0
    same 'nor kept' all kept
    for cut in 0 16 17 $((size / 5)) $((size / 3)) $((size / 2)) \
        $((size * 3 / 4)) $((size - 1)); do
        head -c "$cut" all >kept
        RETORT_PROFILE=profile judge "$@" --resume kept || fail 'a run'
        cmp -s want figures || fail "$what: after $cut of $size bytes"
        [ "$(forwarded)" -gt 0 ] || fail 'nothing was computed'
        [ "$(wc -c <kept)" = "$size" ] || fail 'not all was kept'
    done
    like "$what: says where it goes on" \
        "^evalppl: kept: goes on after $left groups" note
}

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
killed 'tasks' 3 -B 1 -m "a=$m" -m "b=$gguf/q4_1-hf" --items items --compare \
    --task "$top/recipes/tasks/blimp.form=$golden/tasks/blimp.jsonl" \
    --task "$top/recipes/tasks/arc.form=$golden/tasks/arc_easy.jsonl" \
    --task "$top/recipes/tasks/hellaswag.form=$golden/tasks/hellaswag.jsonl" \
    --task "$top/recipes/tasks/belebele.form=$golden/tasks/belebele_est_Latn.jsonl" \
    --task "$top/recipes/tasks/lambada.form=$golden/tasks/lambada_openai.jsonl"

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
