#!/bin/sh
# teacher over ranks: each with rows of its own, or a share of the model
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a teacher over ranks' || done_testing
. "$top/tests/lib/train.sh"
first_and_last || exit 1
batches 4 >b
say() { teacher -q -m teacher --hidden 0,2 --final "$@" b; }
over() { tap_n=$1; shift; mpirun -n "$tap_n" teacher -q -j 1 --mpi -m teacher "$@"; }
near_1e6() {
    tap_far=$("$BUILD/tests/teacher/apart" "$2" "$3")
    if awk "BEGIN { exit !($tap_far <= 1e-6) }"; then pass "$1: $tap_far"
    else fail "$1: $tap_far"; fi
}

# --- rows of one stream ---
ok 'one process' say -o one
ok 'one rank' over 1 --hidden 0,2 --final -o rank b
same 'the same bytes' one rank
for n in 2 3 8; do
    ok "$n ranks, each some rows" over $n --hidden 0,2 --final -o rows$n b
    same 'the same bytes' one rows$n
done
ok 'tokens and draws' teacher -q -m teacher --top 8 --sample 5 -o top b
ok 'of 3 ranks' over 3 --top 8 --sample 5 -o top3 b
same 'the same bytes' top top3

# --- a share of the model ---
ok 'one process, fp32' say --dtype f32 -o one32
for n in 2 4; do
    ok "shares of $n ranks" over $n --tensor $n --hidden 0,2 --final \
        --dtype f32 -o shared$n b
    near_1e6 'within 1e-6' one32 shared$n
    ok 'again' over $n --tensor $n --hidden 0,2 --final --dtype f32 -o again b
    same 'the same bytes' shared$n again
    status 1 'which are others than one process has' cmp -s one32 shared$n
done
ok 'their tokens' over 4 --tensor 4 --top 8 --dtype f32 -o top4 b
ok 'of one process' teacher -q -m teacher --top 8 --dtype f32 -o top1 b
near_1e6 'within 1e-6' top1 top4
status 0 'from standard input' sh -c \
    'mpirun -n 2 teacher -q -j 1 --mpi --tensor 2 -m teacher --hidden 0,2 \
     --final --dtype f32 -o piped <b'
same 'the same bytes' shared2 piped

# --- parts of blocks, gathered ---
ok 'one rank' over 1 --shard world --hidden 0,2 --final -o parts b
same 'the same bytes' one parts
for n in 2 3; do
    ok "parts on $n ranks" over $n --shard world --hidden 0,2 --final -o parts b
    same 'the same bytes' one parts
done
for how in '' --overlap; do
    # shellcheck disable=SC2086 # a word, or none
    ok "more ranks than rows $how" over 6 --shard world $how --hidden 0,2 \
        --final -o parts b
    same 'the same bytes' one parts
done
ok 'parts in each of 2 nodes' env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 \
    --mpi --shard node -m teacher --hidden 0,2 --final -o parts b
same 'the same bytes' one parts
ok '... gathered ahead' env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 --mpi \
    --shard node --overlap -m teacher --hidden 0,2 --final -o parts b
same 'the same bytes' one parts
ok 'a log' over 2 --shard world --comm-log comm --final -o parts b
like 'of the blocks, in 4 batches' \
    '^all_gather_into_tensor.world.2.12.43008.21504.21504.' comm.tsv
# gathers LOG: of blocks, and whether a rank did something meanwhile
gathers() {
    cat "$1.tsv" "$1-1.tsv" | awk -F '\t' '
        $5 == 43008 { n += $4; hidden += $13 } END { print n, (hidden > 0) }'
}
stream -q -B 4 -T 512 -s 1 --batches 2 -o wide data || exit 1
ok 'gathered in turn' over 2 --shard world --comm-log turn --final -o turn wide
ok 'gathered ahead' over 2 --shard world --overlap --comm-log ahead --final \
    -o ahead wide
same 'the same bytes' turn ahead
equal 'as many' "$(gathers turn), $(gathers ahead)" '12 0, 12 1'
ok 'the first two blocks alone' over 2 --shard world --overlap \
    --comm-log first --hidden 1 -o first b
ok 'of one process' teacher -q -m teacher --hidden 1 -o first1 b
same 'the same bytes' first1 first
like 'are gathered, once' '^all_gather_into_tensor.world.2.2.43008.' first.tsv
# of 2 nodes: each half of a block's parts crosses once, then goes round a node
for how in '' --overlap; do
    # shellcheck disable=SC2086 # a word, or none
    ok "2 nodes of 2 ranks $how" env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 \
        --mpi --shard world $how -m teacher --comm-log nodes --hidden 0,2 \
        --final -o parts b
    same 'the same bytes' one parts
    like 'across the nodes' \
        '^all_gather_into_tensor.across.2.12.21504.10752.10752.' nodes.tsv
    like 'and in each' \
        '^all_gather_into_tensor.node.2.12.43008.21504.21504.' nodes.tsv
done
ok 'tokens' over 2 --shard world --top 8 --sample 5 -o top2 b
same 'the same bytes' top top2

