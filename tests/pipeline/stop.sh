#!/bin/sh
# Pipelines that are stopped: a reader that has enough, Ctrl-C, silent pipes
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/pipe.sh"
student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1
batches='stage stream stream -q -B 4 -T 64 -s 7 --epochs 100000 data'
train='stage student student -m s -o run --lr 1e-3 --save 0'
train="$train --schedule constant"

# --- a reader that has enough: everybody is content ---
# content WHAT SHELL-TEXT: 0 under pipefail, and nobody complains
content() {
    status 0 "nobody complains when a reader has enough: $1" timeout 20 bash -o pipefail -c "$2"
    equal "nothing is printed when a reader has enough: $1" "$(cat err)" ''
}
batch='stream -q -B 4 -T 64 --epochs 100000 data'
content 'student --steps' "$batch | teacher -q -m teacher |
    student -q -m s -o few --lr 1e-3 --steps 3" 2>/dev/null
rm -rf few
content 'prune --calib-rows' "$batch | prune -q -m teacher -o cut --ratio 0.3"
content 'stream | head' "$batch | head -c 1000 >/dev/null"
content 'teacher | head' "$batch | teacher -q -m teacher | head -c 900000 |
    tail -c 1 >/dev/null"
content 'generate run | head' \
    "generate run -q -m teacher a -n 200 | head -c 1 >/dev/null"
content 'shard dump | head' "$batch | shard dump -q | head -n 3 >/dev/null"
content 'shard list | head' 'shard list -q data data | head -c 1 >/dev/null'
content 'shard check | head' 'shard check -q data | head -c 1 >/dev/null'
feed="(while cat '$top/corpus/en.jsonl'; do :; done) 2>/dev/null"
endless="($feed || exit 0)"
for how in '' --ids; do
    content "tokenize $how | head" "$endless |
        tokenize -q -t tok --jsonl --lang en $how | head -c 30 >/dev/null"
done
content 'tokenize --decode | head' \
    'tokenize -q -t tok --decode docs.st | head -c 30 >/dev/null'
content 'tokenize --stats | head' "tokenize -q -t tok --stats \
    $top/corpus/en.jsonl | head -c 3 >/dev/null"
content 'evalppl | head' 'evalppl -q -m teacher docs.st | head -c 1 >/dev/null'
content 'plan | head' 'plan -q -m new.json | head -c 1 >/dev/null'
content 'stream --dry-run | head' \
    'stream -q --dry-run data | head -c 1 >/dev/null'

# --- Ctrl-C, to all stages at once ---
start "$batches | stage teacher teacher -q -m teacher | $train" \
    stream teacher student
await [ -e run/metrics.tsv ]
until [ "$(wc -l <run/metrics.tsv)" -gt 4 ]; do sleep 0.01; done
kill -INT "-$(cat group)"
finish
equal 'Ctrl-C ends student with status 5' "${got##* }" 5
equal 'Ctrl-C ends stream with status 5' "${got%% *}" 5
like 'student says after which step it stopped' '^student: run: stopped after step [0-9]+, saved$' \
    student.err
like 'student prints the commands that go on' \
    'run: to go on.*stream --resume run,.*student --resume=run -m s -o run ' \
    student.err
steps=$(($(wc -l <run/metrics.tsv) - 1))
if [ -d "run/step-$steps" ]; then pass 'the last step is saved'; else
    fail "the last step is saved: $steps"; fi
if [ -e run/config.json ]; then fail 'a stopped run exports no model'; else
    pass 'a stopped run exports no model'; fi
{
    sed -n 's/.* end with: //p' student.err | tr -d '\n'
    echo " --steps $((steps + 2))"
} >again
ok 'a stopped run goes on' sh -c 'stream -q --resume run data | teacher -q -m teacher |
    sh ./again'

# --- one stage alone: the reason travels ---
rm -rf run
start "$batches | stage teacher teacher -q -m teacher | $train" \
    stream teacher student
await [ -e run/metrics.tsv ]
kill -INT "$(cat pid.stream)"
finish
equal 'an interrupted stream ends with 5, the others with 3' "$got" '5 3 3'
like 'student says that the stream was interrupted' '^student: .*interrupted' student.err

