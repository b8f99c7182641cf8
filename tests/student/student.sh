#!/bin/sh
# student: the same bytes from every way to train; kill, resume, damage
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

# distil RUN [option ...]: 20 steps from the file kd
distil() {
    run=$1
    shift
    student -q -m s0 -o "$run" --lr 1e-3 --save 5 "$@" kd
}

first_and_last || exit 1

# --- live and precomputed ---
batches >b
teacher -q -m teacher -o kd b || exit 1
status 0 'live: stream | teacher | student' sh -c \
    'stream -q -B 4 -T 64 -s 7 --batches 20 data | teacher -q -m teacher |
     student -q -m s0 -o live --lr 1e-3 --save 5'
status 0 'precomputed: shards of teacher' shard write -q -o kds kd
ok 'precomputed: replayed' sh -c \
    'stream -q -B 4 kds | student -q -m s0 -o cached --lr 1e-3 --save 5'
same_model 'live = precomputed' live cached
ok '20 steps from a file' distil run
same_model 'live = file' live run
equal 'metrics: a line a step' "$(wc -l <run/metrics.tsv)" 21
metrics run
metrics live
same 'metrics do not depend on the way either' run.metrics live.metrics
like 'but tell the time' '^20	.*	[0-9]+\.[0-9]{3}$' run/metrics.tsv
ok 'a teacher without its head' teacher -q -m teacher --no-head -o kdn b
status 3 'no head, no --teacher' student -q -m s0 -o none kdn
ok '--teacher' student -q -m s0 -o named --lr 1e-3 --teacher teacher kdn
same_model 'the same with --teacher' run named
ok 'only the mapped blocks' teacher -q -m teacher --final --hidden mapped \
    --student s0 -o kdm b
ok 'train on them' student -q -m s0 -o mapped --lr 1e-3 kdm
same_model 'mapped blocks are enough' run mapped

teacher -q -m teacher --dtype f32 -o kdf b || exit 1
ok 'states in f32' student -q -m s0 -o f32 --lr 1e-3 kdf
# a message is twice as long as what is read ahead
status 0 'little of them read ahead' sh -c \
    'cat kdf | student -q -m s0 -o ahead --lr 1e-3 --ahead 1'
same_model 'the same' f32 ahead

# --- what must not matter ---
ok '1 thread' distil j1 -j 1
same_model '1 thread = all' run j1
ok '2 threads' distil j2 -j 2
same_model '2 threads = all' run j2
ok '1 row at a time' distil m1 --micro 1
same_model '1 row at a time' run m1
ok '3 rows at a time' distil m3 --micro 3
same_model '3 rows at a time' run m3
ok 'recompute' distil rc --recompute
same_model 'recompute' run rc
ok 'a profile changes nothing' env RETORT_PROFILE=profile \
    student -q -m s0 -o profiled --lr 1e-3 --save 5 -j 2 kd
same_model 'profiled = not' run profiled
ok 'profile: 19 steps of 20, parts within what the processors did' awk -F '\t' '
    /^# steps / { split($0, w, " "); steps = w[3] }
    /^# cpu / { split($0, w, " "); cpu = w[3] }
    /^# peak / { split($0, w, " "); peak = w[3] }
    NF == 6 && $1 != "part" { n++; s += $3; flop += $4; exps += $6 }
    END { exit !(steps == 19 && n > 25 && s > 0 && s <= cpu && flop > 0 &&
        exps > 0 && peak > 2 && peak < 1000) }
    ' profile
ok 'no tapped hidden states in the loss' distil nosh --squarehead 0
status 1 '... which does matter' cmp -s run/model.safetensors \
    nosh/model.safetensors

# --- stop and go on ---
ok '10 steps' distil half --steps 10 --schedule constant
ok '20 steps in one go' distil whole --schedule constant
ok 'resumed stream' sh -c 'stream -q --resume half data >rest &&
    teacher -q -m teacher -o kdrest rest'
rm half/config.json
cp -r half early
ok '10 + 10' student -q -m s0 -o half --lr 1e-3 --schedule constant \
    --resume kdrest
