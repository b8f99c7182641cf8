#!/bin/sh
# Real models out of GGUF files against transformers: make check-real
# MODELS=DIR, where DIR holds gemma3-270m.gguf, qwen2.5-coder-0.5b.gguf,
# qwen2.5-coder-1.5b.gguf or smollm2-135m.gguf.  Without one a line says that
# this was skipped.
if [ -z "${RETORT_MODELS:-}" ]; then
    echo '1..0 # SKIP no models: make check-real MODELS=DIR'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"

# ids NAME ANSWERS: its tokenizer against answers of the published one
# (tests/real/tokenizers.sh).  Not compared: <mask> and <unused0> as text, which
# Gemma's GGUF calls control tokens and its tokenizer.json does not.
ids() {
    model=$RETORT_MODELS/$1.gguf
    texts=$top/tests/golden/tok/real/texts.jsonl
    [ -f "$model" ] || return 0
    awk 'NR == FNR { control[NR - 1] = /<(mask|unused[0-9]+)>/; next }
        !($2 == "t" && control[$1])' "$texts" \
        "$top/tests/golden/tok/real/$2.ids" >answers
    ok "$1 has the ids of the published tokenizer.json" \
        "$BUILD/tests/real-tokenizers" "$model" "$texts" answers
    sed 's/^/# /' out
}

# check NAME LANGUAGE TOKENS NATS: of the documents of a file of held-out text,
# each alone, by transformers 5.23 in float32 on the dequantised weights.  Nats
# count every token but the first of a document, which is BOS where it has one.
check() {
    model=$RETORT_MODELS/$1.gguf
    [ -f "$model" ] || return 0
    tokenize -q -t "$model" --no-eos -o ids "$top/corpus/held-out/$2.jsonl" &&
        evalppl -q -m "$model" -c 4096 --format tsv ids >got || {
        fail "$1 judges text in $2"
        return 0
    }
    if awk -F '\t' -v tokens="$3" -v nats="$4" '
        $1 == "model" { for (i = 1; i <= NF; i++) at[$i] = i }
        $2 == "(all)" { d = $at["nll"] * $at["tokens"] - nats
            good = $at["tokens"] == tokens && d <= 1e-4 * nats && \
                -d <= 1e-4 * nats }
        END { exit !good }' got; then
        pass "$1 gives text in $2 $4 nats of $3 tokens"
    else
        fail "$1 gives text in $2 $4 nats of $3 tokens"
        sed 's/^/# /' got
    fi
}

# back NAME: as a directory and as a GGUF of convert it has the same ids and nats
back() {
    model=$RETORT_MODELS/$1.gguf
    [ -f "$model" ] || return 0
    ok "$1 becomes a directory" convert -q "$model" dir
    ok "$1 becomes a GGUF in F32" convert -q dir f32.gguf
    for m in "$model" dir f32.gguf; do
        tokenize -q -t "$m" -o ids "$top/corpus/held-out/mt.jsonl" &&
            shard dump -q --values 9999 ids >shown &&
            grep '  ids' shown >got.ids &&
            evalppl -q -m "$m" --format tsv ids >got || fail "$1: $m"
        cat got.ids >>all.ids
        grep '(all)' got | cut -f 4-8 >>all.nats
    done
    equal "$1 has the same ids in all formats" "$(sort -u all.ids | wc -l)" \
        "$(($(wc -l <all.ids) / 3))"
    equal "$1 gives the same nats in all formats" "$(sort -u all.nats | wc -l)" 1
    rm -rf dir f32.gguf all.ids all.nats
}

ids gemma3-270m gemma3
ids qwen2.5-coder-0.5b qwen2_5
ids qwen2.5-coder-1.5b qwen2_5
ids smollm2-135m smollm2

# Made by transformers 5.23.0 and torch 2.13.0 in float32, one document after
# the other: log_softmax(model(ids).logits) of from_pretrained(gguf_file=FILE).
# Ids by its tokenizer too; but Gemma's of code by the published tokenizer.json,
# which cuts a run of 41 spaces into 31 and 10.  transformers' conversion of the
# GGUF puts the merges of short runs first, cuts 16 and 25, and has 3684.1767.
while read -r language gt gn st sn lt ln; do
    check gemma3-270m "$language" "$gt" "$gn"
    check qwen2.5-coder-0.5b "$language" "$st" "$sn"
    check qwen2.5-coder-1.5b "$language" "$lt" "$ln"
done <<END
bg 1138 4283.2842 1530 6119.0856 1530 5329.5476
de 823 3228.5750 938 4054.2001 938 3350.3003
el 1222 3652.7273 2535 6331.2942 2535 4867.1028
en 789 2925.7140 778 3337.4140 778 2796.0159
fi 1325 5316.6584 1540 7302.2329 1540 6182.5343
ga 1389 7092.2664 1517 8133.8409 1517 6800.3311
mt 1508 6864.9506 1530 9657.4576 1530 8406.8596
code 1959 3677.7818 1746 2095.9097 1746 1719.8590
math 1193 2833.4977 1162 2483.8109 1162 1875.1035
END
back smollm2-135m
back gemma3-270m
done_testing
