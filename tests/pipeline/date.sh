#!/bin/sh
# Chat templates that ask for the date: it is an option, so that a run does not
# depend on its day
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
# chat_template.jinja has a fallback, as Llama 3.2's: transformers, which always
# knows the function, calls it
cat >tok/chat_template.jinja <<'END'
{% if strftime_now is defined %}{% set day = strftime_now("%d %b %Y") %}{% else %}{% set day = "26 Jul 2024" %}{% endif %}
Today: {{ day }}
{% for m in messages %}{% if m.role == "assistant" %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}
END
cp tok/* s0
cat >chat.jsonl <<'END'
{"messages": [{"role": "user", "content": "the 1"}, {"role": "assistant", "content": " of 2"}]}
{"messages": [{"role": "user", "content": "select"}, {"role": "assistant", "content": " all"}]}
END
cat >ask.jsonl <<'END'
{"messages": [{"role": "user", "content": "the 1"}]}
{"messages": [{"role": "user", "content": "select"}]}
END
cat >pairs.jsonl <<'END'
{"prompt": [{"role": "user", "content": "the 1"}], "chosen": [{"role": "assistant", "content": " of 2"}], "rejected": [{"role": "assistant", "content": " no"}]}
END
words() { tokenize -q -t tok --chat chat.jsonl -o "$@"; }
pairs() {
    run=$1
    shift
    student dpo -q -m s0 -B 1 --lr 1e-3 -o "$run" "$@" pairs.jsonl
}
echo '{ print length($0) % 3 }' >length.awk
rewarded() {
    run=$1
    shift
    student grpo -q -m s0 -B 4 --group 4 -n 4 --lr 1e-3 --steps 2 --save 1 \
        --reward "awk -f length.awk" -o "$run" "$@" ask.jsonl
}
judged() {
    run=$1
    shift
    student on-policy -q -m s0 -B 4 -n 4 --lr 1e-3 --steps 1 \
        --score-with teacher -o "$run" "$@" ask.jsonl
}
written() {
    to=$1
    shift
    generate run -q -m s0 -n 4 --prompts ask.jsonl --resume "$to" "$@"
}
for c in words pairs rewarded judged written; do
    status 2 "$c: a template that asks for the date is refused" $c no
    like "$c: the message names --date" 'chat template: .*--date' err
    status 2 "$c: a day that is none is refused" $c no --date 2026-02-29
    like "$c: the message has the day" '^[a-z -]*: --date 2026-02-29: ' err
    rm -rf no
    # 26 hours lie between these zones, so that their days always differ
    TZ=UTC-14
    export TZ
    ok "$c: a date is taken in the far east" $c east.$c --date 2026-01-31
    TZ=UTC12
    ok "$c: a date is taken in the far west" $c west.$c --date 2026-01-31
    unset TZ
    ok "$c: another date is taken" $c other.$c --date 2026-02-01
    f=
    [ ! -d east.$c ] || f=/model.safetensors
    same "$c: the day on which it runs does not matter" east.$c$f west.$c$f
    status 1 "$c: the date that is given matters" cmp -s east.$c$f other.$c$f
done
status 2 'a date without --chat is refused' tokenize -q -t tok ask.jsonl \
    -o no --date 2026-01-31

# --- going on ---
status 2 'texts of another date do not go on' written east.written \
    --date 2026-02-01
ok 'texts of the same date go on' written east.written --date 2026-01-31
for c in pairs rewarded judged; do
    status 2 "$c: a run does not go on with another date" $c east.$c --resume \
        --date 2026-02-01
    like "$c: the message names what differs" 'date is "2026-02-01"' err
done

# --- ranks ---
. "$top/tests/lib/ranks.sh"
has_ranks 'dates over ranks' || done_testing
# shellcheck disable=SC2016
status 2 'ranks with other dates are refused' mpirun -n 2 sh -c \
    'student grpo -q -j 1 -m s0 -o ranks -B 8 --group 4 -n 4 --steps 1 \
        --reward "sed s/.*/1/" --date 2026-01-0$((1 + OMPI_COMM_WORLD_RANK)) \
        ask.jsonl'
like 'the message names the option and the ranks' \
    '^student.*--date.*: rank 1 has .*rank 0 has ' err
done_testing
