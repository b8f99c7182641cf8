#!/bin/sh
# What is said while models run: done and total, time left, closing lines
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
# A job is long enough to be told of on any machine by the slowest kernels.
NO_COLOR=1 TERM=xterm RETORT_KERNELS=ref
export NO_COLOR TERM RETORT_KERNELS
stream -q -B 8 -T 64 -s 1 --batches 60 data >b
first_and_last

# slowly FILE BYTES SECONDS: a pipe that stops there for a moment, so that the
# job lasts longer than the 0.2 s after which a line is drawn
cat >slowly <<'END'
#!/bin/sh
head -c "$2" "$1"
sleep "$3"
tail -c +$(($2 + 1)) "$1"
END
chmod +x slowly

# shows PROGRAM[, JOB] REGEX COMMAND: on a terminal, no line wider than 80 columns
left='[0-9]+ %\), [0-9]+:[0-9][0-9] left'
shows() {
    what=$1 want=$2
    shift 2
    terminal "$*"
    tr '\r' '\n' <screen | sed "s/$(printf '\033')\\[K//" >lines
    like "$what prints its line" "$want" lines
    like "$what prints a closing line" "^${what%,*} 0[0-9.]+: .*wall" lines
    equal "progress of $what fits in a row" \
        "$(awk '/ left/ && length > 79' lines)" ''
    equal "the closing line of $what fits in two" \
        "$(grep ': .*wall' lines | awk 'length > 160')" ''
}
if has_terminal; then
    train='student -m new.json -t tok --lr 1e-3 --schedule constant'
    shows student "^student: training [0-9]+ of 50 steps \\($left, loss [0-9.]+, [0-9.]+/s$" \
        "./slowly b 40000 0.4 | $train -o run --steps 50"
    like 'the closing line tells speed, loss and place' \
        '^student .*: 50 steps, [0-9.]+ tokens/s, loss [0-9.]+, in run, wall' \
        lines
    # All that a pipe says where it is begun as in the man pages
    terminal 'stream -B 4 -T 64 --batches 3 data | teacher -m teacher |
        student -m s0 -o live --lr 1e-3'
    tr '\r' '\n' <screen | sed "s/$(printf '\033')\\[K//" >lines
    for p in stream teacher student; do
        like "$p has its closing line" "^$p [0-9.]+: .*wall" lines
    done
    equal 'no note takes more than two rows' "$(awk 'length > 160' lines)" ''
    like 'a count of tokens is not told as 0.00 M' '^stream .*: 768 tokens in 3 batches' \
        lines
    like 'losses of weight 0 are not told' \
        '^student: loss = 0.25 CE \+ 1 KL \(T = 1\) \+ 1 SquareHead$' lines
    ok 'a student without a teacher trains' student -m s0 -o alone --lr 1e-3 one
    like 'a student without a teacher has one loss' '^student: loss = 1 CE$' err
    stream -q --resume run data >rest
    shows 'student, resumed' '^student: training [56][0-9] of 60 steps' \
        "./slowly rest 9000 1.1 | $train -o run --steps 60 --resume"
    ok 'a resumed run has made its own steps only' awk '
        / of 60 steps/ { sub(/\/s.*/, ""); rate = $NF }
        END { exit !(rate > 0 && rate < 12) }' lines
    shows evalppl "^evalppl: scoring [0-9.]+( k)? of [0-9.]+ k tokens \\($left" \
        './slowly docs.st 300 0.4 |
            evalppl -m teacher -j 1 --protocol hf -c 256 --stride 16'
    shows 'evalppl, batches' "^evalppl: scoring [0-9.]+( k)? of 30.7 k tokens \\($left" \
        './slowly b 40000 0.4 | evalppl -m teacher'
    shows prune "^prune: searching [0-9]+ of [0-9]+ configurations \\($left" \
        'prune -m teacher -o cut --calib-rows 200 --method greedy --candidates 0 --ratio 0.3 b'
    yes '{"prompt": "a"}' | head -n 40 >prompts
    # 80 columns have room for the prompts only while numbers are short
    terminal 'stty cols 120; generate run -m teacher -j 1 --prompts prompts \
        -n 200 --at-once 1 >text'
    tr '\r' '\n' <screen >lines
    like 'a wider line of generate run counts the prompts' \
        "$left, [0-9]+ of 40 prompts" lines
    shows 'generate run' "^generate run: generating [0-9.]+( k)? of 8.04 k tokens \\($left" \
        'generate run -m teacher -j 1 --prompts prompts -n 200 --at-once 1 \
            >text'
    shows teacher "^teacher: computed [0-9.]+( k)? of 30.7 k tokens \\($left" \
        './slowly b 40000 0.4 | teacher -m teacher --final -o final'
    shows stream "^stream: streamed [0-9.]+( k)? of 15 k batches \\($left" \
        'mkfifo slow; { sleep 0.4; cat; } <slow >/dev/null &
        stream -B 8 -T 64 --batches 15000 data -o slow'
else
    skip 'progress on a terminal' 'no terminal: script(1) or /dev/pts is missing'
fi
done_testing