same_model '10 + 10 = 20' half whole
metrics half
metrics whole
same '10 + 10 = 20 metrics' half.metrics whole.metrics
cp -r early cutlog
head -n 4 early/metrics.tsv >cutlog/metrics.tsv
cp -r early nolog
rm nolog/metrics.tsv
for r in cutlog=4 nolog=1; do
    ok "${r%=*}: resumed" student -m s0 -o "${r%=*}" --lr 1e-3 \
        --schedule constant --resume kdrest
    like '... what metrics.tsv has lost is said' \
        "metrics.tsv.*steps ${r#*=} to 10 .*missing" err
    same_model '... the model is the same' "${r%=*}" whole
done

# A checkpoint is written while the next step is made: it holds its own step.
ok 'a checkpoint each step' distil each --schedule constant --save 1 --keep 0
same_model 'the same end' each whole
ok '7 steps' distil seven --schedule constant --steps 7 --save 0
for f in model optimiser; do
    same "the 7th checkpoint is that of 7 steps: $f" \
        each/step-7/$f.safetensors seven/step-7/$f.safetensors
done
equal 'every one is there' "$(find each -name "step-*[0-9]" | wc -l)" 20
# Where the input breaks off inside a step, what that step has is dropped.
head -c 373000 kd >part
status 3 'one and a half steps of two messages' student -q -m s0 -o accum \
    --lr 1e-3 --schedule constant --grad-accum 2 --save 0 part
equal 'the one is saved' "$(find accum -name 'step-*')" accum/step-1

# kill -9 somewhere after a checkpoint, then take up
killed_at 6 killed student -q -m s0 --lr 1e-3 --save 2 --schedule constant
[ ! -e killed/config.json ] && pass 'a killed run is no model' ||
    fail 'a killed run is no model'
goes_on s0

status 2 'a run is not overwritten' distil run
status 2 'an epsilon of 0, by which unseen rows become NaN, is refused' \
    distil eps0 --eps 0
like '... it is named' 'eps' err
status 3 'a stream that does not follow the checkpoint' student -q -m s0 \
    -o half --resume --lr 1e-3 --steps 30 kd
like '... is told how to' 'stream --resume' err

# --- broken input ---
size=$(wc -c <kd)
head -c $((size - 100000)) kd >cutfile
status 3 'input breaks off' student -q -m s0 -o broken --lr 1e-3 cutfile
[ ! -e broken/config.json ] && pass 'nothing finished is exported' ||
    fail 'nothing finished is exported'
ls broken >ls.out
like 'the last complete step is kept' '^step-' ls.out
head -c $((size - 40)) kd >noend
status 3 'the end message is missing' student -q -m s0 -o cutend --lr 1e-3 \
    noend
status 3 'no stream at all' student -q -m s0 -o not "$top/LICENSE"
status 3 'empty input' student -q -m s0 -o not /dev/null
status 3 'documents, not batches' student -q -m s0 -o not docs.st
status 3 'weights of a teacher that is not there' student -q -m s0 -o not \
    --kl 1 b
status 3 'a damaged checkpoint is no model' sh -c \
    'cp -r half half2 && for d in half2/step-*; do
         printf x | dd of=$d/model.safetensors bs=1 seek=2000 conv=notrunc
     done && student -q -m s0 -o half2 --resume kdrest'

# --- a run is continued as it was begun ---
like 'its options are kept' '^    "lr": 0.001,$' early/options.json
rm -rf late && cp -r early late
cp late/options.json options.was
# changed WHAT option ...: is refused by that name, and nothing has changed
changed() {
    what=$1
    shift
    status 2 "another $what" student -q -m s0 -o late --lr 1e-3 \
        --schedule constant --resume "$@" kdrest
    like '... is named' "^student: late: was begun otherwise: $what is " err
    same '... the options stay' late/options.json options.was
    same '... and the log' late/metrics.tsv early/metrics.tsv
}
changed lr --lr 2e-3
changed schedule --schedule linear --override steps
changed ce --ce 0.5
changed kl --kl 2
changed grad-accum --grad-accum 2
changed warmup --warmup 3
changed weight-decay --weight-decay 0.1
changed model -m teacher --override lr
status 2 'all that differ' student -q -m s0 -o late --lr 2e-3 --warmup 1 \
    --schedule constant --resume kdrest
like '... are named at once' '; give what it was begun with, or --override lr,warmup$' err
status 2 '--override of nothing' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume --override threads kdrest
like '... says so' "nothing is called 'threads'" err
status 2 '--override without --resume' student -q -m s0 -o not \
    --override lr kd
