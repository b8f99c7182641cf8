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

echo 'Some words of a text.' >words.txt
status 3 'a text is refused' student -q -m s0 -o none words.txt
like 'the message says that it is text, and what makes tokens' \
    '^student: words.txt: is text, .*tokenize -t MODEL' err
# --- live and precomputed ---
batches >b
teacher -q -m teacher -o kd b || exit 1
status 0 'stream, teacher and student train live' sh -c \
    'stream -q -B 4 -T 64 -s 7 --batches 20 data | teacher -q -m teacher |
     student -q -m s0 -o live --lr 1e-3 --save 5'
status 0 "the teacher's stream is stored in shards" shard write -q -o kds kd
ok 'a student trains from shards' sh -c \
    'stream -q -B 4 kds | student -q -m s0 -o cached --lr 1e-3 --save 5'
same_model 'live and stored states give the same model' live cached
ok '20 steps from a file are made' distil run
same_model 'a live stream and a file give the same model' live run
equal 'the log has a line a step' "$(wc -l <run/metrics.tsv)" 21
metrics run
metrics live
same 'metrics do not depend on the way of the stream' run.metrics live.metrics
like 'the log tells the time of a step' '^20	.*	[0-9]+\.[0-9]{3}$' run/metrics.tsv
ok 'a teacher leaves its head out' teacher -q -m teacher --no-head -o kdn b
status 3 'a stream without a head is refused without --teacher' student -q -m s0 -o none kdn
status 3 'a model that --taught-by does not find is refused' student -q -m s0 -o none --taught-by nowhere kd
like 'the message says what --taught-by takes' 'nowhere: is neither a .gguf file nor a folder' err
ok '--teacher brings the head' student -q -m s0 -o named --lr 1e-3 --teacher teacher kdn
same_model 'the head of --teacher gives the same model' run named
ok 'the teacher sends only mapped blocks' teacher -q -m teacher --final --hidden mapped \
    --student s0 -o kdm b
ok 'a student trains on mapped blocks' student -q -m s0 -o mapped --lr 1e-3 kdm
same_model 'mapped blocks give the same model' run mapped

teacher -q -m teacher --dtype f32 -o kdf b || exit 1
ok 'states in f32 train a student' student -q -m s0 -o f32 --lr 1e-3 kdf
# a message is twice as long as what is read ahead
status 0 'a student reads little of them ahead' sh -c \
    'cat kdf | student -q -m s0 -o ahead --lr 1e-3 --ahead 1'
same_model '--ahead changes no bit' f32 ahead

# --- what must not matter ---
ok '1 thread trains a student' distil j1 -j 1
same_model '1 thread gives the bits of all' run j1
ok '2 threads train a student' distil j2 -j 2
same_model '2 threads give the bits of all' run j2
ok '1 row at a time trains a student' distil m1 --micro 1
same_model '1 row at a time gives the same bits' run m1
ok '3 rows at a time train a student' distil m3 --micro 3
same_model '3 rows at a time give the same bits' run m3
ok '--recompute trains a student' distil rc --recompute
same_model '--recompute gives the same bits' run rc
ok 'a run with a profile trains' env RETORT_PROFILE=profile \
    student -q -m s0 -o profiled --lr 1e-3 --save 5 -j 2 kd
same_model 'a profile changes no bit' run profiled
ok 'the profile has 19 steps, and parts within what the processors did' awk -F '\t' '
    /^# steps / { split($0, w, " "); steps = w[3] }
    /^# cpu / { split($0, w, " "); cpu = w[3] }
    /^# peak / { split($0, w, " "); peak = w[3] }
    NF == 6 && $1 != "part" { n++; s += $3; flop += $4; exps += $6 }
    END { exit !(steps == 19 && n > 25 && s > 0 && s <= cpu && flop > 0 &&
        exps > 0 && peak > 2 && peak < 1000) }
    ' profile
ok 'a student trains without SquareHead' distil nosh --squarehead 0
status 1 'SquareHead changes the model' cmp -s run/model.safetensors \
    nosh/model.safetensors

# --- stop and go on ---
ok '10 steps of a constant rate are made' distil half --steps 10 --schedule constant
ok '20 steps are made in one go' distil whole --schedule constant
ok 'the stream is resumed after 10 steps' sh -c 'stream -q --resume half data >rest &&
    teacher -q -m teacher -o kdrest rest'
