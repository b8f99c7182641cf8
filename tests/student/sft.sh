#!/bin/sh
# student on conversations: the loss of a step is over its tokens, conversations
# in a row do not see each other, dynamic fine-tuning
. "${0%/*}/../lib/lib.sh"

. "$top/tests/lib/dpo.sh"
mv golden m
cat >m/chat_template.jinja <<'END'
{% for m in messages %}[{{ m.role }}] {% if m.role == 'assistant' %}{% generation %}{{ m.content }}.{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}
END
awk 'BEGIN { for (i = 0; i < 64; i++) {
    say = ""
    for (k = 0; k <= i * i % 7; k++) say = say " " (i + 3 * k) % 13
    printf "{\"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}, " \
        "{\"role\": \"assistant\", \"content\": \"%s\"}]}\n", i, say } }' >chats.jsonl
tokenize -q -t m --chat -o chats.st chats.jsonl && shard write -q -o chats chats.st || exit 1

# column NAME RUN: that column of its metrics
column() {
    awk -F '\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) c = i; next } { print $c }' "$2/metrics.tsv"
}
# near WHAT A B: the numbers in the files A and B differ by at most 1e-6
near() {
    if paste "$2" "$3" | awk '{ d = $1 - $2; n++; if (!(d * d <= 1e-12)) bad = 1 }
        END { exit !(n > 0 && !bad) }'
    then pass "$1"; else fail "$1"; paste "$2" "$3" | sed 's/^/# /'; fi
}
train() {
    run=$1
    shift
    student -q -m m -o "$run" --lr 1e-2 --schedule constant "$@"
}

# --- rows of unequal numbers of scored tokens ---
stream -q -B 8 -T 24 --pack none --batches 4 -o b8 chats &&
    stream -q -B 1 -T 24 --pack none --batches 32 -o b1 chats || exit 1
ok '4 steps of batches of 8 rows are made' train eight b8
ok '4 steps of 8 batches of a row are made' train ones --grad-accum 8 b1
column loss eight >eight.loss
column loss ones >ones.loss
near '8 batches of one row have the loss of one batch of 8 rows' eight.loss ones.loss
column norm eight >eight.norm
column norm ones >ones.norm
near '8 batches of one row have the gradient norm of one batch' eight.norm ones.norm

# --- packing ---
stream -q -B 64 -T 32 --pack none --batches 1 -o apart chats &&
    stream -q -B 64 -T 96 --pack best --epochs 1 -o packed chats || exit 1
ok 'a step on conversations in rows of their own is made' train apart.run apart
ok 'a step on packed conversations is made' train packed.run packed
equal 'packed conversations have the same scored tokens' \
    "$(column scored packed.run)" "$(column scored apart.run)"
column loss apart.run >apart.loss
column loss packed.run >packed.loss
near 'packed conversations have the loss of conversations apart' apart.loss packed.loss

# --- dynamic fine-tuning ---
ok 'dynamic fine-tuning trains' train dft --loss dft b8
ok 'its loss is below that of nll, and above 0' awk -v d="$(column loss dft | head -n 1)" \
    -v n="$(column loss eight | head -n 1)" 'BEGIN { exit !(0 < d && d < n / 10) }'
ok 'dft makes 2 steps' train half --loss dft --steps 2 b8
rm half/config.json
ok 'its stream is resumed' sh -c \
    'stream -q -B 8 -T 24 --pack none --batches 4 --resume half chats >rest'
status 2 'a resumed run must have the loss it had' train half --resume -- rest
like 'the message names the loss' 'loss is "nll", not "dft"' err
ok 'the run goes on with dft' train half --loss dft --resume -- rest
same '2 and 2 steps of dft have the bits of 4' dft/model.safetensors half/model.safetensors
done_testing