# --- rows that ranks share ---
stream -q -B 2 -T 1200 -s 1 --batches 2 -o long data || exit 1
ok 'long rows, one process' teacher -q -m teacher --hidden 0,2 --final \
    -o long1 long
for n in 2 3 5; do # of 3 tiles
    ok "$n ranks" over $n --context-ranks $n --hidden 0,2 --final -o longn long
    same 'the same bytes' long1 longn
done
ok 'tokens' teacher -q -m teacher --top 4 -o long1 long
ok 'of 2 ranks' over 2 --context-ranks 2 --top 4 -o longn long
same 'the same bytes' long1 longn
status 2 'no more ranks than there are' over 2 --context-ranks 4 --final -o not long

# --- two programs under one mpirun ---
in_rows() {
    for r in $(seq 0 $(($1 - 1))); do
        stream -q -B 4 -T 64 -s 7 --batches 4 --rank "$r/$1" data -o "in.$r"
    done
}
teaches='teacher -q -j 1 --mpi -m teacher --final'
learns='student -q -j 1 -m s0 --lr 1e-3 --deterministic'
say -o kd && $learns -o alone kd || exit 1
in_rows 2
# shellcheck disable=SC2086 # lists
ok '2 teachers, 2 students' mpirun -n 2 $teaches --hidden 0,2 \
    -o shm:t$$.%r in.%r : -n 2 $learns -o both shm:t$$.%r
same 'what one student has' alone/model.safetensors both/model.safetensors
# shellcheck disable=SC2086
ok '1 teacher, 2 students' mpirun -n 1 $teaches --hidden 0,2 \
    -o shm:t$$.%r in.%r : -n 2 $learns -o one.two shm:t$$.%r
same 'the same' alone/model.safetensors one.two/model.safetensors
# shellcheck disable=SC2086
ok '2 teachers, 1 student' mpirun -n 2 $teaches --hidden 0,2 \
    -o shm:t$$.%r b : -n 1 $learns -o two.one shm:t$$.%r
same 'the same' alone/model.safetensors two.one/model.safetensors
stream -q -B 4 -T 64 -s 7 --batches 2 --rank 1/2 data -o short.1
stream -q -B 4 -T 64 -s 7 --batches 4 --rank 0/2 data -o short.0
# shellcheck disable=SC2086
for s in 1 2; do
    ok "$s teachers of a model in parts" mpirun -n $s $teaches --hidden 0,2 \
        --shard world --overlap -o shm:t$$.%r in.%r : \
        -n 2 $learns -o parts$s shm:t$$.%r
    same 'the same' alone/model.safetensors parts$s/model.safetensors
done
# shellcheck disable=SC2086
ok 'streams of different lengths' over 2 --shard world --overlap --final \
    -o short.kd%r short.%r
for r in 0 1; do
    ok 'one process' teacher -q -m teacher --final -o long.kd short.$r
    same 'the same bytes' long.kd short.kd$r
done
# shellcheck disable=SC2086
ok '4 teachers, two of a model, 2 students' mpirun -n 4 $teaches --tensor 2 \
    -o shm:t$$.%r in.%r : -n 2 $learns --kl 1 -o four.two shm:t$$.%r
# shellcheck disable=SC2086
ok 'students that leave' mpirun -n 2 $teaches -o shm:t$$.%r in.%r : \
    -n 2 $learns --steps 1 -o leave shm:t$$.%r
ok 'have a model' test -e leave/model.safetensors

# --- what is refused ---
status 2 'more ranks than heads' over 8 --tensor 8 --final -o not b
like 'says so' 'teacher: 4 query heads cannot be shared by 8 ranks' err
status 2 'ranks that are no groups' over 3 --tensor 2 --final -o not b
like 'says so' '--tensor 2: does not divide 3 ranks' err
status 2 'shares without ranks' say --tensor 2 -o not
status 2 'one input for several streams' over 2 --final -o not.%r b
like 'says so' 'one input for several streams' err
status 2 'both' over 2 --tensor 2 --shard node --final -o not b
status 2 'nothing to gather ahead' over 2 --overlap --final -o not b
status 2 'texts' over 2 --generate x
head -c $(($(wc -c <b) - 200)) b >broken
status 3 'damage ends all ranks' over 2 --tensor 2 --final -o not broken
ok 'not named as whole' test ! -e not

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
    ok "big: $n ranks $*" mpirun -n "$n" teacher -j 1 --mpi "$@" -m big --final \
        -o not few
}
big 1
whole=$(peak err)
# 12 blocks of 5.4 M numbers of 4 bytes: a rank of 4 has less than one alone by
# three quarters of them, but for a block that is gathered
# less BLOCKS: the peak is less by those of so many, within a tenth
less() {
    if awk "BEGIN { w = $1 * 5373952 * 4e-6; d = $whole - $(peak err)
                    exit !(d > 0.9 * w && d < 1.1 * w) }"; then
        pass "has $(peak err) MB, not $whole"
    else
        fail "has $(peak err) MB, not $whole, of blocks of 22 MB"
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
equal 'a rank is stopped: all end with 6' "$?" 6
like 'it is named' '^teacher: rank 2 \(process [0-9]+ on .*\) has not been heard of for [23]' lost

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