rm half/config.json
cp -r half early
ok '10 more steps are made' student -q -m s0 -o half --lr 1e-3 --schedule constant \
    --resume -- kdrest
same_model '10 and 10 steps have the bits of 20' half whole
metrics half
metrics whole
same '10 and 10 steps have the metrics of 20' half.metrics whole.metrics
cp -r early cutlog
head -n 4 early/metrics.tsv >cutlog/metrics.tsv
cp -r early nolog
rm nolog/metrics.tsv
for r in cutlog=4 nolog=1; do
    ok "${r%=*} is resumed" student -m s0 -o "${r%=*}" --lr 1e-3 \
        --schedule constant --resume -- kdrest
    like "${r%=*} tells which lines metrics.tsv has lost" \
        "metrics.tsv.*steps ${r#*=} to 10 .*missing" err
    same_model "${r%=*} ends with the same model" "${r%=*}" whole
done

# A checkpoint is written while the next step is made: it holds its own step.
ok 'every step has a checkpoint' distil each --schedule constant --save 1 --keep 0
same_model 'checkpoints change no bit' each whole
ok '7 steps are made' distil seven --schedule constant --steps 7 --save 0
for f in model optimiser; do
    same "the 7th checkpoint is that of 7 steps: $f" \
        each/step-7/$f.safetensors seven/step-7/$f.safetensors
done
equal 'all 20 checkpoints are there' "$(find each -name "step-*[0-9]" | wc -l)" 20
# Where the input breaks off inside a step, what that step has is dropped.
head -c 373000 kd >part
status 3 'a stream that breaks off in the second step exits 3' student -q -m s0 -o accum \
    --lr 1e-3 --schedule constant --grad-accum 2 --save 0 part
equal 'the first step is saved' "$(find accum -name 'step-*')" accum/step-1

# kill -9 somewhere after a checkpoint, then take up
killed_at 6 killed student -q -m s0 --lr 1e-3 --save 2 --schedule constant
[ ! -e killed/config.json ] && pass 'a killed run is no model' ||
    fail 'a killed run is no model'
goes_on s0

status 2 'a run is not overwritten' distil run
status 2 'an epsilon of 0, by which unseen rows become NaN, is refused' \
    distil eps0 --adam 0.9,0.95,0
like 'the message names --adam and eps' 'adam.*eps' err
status 3 'a stream that does not follow the checkpoint is refused' sh -c 'cat kd |
    student -q -m s0 -o half --resume --lr 1e-3 --steps 30'
like 'the message tells to resume the stream' 'stream --resume' err

# --- broken input ---
size=$(wc -c <kd)
head -c $((size - 100000)) kd >cutfile
status 3 'input that breaks off exits 3' student -q -m s0 -o broken --lr 1e-3 cutfile
[ ! -e broken/config.json ] && pass 'nothing finished is exported' ||
    fail 'no model is written of a broken stream'
ls broken >ls.out
like 'the last complete step is kept' '^step-' ls.out
head -c $((size - 40)) kd >noend
status 3 'a stream without its end message exits 3' student -q -m s0 -o cutend --lr 1e-3 \
    noend
status 3 'a text is refused as a stream' student -q -m s0 -o not "$top/LICENSE"
status 3 'empty input is refused' student -q -m s0 -o not /dev/null
status 3 'documents are refused as batches' student -q -m s0 -o not docs.st
status 3 'weights for a teacher that is not there are refused' student -q -m s0 -o not \
    --kl 1 b
status 3 'a damaged checkpoint is no model' sh -c \
    'cp -r half half2 && for d in half2/step-*; do
         printf x | dd of=$d/model.safetensors bs=1 seek=2000 conv=notrunc
     done && student -q -m s0 -o half2 --resume -- kdrest'