# timeout(1) sends SIGINT to its child and then to its group: one stop, saved.
rm -rf run
mkfifo endless
stream -q -B 4 -T 64 -s 7 --epochs 100000 -o endless data &
feeder=$!
status 5 'timeout -s INT ends student with status 5' timeout --preserve-status -s INT 2 \
    student -m s -o run --lr 1e-3 --save 0 --schedule constant endless
like 'a run stopped by timeout is saved' '^student: run: stopped after step [0-9]+, saved$' err
kill $feeder
wait $feeder 2>/dev/null

# --- silent pipes ---
# A writer that holds its end and says nothing more.
mkfifo silent unread
head -c 2000 docs.st >some.docs
head -c 3000 one >some
head -c 3000 "$top/corpus/en.jsonl" >some.text
# settled: give $victim time to read, and to take SIGTERM if it will
settled() {
    sleep 0.15
    [ "$want" != 5 ] || await catches $victim 15
}
# silent SIGNAL STATUS INPUT command ...
silent() {
    signal=$1 want=$2 input=$3
    shift 3
    rm -rf run d report cut kd
    bash -c 'exec "$@"' bash "$@" <silent >out 2>err &
    victim=$!
    exec 8>silent
    cat "$input" >&8
    # until bash has become the program: bash may lose a signal
    await grep -qx "$1" /proc/$victim/comm
    settled
    kill -"$signal" $victim
    watch 10 $victim
    rc=0
    wait $victim || rc=$?
    kill "$watchdog"
    wait "$watchdog" 2>/dev/null
    exec 8>&-
    equal "SIG$signal ends $1 on a silent pipe of $input" $rc "$want"
    equal "SIG$signal leaves nothing of $1 on a silent pipe of $input" "$(find . -name '*.tmp*' -o -name report -o \
        -name cut -o -name kd)" ''
}
for input in /dev/null some; do
    silent INT 5 "$input" student -q -m s -o run
    silent INT 5 "$input" shard write -q -o d
done
silent TERM 5 some student -q -m s -o run
silent TERM 5 some shard write -q -o d
like 'shard says that it was interrupted' '^shard [a-z]*: d: interrupted$' err
for input in /dev/null some; do
    silent TERM 143 "$input" teacher -q -m teacher -o kd
    silent TERM 143 "$input" prune -q -m teacher -o cut --ratio 0.3
done
silent HUP 129 some teacher -q -m teacher -o kd
silent TERM 143 some.docs evalppl -q -m teacher -o report
silent TERM 143 some.text tokenize -q -t tok --jsonl --lang en -o kd
silent HUP 129 some.text tokenize -q -t tok --jsonl --lang en -o kd

# Fifos whose other end nobody opens.
# waiting STATUS command ...: which is then told to stop
waiting() {
    want=$1
    shift
    "$@" >out 2>err &
    victim=$!
    settled
    kill -TERM $victim
    watch 10 $victim
    rc=0
    wait $victim || rc=$?
    kill "$watchdog"
    wait "$watchdog" 2>/dev/null
    equal "SIGTERM ends a program with nobody at the other end: $*" $rc "$want"
}
rm -rf run d
waiting 5 student -q -m s -o run unread
waiting 5 shard write -q -o d unread
like 'shard says that it was interrupted while it opened a fifo' '^shard [a-z]*: unread: interrupted$' err
waiting 5 stream -q -o unread data
waiting 143 teacher -q -m teacher -o unread one
# A reader that does not read.
exec 8<>unread
waiting 5 stream -q --epochs 100000 -o unread data
exec 8>&-

# --- a fifo instead of a pipe ---
mkfifo one.fifo two.fifo
stream -q -B 4 -T 64 -s 7 --batches 4 -o one.fifo data &
teacher -q -m teacher -o two.fifo one.fifo &
ok 'student trains through fifos' student -q -m s -o fifos --lr 1e-3 two.fifo
wait
stream -q -B 4 -T 64 -s 7 --batches 4 data | teacher -q -m teacher |
    student -q -m s -o pipes --lr 1e-3
same 'fifos give the same model as pipes' fifos/model.safetensors pipes/model.safetensors
done_testing