ok 'what does not determine the result' student -m s0 -o late --lr 1e-3 \
    --schedule constant --resume -j 1 --micro 1 --recompute --ahead 1M \
    --save 3 --keep 1 --steps 12 kdrest
like '... says which checkpoint it takes' \
    '^student: late/step-10: resumed after step 10$' err
like '... and whose options' \
    '^student: late/options.json: continued with these options, of student ' err
rm -rf late && cp -r early late
ok '--override' student -m s0 -o late --lr 2e-3 --warmup 1 \
    --schedule constant --resume --override lr,warmup kdrest
like '... is noted' '^student: late: lr was 0.001, and is 0.002 after step 10$' \
    err
like '... and kept' '^      "was": 0.001,$' late/options.json
like '... the rate has changed' '^20	.*	0.002	' late/metrics.tsv
rm -rf late && cp -r early late
echo '{' >late/options.json
status 3 'damaged options' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume kdrest

# --- a finished run is left as it is ---
ok 'the rest of a finished run: no batch' sh -c \
    'stream -q --resume whole data >rest0 && teacher -q -m teacher -o kdrest0 rest0'
cp -r whole over && touch mark
# ended RUN WHAT option ...: nothing of the run is written
ended() {
    run=$1 what=$2
    shift 2
    ok "finished: $what" student -m s0 -o "$run" --lr 1e-3 --resume "$@"
    like '... is said' "^student: $run: .*finished" err
    equal '... and no file is written' "$(find "$run" -type f -newer mark)" ''
}
ended over 'nothing left' --schedule constant kdrest0
ended over 'weights of losses that no batch shows' --schedule constant --ce 0.25 \
    --kl 1 --squarehead 1 kdrest0
ended over 'not even a teacher' --schedule constant rest0
distil steps --steps 10 && touch mark || exit 1
stream -q --resume steps data | teacher -q -m teacher -o kdrest1 || exit 1
ended steps 'its steps are made' --steps 10 kdrest1
# refused WHAT option ...: nothing is left to train on, and this is another
refused() {
    what=$1
    shift
    status 2 "finished, another $what" student -q -m s0 -o over --lr 1e-3 \
        --schedule constant --resume "$@" kdrest0
    like '... is named' "^student: over: was begun otherwise: $what is " err
    equal '... and no file is written' "$(find over -type f -newer mark)" ''
}
refused lr --lr 2e-3
refused qat --qat q8_0
refused mask --mask 2:4
refused kl --kl 2
refused model -m teacher
rm over/config.json
ok 'one that was killed before its result' student -q -m s0 -o over --lr 1e-3 \
    --schedule constant --resume kdrest0
same '... has it now' over/config.json whole/config.json
same_model '... the same' over whole

# --- one at a time ---
rm -rf late && cp -r early late
(student -q -m s0 -o late --lr 1e-3 --schedule constant --resume pipe) 2>err &
exec 7>pipe
await grep -q process late/.lock
status 1 'a second student' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume kdrest
like '... names the first' \
    "^student: late: is in use by process [0-9]+ on $(uname -n)\$" err
cat kdrest >&7
exec 7>&-
wait
same_model '... which is not disturbed' late whole
[ ! -e late/.lock ] && pass 'its lock is gone' || fail 'its lock is gone'
echo 'process 1 on elsewhere' >late/.lock
rm -rf late/config.json late/step-20
student -q -m s0 -o late --lr 1e-3 --schedule constant --resume kdrest 2>err
unlike 'one that died holds no lock' 'in use' err

# --- what cannot be read is not nothing ---
# Descriptors run out at every place: an error, or all is as if they had not.
n=0
i=4
while [ $i -lt 24 ]; do
    rm -rf late && cp -r early late
    got=0
    prlimit --nofile=$i student -q -j 1 -m s0 -o late --lr 1e-3 \
        --schedule constant --steps 12 --resume kdrest 2>err || got=$?
    case $got in
    0) [ "$(wc -l <late/metrics.tsv)" = 13 ] || fail "$i: started anew" ;;
    1)
        n=$((n + 1))
        head -n 11 late/metrics.tsv | cmp -s - early/metrics.tsv ||
            fail "$i: its log is cut"
        ;;
    *) fail "$i descriptors: $got $(cat err)" ;;
    esac
    i=$((i + 1))
