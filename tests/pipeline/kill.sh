#!/bin/sh
# Any stage of a pipeline killed: what is whole is kept, the rest exits 3
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/pipe.sh"
student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1

# Streams that do not end by themselves.
text='while cat "$top/corpus/en.jsonl"; do :; done 2>/dev/null'
batches='stage stream stream -q -B 4 -T 64 -s 7 --epochs 100000 data'
export top

# kill_at SECONDS VICTIM: SIGKILL then; the statuses are in $got
kill_at() {
    sleep "$1"
    kill -9 "$(cat "pid.$2")"
    finish
}

# gone FILE: nothing of that name, finished or not
gone() {
    if [ -e "$1" ] || [ -e "$1.tmp" ]; then
        wrong="$wrong $1 was left;"
    fi
}

# --- stream | teacher | student ---
train='stage student student -q -m s -o run --lr 1e-3 --save 3'
train="$train --schedule constant"
for victim in stream teacher student; do
    case $victim in
    stream) want='137 3 3' ;;
    teacher) want='0 137 3' ;;
    student) want='0 0 137' ;;
    esac
    wrong=
    for after in 0 0.03 0.11 0.27; do
        rm -rf run
        start "$batches | stage teacher teacher -q -m teacher | $train" \
            stream teacher student
        kill_at $after $victim
        [ "$got" = "$want" ] || wrong="$wrong after $after s: $got;"
        if [ -e run/config.json ]; then wrong="$wrong run is exported;"; fi
        [ "$victim" = student ] || [ ! -d run ] ||
            [ -z "$(find run -name "*.tmp*")" ] ||
            wrong="$wrong a temporary is left;"
    done
    equal "$victim killed: $want" "$wrong" ''
    # And one goes on to the bytes of one that was not disturbed.
    rm -rf run
    start "$batches | stage teacher teacher -q -m teacher | $train" \
        stream teacher student
    await [ -e run/step-6 ]
    kill_at 0 $victim
    last=$(find run -name 'step-*[0-9]' | sed 's/.*-//' | sort -n | tail -n 1)
    steps=$((last + 4))
    ok "a run that was killed goes on from step $last" sh -c 'stream -q --resume run data |
        teacher -q -m teacher | student -q -m s -o run --lr 1e-3 --save 3 \
        --schedule constant --resume --steps '$steps
    rm -rf whole
    stream -q -B 4 -T 64 -s 7 --batches $steps data |
        teacher -q -m teacher |
        student -q -m s -o whole --lr 1e-3 --schedule constant
    same "a run killed behind step $last ends with the same bytes" run/model.safetensors \
        whole/model.safetensors
done

# --- tokenize | shard, stream | teacher | shard write ---
small='--frame 2K --shard-size 4K'
for victim in tokenize shard; do
    [ $victim = tokenize ] && want='137 3' || want='0 137'
    wrong=
    for after in 0 0.05 0.2; do
        rm -rf d
        start "($text) | stage tokenize tokenize -q -t tok --jsonl --lang en |
            stage shard shard write -q $small -o d" tokenize shard
        kill_at $after $victim
        [ "${got#* }" = "$want" ] || wrong="$wrong after $after s: $got;"
        if [ -e d/manifest.json ]; then
            shard check -q --partial d >out 2>&1 ||
                wrong="$wrong $(tail -n 1 out);"
            stream -q d >out 2>err && wrong="$wrong taken for whole;"
        fi
    done
    equal "$victim killed: $want" "$wrong" ''
done
for victim in stream teacher shard; do
    case $victim in
    stream) want='137 3 3' ;;
    teacher) want='0 137 3' ;;
    shard) want='0 0 137' ;;
    esac
    wrong=
    for after in 0 0.05 0.2; do
        rm -rf d
        start "$batches | stage teacher teacher -q -m teacher --final |
            stage shard shard write -q $small -o d" stream teacher shard
        kill_at $after $victim
        [ "$got" = "$want" ] || wrong="$wrong after $after s: $got;"
        if [ -e d/manifest.json ]; then
            shard check -q --partial d >out 2>&1 ||
                wrong="$wrong $(tail -n 1 out);"
            status 3 "a directory of a killed $victim after $after s is not trained on" student -q -m s -o run2 d
        fi
    done
    equal "$victim killed before shard: $want" "$wrong" ''
done

# --- evalppl, prune and files ---
wrong=
for after in 0 0.1; do
    start "($text) | stage tokenize tokenize -q -t tok --jsonl --lang en |
        stage eval evalppl -q -m teacher -o report" tokenize eval
    kill_at $after tokenize
    [ "${got#* }" = '137 3' ] || wrong="$wrong after $after s: $got;"
    gone report
    start "$batches | stage prune prune -q -m teacher -o cut --ratio 0.3 --calib-rows 0" stream prune
    kill_at $after stream
    [ "$got" = '137 3' ] || wrong="$wrong after $after s: $got;"
    gone cut
    start "$batches | stage teacher teacher -q -m teacher -o kd" stream teacher
    kill_at $after stream
    [ "$got" = '137 3' ] || wrong="$wrong after $after s: $got;"
    gone kd
done
equal 'no report, no model, no stream from half an input' "$wrong" ''
rm -rf d run                # of a shard or student that was killed itself
equal 'nothing temporary is left' "$(find . -name '*.tmp*')" ''
done_testing