# --- a run is continued as it was begun ---
like 'the options of a run are kept' '^    "lr": 0.001,$' early/options.json
rm -rf late && cp -r early late
cp late/options.json options.was
# changed WHAT option ...: is refused by that name, and nothing has changed
changed() {
    what=$1
    shift
    status 2 "another $what is refused" student -q -m s0 -o late --lr 1e-3 \
        --schedule constant --resume "$@" -- kdrest
    like "the message names $what" "^student: late: was begun otherwise: $what is " err
    same "the options stay after another $what" late/options.json options.was
    same "the log stays after another $what" late/metrics.tsv early/metrics.tsv
}
changed lr --lr 2e-3
changed schedule --schedule linear --override steps
changed ce --ce 0.5
changed kl --kl 2
changed grad-accum --grad-accum 2
changed warmup --warmup 3
changed weight-decay --weight-decay 0.1
changed model -m teacher --override lr
status 2 'several options that differ are refused' student -q -m s0 -o late --lr 2e-3 --warmup 1 \
    --schedule constant --resume -- kdrest
like 'all options that differ are named at once' '; give what it was begun with, or --override lr,warmup$' err
status 2 '--override of an option that is not compared is refused' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume --override threads kdrest
like 'the message names the option threads' '--override.*threads.*is not a name' err
status 2 '--override without --resume is refused' student -q -m s0 -o not \
    --override lr kd
ok 'options that do not determine the result may change' student -m s0 -o late --lr 1e-3 \
    --schedule constant --resume -j 1 --micro 1 --recompute --ahead 1M \
    --save 3 --keep 1 --steps 12 kdrest
like 'the note tells which checkpoint is taken' \
    '^student: late/step-10: resumed after step 10$' err
like 'the note tells whose options are taken' \
    '^student: late/options.json: continued with these options, of student ' err
rm -rf late && cp -r early late
ok '--override changes the rate' student -m s0 -o late --lr 2e-3 --warmup 1 \
    --schedule constant --resume --override lr,warmup kdrest
like 'the change of the rate is noted' '^student: late: lr was 0.001, and is 0.002 after step 10$' \
    err
like 'options.json keeps the rate before' '^      "was": 0.001,$' late/options.json
like 'the log has the changed rate' '^20	.*	0.002	' late/metrics.tsv
rm -rf late && cp -r early late
echo '{' >late/options.json
status 3 'damaged options are refused' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume -- kdrest

# --- a finished run is left as it is ---
ok 'a finished run has no batch left' sh -c \
    'stream -q --resume whole data >rest0 && teacher -q -m teacher -o kdrest0 rest0'
cp -r whole over && touch mark
# ended RUN WHAT option ...: nothing of the run is written
ended() {
    run=$1 what=$2
    shift 2
    ok "a finished run goes on: $what" student -m s0 -o "$run" --lr 1e-3 --resume "$@"
    like "the run is called finished: $what" "^student: $run: .*finished" err
    equal "no file is written: $what" "$(find "$run" -type f -newer mark)" ''
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
    status 2 "a finished run refuses another $what" student -q -m s0 -o over --lr 1e-3 \
        --schedule constant --resume "$@" -- kdrest0
    like "the message of a finished run names $what" "^student: over: was begun otherwise: $what is " err
    equal "a finished run writes no file after another $what" "$(find over -type f -newer mark)" ''
}
refused lr --lr 2e-3
refused qat --qat q8_0
refused mask --mask 2:4
refused kl --kl 2
refused model -m teacher
rm over/config.json
ok 'a run that was killed before its result goes on' student -q -m s0 -o over --lr 1e-3 \
    --schedule constant --resume -- kdrest0
same 'the run writes its config.json' over/config.json whole/config.json
same_model 'the run writes the same model' over whole

# --- one at a time ---
rm -rf late && cp -r early late
(student -q -m s0 -o late --lr 1e-3 --schedule constant --resume -- pipe) 2>err &
exec 7>pipe
await grep -q process late/.lock
status 1 'a second student of a run is refused' student -q -m s0 -o late --lr 1e-3 \
    --schedule constant --resume -- kdrest
like 'the message names the first student' \
    "^student: late: is in use by process [0-9]+ on $(uname -n)\$" err
cat kdrest >&7
exec 7>&-
wait
same_model 'the first student is not disturbed' late whole
[ ! -e late/.lock ] && pass 'its lock is gone' || fail 'its lock is gone'
echo 'process 1 on elsewhere' >late/.lock
rm -rf late/config.json late/step-20
student -q -m s0 -o late --lr 1e-3 --schedule constant --resume -- kdrest 2>err
unlike 'a student that died holds no lock' 'in use' err

