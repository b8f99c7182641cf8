#!/bin/sh
# stream | teacher | student over pipes and shared memory, any stage of which
# is killed at random points: nobody hangs, nothing incomplete is exported,
# nothing is left that stops the next start.  RETORT_LONG=1: 100 points a stage
# shellcheck disable=SC2086 # commands are kept as words
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/pipe.sh"
student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1
me=t9k.$$
segment=/dev/shm/retort-$(id -u)-$me
rows='stream -q -B 4 -T 64 -s 7 --batches 20 data'
endless='stream -q -B 4 -T 64 -s 7 --epochs 100000 data'

# Small rings, so that little is read after a death.  Every fourth victim dies
# at any time, perhaps before it has opened its end: then the others wait for
# it for a second, say so and exit 1.  The others die while the student trains.
points=4
is_long && points=100
rnd=12345
for how in pipe shm; do
    case $how in
    pipe) o='' i='' O='' I='' ;;
    shm) o="-o shm:$me.a?wait=1\&size=256K" i="shm:$me.a?wait=1"
        O="-o shm:$me.b?wait=1\&size=256K" I="shm:$me.b?wait=1" ;;
    esac
    text="stage stream $endless $o | stage teacher teacher -q -m teacher $O $i"
    text="$text | stage student student -q -m s -o run --lr 1e-3 --save 3 $I"
    text="$text --schedule constant"
    for victim in stream teacher student; do
        wrong=
        point=0
        while [ $point -lt $points ]; do
            point=$((point + 1))
            rnd=$(((rnd * 1103515245 + 12345) % 2147483648))
            after=0.$(printf %03d $((rnd / 65536 % 400)))
            rm -rf run
            start "$text" stream teacher student
            [ $((point % 4)) = 0 ] || await [ -e run/metrics.tsv ]
            sleep $after
            kill -9 "$(cat pid.$victim)"
            finish
            case $victim:$got in
            'stream:137 3 3' | 'teacher:0 137 3' | 'student:0 0 137') ;;
            *) [ $((point % 4)) = 0 ] || got="$got while it ran" ;;
            esac
            case $victim:$got in
            'stream:137 3 3' | 'teacher:0 137 3' | 'student:0 0 137') ;;
            'stream:137 1 '[13] | 'teacher:'[01]' 137 [13]') ;;
            'teacher:'[01]' 137 1' | 'student:'[01]' '[01]' 137') ;;
            'teacher:'[01]' 137 3' | 'stream:137 3 1') ;;
            *) wrong="$wrong after $after s: $got;" ;;
            esac
            if [ -e run/config.json ]; then wrong="$wrong exported;"; fi
            [ $victim = student ] || [ ! -d run ] ||
                [ -z "$(find run -name '*.tmp*')" ] ||
                wrong="$wrong a temporary is left;"
        done
        equal "$how: $victim killed $points times" "$wrong" ''
    done
done
rm -rf run
teacher -q -m teacher -o "shm:$me.b" "shm:$me.a" &
one=$!
student -q -m s -o run --lr 1e-3 --save 3 "shm:$me.b" &
ok 'the next run starts where a writer was killed' timeout 20 $rows -o "shm:$me.a"
wait $! && wait $one || fail 'its readers'
equal 'nothing is left' "$(ls "$segment"* 2>/dev/null)" ''
done_testing