done
[ $n -gt 1 ] && pass "out of descriptors, $n times" || fail 'out of descriptors'
# unreadable WHAT FILE ...: a call on FILE that fails
unreadable() {
    what=$1
    shift
    rm -rf late && cp -r early late
    for inject in openat:EACCES openat:EIO openat:EMFILE; do
        status 1 "$what: $inject" strace -f -qq -o trace -P "$1" -e trace=openat \
            -e inject="${inject%:*}:error=${inject#*:}" student -q -m s0 \
            -o late --lr 1e-3 --schedule constant --resume kdrest
        like '... named' "^student: late.*: " err
        same '... its log is whole' late/metrics.tsv early/metrics.tsv
    done
}
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    unreadable 'the run' late
    unreadable 'a manifest' "late/step-10/manifest.json"
    unreadable 'a file of the newest' "late/step-10/model.safetensors"
    unreadable 'the log' late/metrics.tsv
    rm -rf late && cp -r early late
    status 1 'a folder that cannot be listed' strace -f -qq -o trace -P late \
        -e trace=getdents64 -e inject=getdents64:error=EIO student -q -m s0 \
        -o late --lr 1e-3 --schedule constant --resume kdrest
    status 1 '... by stream' strace -f -qq -o trace -P late \
        -e trace=getdents64 -e inject=getdents64:error=EIO \
        stream -q --resume late data
    rm -rf late
    status 1 'one that cannot be listed when it is hashed' strace -f -qq \
        -o trace -P "$PWD/late/step-20.tmp" -e trace=getdents64 \
        -e inject=getdents64:error=EIO student -q -m s0 -o late --lr 1e-3 kd
    equal '... is no checkpoint, but unfinished' \
        "$(find late -name 'step-*' -o -name .unfinished)" \
        "$(printf '%s\n' late/step-20.tmp late/step-20.tmp/.unfinished)"
else
    skip 'calls that fail' 'no strace'
fi

# --- files that are no files ---
rm -rf late && cp -r early late
for f in model.safetensors config.json manifest.json; do
    rm "late/step-10/$f"
    mkfifo "late/step-10/$f"
    got=0
    timeout 20 student -q -m s0 -o late --lr 1e-3 --resume kdrest 2>err ||
        got=$?
    case $got in 1 | 3) pass "a fifo $f of a checkpoint" ;;
    *) fail "a fifo $f of a checkpoint: $got" ;; esac
    rm "late/step-10/$f"
    cp "early/step-10/$f" "late/step-10/"
done
cp -r s0 zero
rm zero/model.safetensors
ln -s /dev/zero zero/model.safetensors
status 1 'a model that is /dev/zero' timeout 20 student -q -m zero -o not b
rm zero/model.safetensors
mkfifo zero/model.safetensors
status 1 'a model that is a fifo' timeout 20 student -q -m zero -o not b
rm zero/model.safetensors
mv zero/config.json kept.json
ln -s ../s0/model.safetensors zero/
ln -s ../kept.json zero/config.json
ok 'a model of links' student -q -m zero -o linked --steps 1 b

# --- a link in the way ---
mkdir precious
echo mine >precious/thesis
ok '10 steps' distil linked3 --schedule constant --steps 10 --save 0
rm linked3/config.json
ln -s ../precious linked3/step-1
mkdir linked3/step-00000010
ok '... beside a link' student -q -m s0 -o linked3 --lr 1e-3 \
    --schedule constant --save 1 --keep 1 --resume kdrest
equal 'what the link leads to stays' "$(cat precious/thesis)" mine
equal 'and the newest checkpoint' "$(find linked3 -name 'step-*' | sort)" \
    'linked3/step-00000010
linked3/step-20'

# --- batches that have nothing to learn ---
# A text three times, in rows that lack a token of it: what is left, three pieces
# of one token, is a row of its own, on a place that the seed says.
yes '{"text": "The keeper wrote the weather of every evening in a book."}' | sed 3q |
    tokenize -q -t tok --jsonl --no-eos | shard write -q -o left || exit 1
