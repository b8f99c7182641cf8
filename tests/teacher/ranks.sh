#!/bin/sh
# teacher over ranks: each with rows of its own, or a share of the model
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a teacher over ranks' || done_testing
. "$top/tests/lib/ranks_teach.sh"
apart() { "$BUILD/tests/teacher/apart" "$1" "$2"; }

# --- rows of one stream ---
ok 'one process writes states' say -o one
ok 'one rank writes states' over 1 --hidden 0,2 --final -o rank b
same 'one rank has the bytes of one process' one rank
for n in 2 3 8; do
    ok "$n ranks take some rows each" over $n --hidden 0,2 --final -o rows$n b
    same "$n ranks have the bytes of one process" one rows$n
done
ok 'one process writes tokens and draws' teacher -q -m teacher --top 8 --sample 5 -o top b
ok '3 ranks write tokens and draws' over 3 --top 8 --sample 5 -o top3 b
same '3 ranks have the same tokens and draws' top top3

# --- a share of the model ---
ok 'one process writes states in fp32' say --dtype f32 -o one32
for n in 2 4; do
    ok "$n ranks have shares of the model" over $n --tensor $n --hidden 0,2 --final \
        --dtype f32 -o shared$n b
    near_1e6 "shares of $n ranks are within 1e-6 of one process" "$(apart one32 shared$n)"
    ok "$n ranks with shares run again" over $n --tensor $n --hidden 0,2 --final --dtype f32 -o again b
    same "$n ranks with shares repeat their bytes" shared$n again
    status 1 "$n ranks with shares have other bytes than one process" cmp -s one32 shared$n
done
ok '4 ranks with shares write tokens' over 4 --tensor 4 --top 8 --dtype f32 -o top4 b
ok 'one process writes tokens in fp32' teacher -q -m teacher --top 8 --dtype f32 -o top1 b
near_1e6 'tokens of shares are within 1e-6 of one process' "$(apart top1 top4)"
status 0 'ranks with shares read standard input' sh -c \
    'mpirun -n 2 teacher -q -j 1 --mpi --tensor 2 -m teacher --hidden 0,2 \
     --final --dtype f32 -o piped <b'
same 'standard input gives the same bytes' shared2 piped

# --- parts of blocks, gathered ---
ok 'one rank runs a model in parts' over 1 --shard world --hidden 0,2 --final -o parts b
same 'one rank with parts has the same bytes' one parts
for n in 2 3; do
    ok "$n ranks run a model in parts" over $n --shard world --hidden 0,2 --final -o parts b
    same "$n ranks with parts have the same bytes" one parts
done
for how in '' --overlap; do
    # shellcheck disable=SC2086 # a word, or none
    ok "more ranks than rows run $how" over 6 --shard world $how --hidden 0,2 \
        --final -o parts b
    same "more ranks than rows have the same bytes $how" one parts
done
ok 'each of 2 nodes has the parts' env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 \
    --mpi --shard node -m teacher --hidden 0,2 --final -o parts b
same 'parts in nodes have the same bytes' one parts
ok 'parts in nodes are gathered ahead' env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 --mpi \
    --shard node --overlap -m teacher --hidden 0,2 --final -o parts b
same 'parts gathered ahead in nodes have the same bytes' one parts
ok 'ranks with parts write a log' over 2 --shard world --comm-log comm --final -o parts b
like 'the log has the blocks of 4 batches' \
    '^all_gather_into_tensor.world.2.12.43008.21504.21504.' comm.tsv
# gathers LOG: of blocks, and whether a rank did something meanwhile
gathers() {
    cat "$1.tsv" "$1-1.tsv" | awk -F '\t' '
        $5 == 43008 { n += $4; hidden += $13 } END { print n, (hidden > 0) }'
}
stream -q -B 4 -T 512 -s 1 --batches 20 -o wide data || exit 1
ok 'wide states are gathered in turn' over 2 --shard world --comm-log turn --final -o turn wide
ok 'wide states are gathered ahead' over 2 --shard world --overlap --comm-log ahead --final \
    -o ahead wide
