#!/bin/sh
# Every program that reads lines of JSON takes them compressed and behind a byte
# order mark, with the same result, and refuses a NUL byte with the line's number
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
mark='\357\273\277'

# reads WHAT OUTPUT LINES COMMAND...: the command, which reads the file `lines`,
# gives the same OUTPUT for the file LINES and for it packed
reads() {
    re_what=$1 re_out=$2 re_lines=$3
    shift 3
    cp "$re_lines" plain
    # shellcheck disable=SC2059 # a format
    { printf "$mark"; sed 's/$/\r/' "$re_lines"; } | gzip -c >packed
    # shellcheck disable=SC2059 # a format
    { cat "$re_lines"; printf '\n{"a\000b": 1}\n'; } >nul
    for re_file in plain packed; do
        rm -rf run
        mv "$re_file" lines
        ok "$re_what reads the $re_file file" sh -c "$*"
        cp "$re_out" "result.$re_file"
    done
    same "$re_what: the packed file gives the same" result.plain result.packed
    rm -rf run
    mv nul lines
    status 3 "$re_what refuses a NUL byte" sh -c "$*"
    like "$re_what: the message names the line" \
        "lines: line $(($(grep -c '' "$re_lines") + 2)): .*NUL" err
}

printf '%s\n' '{"prompt": "The file"}' '{"prompt": "A second one"}' >prompts
reads 'generate run' out prompts generate run -q -m teacher -n 4 --prompts lines
printf 'The file\nA second one\n' >words
reads 'generate run of plain lines' out words \
    generate run -q -m teacher -n 4 --prompts lines
reads 'student grpo' run/model.safetensors prompts student grpo -q -m teacher \
    -o run -B 4 --group 2 -n 4 --steps 1 --reward "'awk \"{print NR}\"'" lines
reads 'student on-policy' run/model.safetensors prompts student on-policy -q \
    -m teacher --score-with teacher -o run -B 4 -n 4 --steps 1 lines
printf '{"prompt": "%s", "chosen": " b c", "rejected": " c d"}\n' A The >pairs
reads 'student dpo' run/model.safetensors pairs student dpo -q -m teacher \
    -o run -B 2 --steps 1 lines
printf '{"text": "%s"}\n' 'The file is open.' 'So is the door.' >texts
# The figures before the speed, column 19.
reads 'evalppl --protocol lm-eval' out texts evalppl -q -m teacher \
    --protocol lm-eval -c 32 --format tsv lines '>table' '&&' \
    cut -f 1-18 table
head -n 3 "$top/tests/golden/tasks/blimp.jsonl" >items
reads evaltask out items evaltask -q -m teacher --format tsv \
    --task "$top/recipes/tasks/blimp.form=lines"
done_testing
