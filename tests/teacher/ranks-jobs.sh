#!/bin/sh
# teacher over ranks beside other programs: a student's ranks, its memory, a rank
# that is stopped
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a teacher beside others' || done_testing
. "$top/tests/lib/ranks_teach.sh"
first_and_last || exit 1

# --- two programs under one mpirun ---
for r in 0 1; do
    stream -q -B 4 -T 64 -s 7 --batches 4 --rank $r/2 data -o in.$r
done
teaches='teacher -q -j 1 --mpi -m teacher --final'
learns='student -q -j 1 -m s0 --lr 1e-3 --deterministic'
say -o kd && $learns -o alone kd || exit 1
# shellcheck disable=SC2086 # lists
ok '2 teachers teach 2 students' mpirun -n 2 $teaches --hidden 0,2 \
    -o shm:t$$.%r in.%r : -n 2 $learns -o both shm:t$$.%r
same '2 teachers give the model of one' alone/model.safetensors both/model.safetensors
# shellcheck disable=SC2086
ok '1 teacher teaches 2 students' mpirun -n 1 $teaches --hidden 0,2 \
    -o shm:t$$.%r in.%r : -n 2 $learns -o one.two shm:t$$.%r
same '1 teacher of 2 students gives the same model' alone/model.safetensors one.two/model.safetensors
# shellcheck disable=SC2086
ok '2 teachers teach 1 student' mpirun -n 2 $teaches --hidden 0,2 \
    -o shm:t$$.%r b : -n 1 $learns -o two.one shm:t$$.%r
same '2 teachers of 1 student give the same model' alone/model.safetensors two.one/model.safetensors
stream -q -B 4 -T 64 -s 7 --batches 2 --rank 1/2 data -o short.1
stream -q -B 4 -T 64 -s 7 --batches 4 --rank 0/2 data -o short.0
# shellcheck disable=SC2086
for s in 1 2; do
    ok "$s teachers with a model in parts teach" mpirun -n $s $teaches --hidden 0,2 \
        --shard world --overlap -o shm:t$$.%r in.%r : \
        -n 2 $learns -o parts$s shm:t$$.%r
    same "$s teachers with a model in parts give the same model" alone/model.safetensors parts$s/model.safetensors
done
# shellcheck disable=SC2086
ok 'ranks of a model in parts end streams of different lengths' over 2 --shard world --overlap --final \
    -o short.kd%r short.%r
for r in 0 1; do
    ok "one process writes stream $r" teacher -q -m teacher --final -o long.kd short.$r
    same "stream $r has the bytes of one process" long.kd short.kd$r
done
# shellcheck disable=SC2086
ok '4 teachers, two of a model, teach 2 students' mpirun -n 4 $teaches --tensor 2 \
    -o shm:t$$.%r in.%r : -n 2 $learns --kl 1 -o four.two shm:t$$.%r
# shellcheck disable=SC2086
ok 'teachers end when their students leave' mpirun -n 2 $teaches -o shm:t$$.%r in.%r : \
    -n 2 $learns --steps 1 -o leave shm:t$$.%r
ok 'students that left have a model' test -e leave/model.safetensors

# --- memory of a rank ---
case $BUILD in
*address*)
    skip 'memory' 'a sanitizer has memory of its own'
    done_testing ;;
esac
llama big.json vocab_size 1024 hidden_size 512 intermediate_size 3072 \
    num_hidden_layers 12 num_attention_heads 16 num_key_value_heads 4 \
    head_dim 32
stream -q -B 1 -T 64 -s 1 --batches 1 -o few data
student -q -j 1 -m big.json -t tok -o big --steps 1 --schedule constant few ||
    exit 1
# peak FILE: MB, of the closing line
peak() { sed -n 's/.*peak \([0-9.]*\) MB.*/\1/p' "$1"; }
big() {
    n=$1
    shift
    ok "$n ranks run a large model: $*" mpirun -n "$n" teacher -j 1 --mpi "$@" -m big --final \
        -o not few
}
big 1
whole=$(peak err)
# 12 blocks of 5.4 M numbers of 4 bytes: a rank of 4 has less than one alone by
# three quarters of them, but for a block that is gathered
# less BLOCKS: the peak is less by those of this many, within a tenth
less() {
    if awk "BEGIN { w = $1 * 5373952 * 4e-6; d = $whole - $(peak err)
                    exit !(d > 0.9 * w && d < 1.1 * w) }"; then
        pass "a rank has $(peak err) MB, not $whole"
    else
        fail "a rank has $(peak err) MB, not $whole, of blocks of 22 MB"
    fi
}
big 4 --tensor 4
less 9
big 4 --shard world
less 8

# --- one is stopped ---
head -c $(($(wc -c <b) / 2)) b >half
# shellcheck disable=SC2016 # the ranks' shells expand it
{ cat half; sleep 20; } | mpirun -n 3 sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK
    exec teacher -j 1 --mpi --rank-timeout 2 -m teacher -o stopped' 2>lost &
job=$!
await grep -q '^teacher: 3 ranks' lost
sleep 2
kill -STOP "$(cat pid.2)"
wait $job
equal 'a stopped rank ends all with status 6' "$?" 6
like 'the message names the stopped rank' '^teacher: rank 2 \(process [0-9]+ on .*\) has not been heard of for [23]' lost

# --- one mapped copy of a model for all programs of a node ---
# Each of two teachers waits for a second batch that does not come.
stream -q -B 1 -T 64 -s 1 --batches 2 -o two data
mkfifo wait0 wait1
head -c $(($(wc -c <two) - 500)) two >most
teaching=
for r in 0 1; do
    teacher -q -j 1 -m big --final -o mapped$r wait$r 2>/dev/null &
    teaching="$teaching $!"
done
exec 3>wait0 4>wait1
cat most >&3
cat most >&4
# rollup KEY: kB of both
rollup() {
    for p in $teaching; do cat "/proc/$p/smaps_rollup"; done |
        awk -v key="$1:" '$1 == key { n += $2 } END { print n + 0 }'
}
# of 246 MiB of blocks each has all in memory, and a half is its own
mapped() {
    apart=$((($(rollup Rss) - $(rollup Pss)) / 1024))
    [ "$apart" -ge 235 ]
}
await mapped
if [ "$apart" -ge 235 ] && [ "$apart" -le 265 ]; then
    pass "two teachers share $apart MiB of a model"
else
    fail "two teachers share $apart MiB of a model"
fi
exec 3>&- 4>&-
wait

done_testing