# --- what cannot be read is not nothing ---
# Descriptors run out at every place: an error, or all is as if they had not.
n=0
i=4
while [ $i -lt 24 ]; do
    rm -rf late && cp -r early late
    got=0
    prlimit --nofile=$i student -q -j 1 -m s0 -o late --lr 1e-3 \
        --schedule constant --steps 12 --resume -- kdrest 2>err || got=$?
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
        status 1 "$what that cannot be read fails with $inject" strace -f -qq -o trace -P "$1" -e trace=openat \
            -e inject="${inject%:*}:error=${inject#*:}" student -q -m s0 \
            -o late --lr 1e-3 --schedule constant --resume -- kdrest
        like "the message of $inject names $what" "^student: late.*: " err
        same "the log is whole after $inject at $what" late/metrics.tsv early/metrics.tsv
    done
}
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    unreadable 'the run' late
    unreadable 'a manifest' "late/step-10/manifest.json"
    unreadable 'a file of the newest' "late/step-10/model.safetensors"
    unreadable 'the log' late/metrics.tsv
    rm -rf late && cp -r early late
    status 1 'a folder that cannot be listed is an error' strace -f -qq -o trace -P late \
        -e trace=getdents64 -e inject=getdents64:error=EIO student -q -m s0 \
        -o late --lr 1e-3 --schedule constant --resume -- kdrest
    status 1 'a folder that cannot be listed is an error of stream' strace -f -qq -o trace -P late \
        -e trace=getdents64 -e inject=getdents64:error=EIO \
        stream -q --resume late data
    rm -rf late
    status 1 'a checkpoint that cannot be listed when it is hashed is an error' strace -f -qq \
        -o trace -P "$PWD/late/step-20.tmp" -e trace=getdents64 \
        -e inject=getdents64:error=EIO student -q -m s0 -o late --lr 1e-3 kd
    equal 'a checkpoint that cannot be hashed stays unfinished' \
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
    timeout 20 student -q -m s0 -o late --lr 1e-3 --resume -- kdrest 2>err ||
        got=$?
    case $got in 1 | 3) pass "a fifo $f of a checkpoint" ;;
    *) fail "a fifo $f of a checkpoint: $got" ;; esac
    rm "late/step-10/$f"
    cp "early/step-10/$f" "late/step-10/"
done
cp -r s0 zero
rm zero/model.safetensors
ln -s /dev/zero zero/model.safetensors
status 1 'a model that is /dev/zero is refused' timeout 20 student -q -m zero -o not b
rm zero/model.safetensors
mkfifo zero/model.safetensors
status 1 'a model that is a fifo is refused' timeout 20 student -q -m zero -o not b
rm zero/model.safetensors
mv zero/config.json kept.json
ln -s ../s0/model.safetensors zero/
ln -s ../kept.json zero/config.json
ok 'a model of links trains' student -q -m zero -o linked --steps 1 b

# --- a link in the way ---
mkdir precious
echo mine >precious/thesis
ok '10 steps are made for a run with a link' distil linked3 --schedule constant --steps 10 --save 0
rm linked3/config.json
ln -s ../precious linked3/step-1
mkdir linked3/step-00000010
ok 'a run with a link beside its checkpoints goes on' student -q -m s0 -o linked3 --lr 1e-3 \
    --schedule constant --save 1 --keep 1 --resume -- kdrest
equal 'the folder that a link leads to stays' "$(cat precious/thesis)" mine
equal 'the newest checkpoint stays beside the link' "$(find linked3 -name 'step-*' | sort)" \
    'linked3/step-00000010
linked3/step-20'

# --- batches that have nothing to learn ---
# A text three times, in rows that lack a token of it: what is left, three pieces
# of one token, is a row of its own, on a place that the seed says.
yes '{"text": "The keeper wrote the weather of every evening in a book."}' | sed 3q |
    tokenize -q -t tok --jsonl --no-eos | shard write -q -o left || exit 1
