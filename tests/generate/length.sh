#!/bin/sh
# generate: longrope and dynamic RoPE follow the length of each text, which has
# the same bytes alone, beside longer ones, with another -n, resumed and drafted
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/by_length.sh"

m=$top/tests/golden/gguf/f32-hf
# texts that stay short, become long, and begin as long ones
cat >p.jsonl <<'END'
{"prompt": "The river", "max_tokens": 9, "seed": 1}
{"prompt": "The river", "max_tokens": 60, "seed": 1}
{"prompt": "the other river of them", "max_tokens": 50, "seed": 2}
{"prompt": "A much longer prompt, of 1 2 3 4 5 6 7 8 9 10 tokens 11 12 13 14 15", "max_tokens": 12, "seed": 3}
{"prompt": "A much longer prompt, of 1 2 3 4 5 6 7 8 9 10 tokens 11 12 13 14 15", "max_tokens": 30, "seed": 4}
END
for kind in longrope dynamic; do
    by_length "$m" $kind
    drawn() { generate run -q -m $kind --temperature 1 --logprobs 1 "$@"; }
    ok "$kind: texts are made together" drawn --prompts p.jsonl
    cp out together
    : >alone
    for line in 1 2 3 4 5; do
        sed -n ${line}p p.jsonl >one
        drawn --prompts one >got
        sed "s/\"index\": 0/\"index\": $((line - 1))/" got >>alone
    done
    same "$kind: each text has the bytes that it has alone" alone together
    for how in '--at-once 1' '--at-once 2 --slice 5' '--cache 64K' \
        "--draft $kind" "--draft $m --guesses 3"; do
        # shellcheck disable=SC2086 # a list
        ok "$kind: texts are made with $how" drawn --prompts p.jsonl $how
        same "$kind: $how changes no byte" together out
    done
    head -c 1500 together >part-$kind
    ok "$kind: a run is resumed" drawn --prompts p.jsonl --resume part-$kind
    same "$kind: ... to the bytes of a whole run" together part-$kind
    generate run -q -m $kind -n 12 'The river' >less
    generate run -q -m $kind -n 70 'The river' >more
    equal "$kind: a longer -n begins a text alike" \
        "$(head -c "$(($(wc -c <less) - 1))" more)" "$(cat less)"
    status 1 "$kind: the length matters" sh -c \
        'generate run -q -m "$1" -n 70 "The river" | cmp -s - more' - "$m"
done
done_testing
