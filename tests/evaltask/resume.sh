#!/bin/sh
# evaltask --resume: a run that was killed goes on, wherever it was killed
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/kept.sh"
prog=evaltask
golden=$top/tests/golden
gguf=$golden/gguf m=$golden/gguf/f32-hf

killed 'a run on tasks' 3 -B 1 -m "a=$m" -m "b=$gguf/q4_1-hf" --items items --compare \
    --task "$top/recipes/tasks/blimp.form=$golden/tasks/blimp.jsonl" \
    --task "$top/recipes/tasks/arc.form=$golden/tasks/arc_easy.jsonl" \
    --task "$top/recipes/tasks/hellaswag.form=$golden/tasks/hellaswag.jsonl" \
    --task "$top/recipes/tasks/belebele.form=$golden/tasks/belebele_est_Latn.jsonl" \
    --task "$top/recipes/tasks/lambada.form=$golden/tasks/lambada_openai.jsonl"

# --- a file of something else ---
task=$top/recipes/tasks/blimp.form=$golden/tasks/blimp.jsonl
other=$top/recipes/tasks/arc.form=$golden/tasks/arc_easy.jsonl
rm kept
ok 'blimp is scored and kept' evaltask -q -m "$m" -B 1 --task "$task" --resume kept
status 2 'a file of another model is refused' evaltask -m "$gguf/q4_1-hf" -B 1 \
    --task "$task" --resume kept
like '... and named as that' 'kept: .*other models' err
status 2 'a file of another task is refused' evaltask -m "$m" -B 1 \
    --task "$other" --resume kept
like '... and named as that of another input' 'kept: .*another input' err
status 2 'a file with another -B is refused' evaltask -m "$m" -B 2 \
    --task "$task" --resume kept
"$BUILD/tests/evalppl/eval" "$golden/grad/tied.safetensors" docs docs \
    2>/dev/null || exit 1
ok 'a stream is judged and kept' evalppl -q -m "$golden/grad/tied-student" \
    --resume judged docs
status 2 'a file of evalppl is refused' evaltask -m "$m" --task "$task" \
    --resume judged
cp "$golden/tasks/blimp.jsonl" text
status 3 'a text is no file of --resume' evaltask -m "$m" --task "$task" \
    --resume text
same '... and stays as it was' "$golden/tasks/blimp.jsonl" text
done_testing