T=$(shard list -q left | awk 'END { print $3 / 3 - 1 }')
for s in 1 2 3; do
    ok "four batches of seed $s are made" sh -c "stream -q -B 1 -T $T -s $s left >left.$s"
    status 0 "three steps of seed $s are made" sh -c "teacher -q -m teacher left.$s |
        student -m s0 -o left-$s --lr 1e-3 --schedule constant --compute bf16"
    like "the batch of seed $s without scored tokens is passed over" \
        'student: <stdin>: nothing is scored up to message [0-9]+: passed over' err
    equal "the batch of seed $s is no step" "$(tail -n 1 left-$s/metrics.tsv | cut -f 1)" 3
done
same_model 'the place of such a batch changes no bit' left-1 left-2
same_model 'another place of such a batch changes no bit' left-1 left-3
# Gone on with behind it, whatever was saved before it.
status 0 'a run is stopped before such a batch' student -q -m s0 -o left-4 --lr 1e-3 --schedule constant --steps 1 left.1
status 0 'the run goes on with such a batch' sh -c 'stream -q --resume left-4 left |
    student -q -m s0 -o left-4 --lr 1e-3 --schedule constant --resume'
status 0 'a run without a teacher passes over it' student -q -m s0 -o left-5 --lr 1e-3 --schedule constant left.1
same_model 'the run in two parts has the same model' left-4 left-5
stream -q -B 1 -T 1 --batches 2 left >left.none
status 3 'a stream of nothing else exits 3' student -q -m s0 -o left-6 --lr 1e-3 left.none
like 'the message tells that nothing is scored' 'student: left.none: no batches that are scored' err

# --- trap: ids of another tokenizer ---
cp -r s0 other
cp "$top/tests/golden/tok/gpt2.json" other/tokenizer.json
status 3 'a student of another tokenizer refuses the stream' student -q -m other -o not b
like 'the message names the tokenizer' 'another tokenizer' err
cp -r teacher oteacher
cp "$top/tests/golden/tok/gpt2.json" oteacher/tokenizer.json
status 3 'a teacher of another tokenizer refuses the stream' teacher -q -m oteacher -o not.st b
sed 's/1024/1023/' new.json >narrow.json
ok 'a teacher with one more row teaches' student \
    -m narrow.json -o onemore --steps 1 kd
like 'the note tells which ids are compared' "KL is over the tokenizer's \
[0-9]* ids: the teacher's vocabulary is 1024, the student's 1023" err
mkdir bare
cp s0/config.json s0/model.safetensors bare
ok 'a model without tokenizer files trains' student -q -m bare -o nt --steps 1 b
status 1 'a tokenizer that is not there is refused' student -q -m bare -t none -o not b

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
equal 'Ctrl-C ends the run with status 5' "$got" 5
[ -d int/step-19 ] && pass 'Ctrl-C: the last step is saved' ||
    fail 'Ctrl-C saves the last step'

# --- a full disk ---
ok 'a run to be continued is made' distil disk --steps 5 --schedule constant
find disk/step-5 -type f -exec cksum {} + >before
ok 'the rest of its stream is made' sh -c \
    'stream -q --resume disk data | teacher -q -m teacher >rest2'
rm disk/config.json
status 1 'a checkpoint without room ends the run with status 1' sh -c 'ulimit -f 100; trap "" XFSZ
    student -q -m s0 -o disk --lr 1e-3 --schedule constant --resume \
    --steps 10 rest2'
equal 'the message is printed once' "$(grep -c . err)" 1
find disk/step-5 -type f -exec cksum {} + >after
same 'the checkpoint before is intact' before after
ls disk >ls.out
unlike 'nothing half written is left' 'tmp' ls.out
status 1 'a checkpoint beside the training fails without room' sh -c 'ulimit -f 100
    trap "" XFSZ; student -q -m s0 -o disk --lr 1e-3 --schedule constant \
    --resume --save 2 rest2'
equal 'the run ends soon after the failure' "$(($(wc -l <disk/metrics.tsv) < 12))" 1
ls disk >ls.out
unlike 'the failed checkpoint leaves nothing' 'tmp' ls.out
ok 'a run with room goes on' student -q -m s0 -o disk --lr 1e-3 \
    --schedule constant --resume -- rest2
same_model 'the run with room ends with the same model' disk whole
done_testing
