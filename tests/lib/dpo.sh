# shellcheck shell=sh
# The small model and the pairs of tests/golden/dpo; sourced after lib.sh.
# Makes the folder golden, which has them and the tokenizer tok/digits.json.

cp -r "$top/tests/golden/dpo" golden &&
    cp "$top/tests/golden/tok/digits.json" golden/tokenizer.json || exit 1
golden=golden
export golden
