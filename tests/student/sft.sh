#!/bin/sh
# student on conversations: the loss of a step is over its tokens, conversations
# in a row do not see each other, text and answers mix, a teacher computes scored
# predictions alone, dynamic fine-tuning
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

# --- text beside answers ---
# Text has no mask: all of it is learnt, beside the answers alone of questions.
mkdir texts
awk 'BEGIN { for (i = 0; i < 24; i++) { say = ""
    for (k = 0; k <= i % 5; k++) say = say " " (i + k) % 13 "."
    print "text" say >"texts/text.txt" } }'
awk -F '"' '{ printf "{\"messages\": [{\"role\": \"user\", \"content\": \"%s\"}]" \
    ", \"index\": %d, \"text\": \"%s\", \"finish_reason\": \"eos\"}\n", \
    $10, NR - 1, $18 }' chats.jsonl >answers.jsonl
tokenize -q -t m --split line --lang text -o text.st texts &&
    tokenize -q -t m --chat -o answers.st answers.jsonl &&
    shard write -q -o text text.st && shard write -q -o answers answers.st &&
    stream -q -B 64 -T 96 --epochs 1 -o only.text text &&
    stream -q -B 64 -T 96 --epochs 1 -o only.answers answers &&
    stream -B 64 -T 96 --epochs 1 -o mixed text answers 2>said || exit 1
like 'a note says that conversations end otherwise than text' \
    'answers: its documents begin or end otherwise than those of text' said
for run in only.text only.answers mixed; do
    ok "a step on $run is made" train $run.run $run
done
equal 'answers of generate run have the scored tokens of conversations' \
    "$(column scored only.answers.run)" "$(column scored packed.run)"
column loss only.answers.run >answers.loss
near 'answers of generate run have the loss of conversations' answers.loss apart.loss
equal 'all tokens of text are scored but the first of a line' \
    "$(column scored only.text.run)" \
    "$(($(tokenize -q -t m --split line --ids texts | wc -w) - 24))"
equal 'in a mixed stream the tokens of text and of answers are scored' \
    "$(column scored mixed.run)" \
    "$(($(column scored only.text.run) + $(column scored only.answers.run)))"
awk -v a="$(column loss only.text.run)" -v n="$(column scored only.text.run)" \
    -v b="$(column loss only.answers.run)" -v m="$(column scored only.answers.run)" \
    'BEGIN { printf "%.9f\n", (a * n + b * m) / (n + m) }' >mean.loss
column loss mixed.run >mixed.loss
near 'the loss of a mixed stream is the mean over both' mean.loss mixed.loss
ok 'text and answers are stored in one folder' \
    shard write -q -o both text.st answers.st
ok 'the folder of both becomes a stream' stream -q -B 64 -T 96 --epochs 1 -o both.st both
ok 'a step on text and answers in one folder is made' train both.run both.st
column loss both.run >both.loss
near 'one folder of both has the loss of two' both.loss mixed.loss
ok 'text and answers are mixed by weights' stream -q -B 4 -T 32 --batches 800 \
    --weights text=1,answers=1 -o half.st text answers
shard dump --values 999999 half.st >half.txt
share=$(awk '/^  row/ { n[$5] += $6 } END {
    printf "%.0f", 100 * n["text,"] / (n["text,"] + n["answers,"]) }' half.txt)
equal 'half of the tokens are text, in percent' "$share" 50

# --- a teacher's top tokens, of scored predictions alone ---
distil() {
    run=$1
    shift
    student -q -m eight -o "$run" --lr 1e-3 --ce 0 --kl 1 "$@"
}
ok 'all tokens are written for conversations' \
    teacher -q -m m --top 1024 --dtype f32 -o every b8
ok 'so are final states' teacher -q -m m --final --dtype f32 -o states b8
ok 'a student is distilled from all tokens' distil every.run every
ok 'a student is distilled from final states' distil states.run states
column kl every.run >every.kl
column kl states.run >states.kl
near 'both have the same divergence in each step' every.kl states.kl
ok 'it is above 0' awk '!($1 > 0) { bad = 1 } END { exit bad || NR != 4 }' every.kl
shard dump --values 999999 every >every.txt
equal 'the teacher computes scored predictions alone' \
    "$(awk '$1 == "teacher.lse" { n = 0
        for (i = 4; i < NF; i += 2) n += $i != 6.93147
        print n }' every.txt)" "$(column scored every.run)"
ok 'some tokens are written' teacher -m m --top 8 --dtype f32 -o few b8
share=$(sed -n 's/.*top 8: \([0-9.]*\) % of the mass.*/\1/p' err)
shard dump --values 999999 few >few.txt
equal 'the note tells the mass that the scored predictions hold' "$share" \
    "$(awk '$1 == "teacher.top.logp" { for (i = 4; i < 4 + 8 * 192; i++) p[i] = $i }
    $1 == "teacher.lse" { for (k = 0; k < 192; k++) if ($(4 + 2 * k) != 6.93147) {
        n++
        for (i = 0; i < 8; i++) sum += exp(p[4 + 8 * k + i]) } }
    END { printf "%.2f", 100 * sum / n }' few.txt)"

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
