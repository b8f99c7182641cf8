#!/bin/sh
# A model with learned positions (GPT-2) is trained, teaches, becomes files and
# writes text; rows and texts that are longer than its positions are refused by
# every program
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/new_mixer.sh"

# gpt2 FILE POSITIONS: a configuration of 3 blocks
gpt2() {
    cat >"$1" <<END
{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 1024,
 "n_embd": 32, "n_layer": 3, "n_head": 4, "n_inner": 64, "n_positions": $2,
 "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
 "initializer_range": 0.05, "bos_token_id": null, "eos_token_id": null}
END
}
gpt2 gpt.json 256
learns gpt.json gpt
becomes_files gpt
writes_texts gpt
status 0 'an adapter of all matrices is trained' student -q -m gpt --lora 4 -o low \
    --lr 1e-2 --warmup 0 b
status 0 'the adapter becomes a part of the weights' convert -q --adapter low \
    --into-weights gpt merged
evalppl -q -m merged --base gpt --format tsv one >kl.tsv
like 'the merged model is judged' merged kl.tsv

# ---- longer than the positions ----
gpt2 short.json 48
status 3 'a student is not trained on longer rows' student -q -m short.json -t tok -o no b
says='rows of 64 tokens, but it has learned 48 positions'
like 'student says how many positions there are' "short.json: $says" err
stream -q -B 4 -T 48 -s 7 --batches 6 data >b48 || exit 1
status 0 'a student is trained on rows of as many tokens' student -q -m short.json -t tok \
    -o short --lr 1e-3 b48
status 3 'a student is not judged on longer rows' student -q -m short -o no --eval b b48
like 'student says that of --eval too' "short: $says" err
status 3 'no windows that are longer are measured' prune vocab -q -m short -o no --size 900 \
    --held-out docs.st data
like 'prune vocab says how many positions there are' 'short: rows of 512 tokens.*48 pos' err
status 3 'a teacher does not read longer rows' teacher -q -m short -o no.st b
like 'teacher says how many positions there are' "short: $says" err
status 3 'evalppl does not judge longer rows' evalppl -q -m short b
like 'evalppl says how many positions there are' "short: $says" err
status 0 'evalppl judges rows of as many tokens' evalppl -q -m short b48
for c in 'profile -o p' 'search --ratio 0.2 -o c'; do
    # shellcheck disable=SC2086 # a command and options
    status 3 "prune ${c%% *} does not read longer rows" prune $c -q -m short b
    like "prune ${c%% *} says how many positions there are" "short: $says" err
done
tap_text=$(head -c 300 "$top/README.md" | tr -cd 'a-z ')
status 3 'generate takes no longer prompt' generate run -q -m short -n 4 "$tap_text"
like 'generate says how many positions there are' '48 positions' err
status 3 'generate takes no longer text' generate run -q -m short -n 60 'The'
like 'generate says how many positions there are for the text' '48 positions' err
status 0 'generate writes as many tokens as there are positions' generate run -q -m short \
    -n 40 'The'
status 2 'a draft with fewer positions is refused' generate run -q -m gpt --draft short -n 4 \
    'The'
like 'the refusal says how many positions the draft has' 'short: .* 48 positions' err
if [ -x "$BUILD/bin/serve" ]; then
    status 2 'serve takes no longer texts' serve -m short --longest 49
    like 'serve says how many positions there are' '48, the model.s positions' err
fi
tap_long=$(printf '%s ' "$tap_text" "$tap_text" "$tap_text")
printf '{"text": "%s end"}\n' "$tap_long" >cut.jsonl
printf '{"text": "The %s"}\n' "$(printf '%s' "$tap_long" | tr -d ' ')" >long.jsonl
form=$top/recipes/tasks/lambada.form
status 0 'evaltask cuts a longer context, as lm-eval does' evaltask -q -m short \
    --task "$form=cut.jsonl"
status 3 'evaltask takes no longer continuation' evaltask -q -m short --task "$form=long.jsonl"
like 'evaltask says how many tokens the model takes' 'of [0-9]* tokens, short takes 48' err
done_testing