same '--overlap changes no byte' turn ahead
equal '--overlap gathers as often' "$(gathers turn), $(gathers ahead)" '120 0, 120 1'
ok 'ranks run the first two blocks alone' over 2 --shard world --overlap \
    --comm-log first --hidden 1 -o first b
ok 'one process runs the first two blocks' teacher -q -m teacher --hidden 1 -o first1 b
same 'two blocks have the same bytes' first1 first
like 'two blocks are gathered once' '^all_gather_into_tensor.world.2.2.43008.' first.tsv
# of 2 nodes: each half of a block's parts crosses once, then goes round a node
for how in '' --overlap; do
    # shellcheck disable=SC2086 # a word, or none
    ok "2 nodes of 2 ranks run $how" env RETORT_NODE=2 mpirun -n 4 teacher -q -j 1 \
        --mpi --shard world $how -m teacher --comm-log nodes --hidden 0,2 \
        --final -o parts b
    same "2 nodes of 2 ranks have the same bytes $how" one parts
    like "the log has gathers across the nodes $how" \
        '^all_gather_into_tensor.across.2.12.21504.10752.10752.' nodes.tsv
    like "the log has gathers in each node $how" \
        '^all_gather_into_tensor.node.2.12.43008.21504.21504.' nodes.tsv
done
ok 'ranks with parts write tokens' over 2 --shard world --top 8 --sample 5 -o top2 b
same 'ranks with parts write the same tokens' top top2

# --- a model without its zeros ---
ok 'prune makes a model with zeros' prune sparsify -q -m teacher --method magnitude -o zeros one
ok 'convert leaves the zeros out' convert -q --compressed zeros packed
ok 'one process runs the model with zeros' teacher -q -m zeros --hidden 0,2 --final --dtype f32 -o one32 b
ok 'one process runs the model without them' teacher -q -m packed --hidden 0,2 --final --dtype f32 \
    -o packed32 b
same 'both models have the same bytes' one32 packed32
for how in '--shard world' '--shard world --overlap' '--tensor 2'; do
    for m in zeros packed; do
        # shellcheck disable=SC2086 # words
        ok "ranks run $m with $how" mpirun -n 2 teacher -q -j 1 --mpi -m $m $how --hidden 0,2 \
            --final --dtype f32 -o $m.st b
    done
    same "both models have the same bytes with $how" zeros.st packed.st
done

# --- rows that ranks share ---
stream -q -B 2 -T 1200 -s 1 --batches 2 -o long data || exit 1
ok 'one process runs long rows' teacher -q -m teacher --hidden 0,2 --final \
    -o long1 long
for n in 2 3 5; do # of 3 tiles
    ok "$n ranks share the tokens of long rows" over $n --context-ranks $n --hidden 0,2 --final -o longn long
    same "$n ranks have the same bytes for long rows" long1 longn
done
ok 'one process writes tokens of long rows' teacher -q -m teacher --top 4 -o long1 long
ok '2 ranks write tokens of long rows' over 2 --context-ranks 2 --top 4 -o longn long
same '2 ranks write the same tokens of long rows' long1 longn
status 2 '--context-ranks above the number of ranks is refused' over 2 --context-ranks 4 --final -o not long

# --- what is refused ---
status 2 'more ranks than heads are refused' over 8 --tensor 8 --final -o not b
like 'the message tells heads and ranks' 'teacher: 4 query heads cannot be shared by 8 ranks' err
status 2 'ranks that --tensor does not divide are refused' over 3 --tensor 2 --final -o not b
like 'the message tells --tensor and the ranks' '--tensor 2: does not divide 3 ranks' err
status 2 '--tensor without --mpi is refused' say --tensor 2 -o not
status 2 'one input for several streams is refused' over 2 --final -o not.%r b
like 'the message tells of one input' 'one input for several streams' err
status 2 '--tensor and --shard together are refused' over 2 --tensor 2 --shard node --final -o not b
status 2 '--overlap without --shard is refused' over 2 --overlap --final -o not b
head -c $(($(wc -c <b) - 200)) b >broken
status 3 'damage ends all ranks with status 3' over 2 --tensor 2 --final -o not broken
ok 'a damaged stream does not get its name' test ! -e not

done_testing