T=$(shard list -q left | awk 'END { print $3 / 3 - 1 }')
for s in 1 2 3; do
    ok "seed $s: four batches" sh -c "stream -q -B 1 -T $T -s $s left >left.$s"
    status 0 "seed $s: three steps" sh -c "teacher -q -m teacher left.$s |
        student -m s0 -o left-$s --lr 1e-3 --schedule constant --compute bf16"
    like 'the other is passed over' \
        'student: <stdin>: nothing is scored up to message [0-9]+: passed over' err
    equal 'and is no step' "$(tail -n 1 left-$s/metrics.tsv | cut -f 1)" 3
done
same_model 'wherever it is' left-1 left-2
same_model 'or anywhere else' left-1 left-3
# Gone on with behind it, whatever was saved before it.
status 0 'stopped before it' student -q -m s0 -o left-4 --lr 1e-3 --schedule constant --steps 1 left.1
status 0 'gone on with' sh -c 'stream -q --resume left-4 left |
    student -q -m s0 -o left-4 --lr 1e-3 --schedule constant --resume'
status 0 'without a teacher' student -q -m s0 -o left-5 --lr 1e-3 --schedule constant left.1
same_model 'as in one go' left-4 left-5
stream -q -B 1 -T 1 --batches 2 left >left.none
status 3 'nothing else' student -q -m s0 -o left-6 --lr 1e-3 left.none
like 'is nothing' 'student: left.none: no batches that are scored' err

# --- trap: ids of another tokenizer ---
cp -r s0 other
cp "$top/tests/golden/tok/gpt2.json" other/tokenizer.json
status 3 'trap wrong tokenizer: student' student -q -m other -o not b
like '... says so' 'another tokenizer' err
cp -r teacher oteacher
cp "$top/tests/golden/tok/gpt2.json" oteacher/tokenizer.json
status 3 'trap wrong tokenizer: teacher' teacher -q -m oteacher -o not.st b
sed 's/1024/1023/' new.json >narrow.json
ok 'trap vocabulary: the teacher has one more row' student \
    -m narrow.json -o onemore --steps 1 kd
like '... which is cut off, as the student is' "KL is over the tokenizer's \
[0-9]* ids: the teacher's vocabulary is 1024, the student's 1023" err
mkdir bare
cp s0/config.json s0/model.safetensors bare
ok 'a model without tokenizer files' student -q -m bare -o nt --steps 1 b
status 1 'a tokenizer that is not there' student -q -m bare -t none -o not b

# --- stopping ---
head -c $(($(wc -c <b) - 1000)) b >most     # 19 batches and a part
student -q -m s0 -o int --lr 1e-3 --save 0 pipe 2>err &
victim=$!
exec 7>pipe
cat most >&7
await grep -q '^19	' int/metrics.tsv
kill -INT $victim
exec 7>&-
got=0
wait $victim || got=$?
equal 'Ctrl-C: exit 5' "$got" 5
[ -d int/step-19 ] && pass 'Ctrl-C: the last step is saved' ||
    fail 'Ctrl-C: the last step is saved'

# --- a full disk ---
ok 'a run to be continued' distil disk --steps 5 --schedule constant
find disk/step-5 -type f -exec cksum {} + >before
ok 'the rest of its stream' sh -c \
    'stream -q --resume disk data | teacher -q -m teacher >rest2'
rm disk/config.json
status 1 'no room for a checkpoint' sh -c 'ulimit -f 100; trap "" XFSZ
    student -q -m s0 -o disk --lr 1e-3 --schedule constant --resume \
    --steps 10 rest2'
equal 'said once' "$(grep -c . err)" 1
find disk/step-5 -type f -exec cksum {} + >after
same 'the previous checkpoint is intact' before after
ls disk >ls.out
unlike 'and nothing half written is left' 'tmp' ls.out
status 1 'no room for one beside the training' sh -c 'ulimit -f 100
    trap "" XFSZ; student -q -m s0 -o disk --lr 1e-3 --schedule constant \
    --resume --save 2 rest2'
equal '... ends it soon after' "$(($(wc -l <disk/metrics.tsv) < 12))" 1
ls disk >ls.out
unlike '... and leaves nothing of it' 'tmp' ls.out
ok 'with room it goes on' student -q -m s0 -o disk --lr 1e-3 \
    --schedule constant --resume rest2
same_model '... to the same end' disk whole
done_testing
