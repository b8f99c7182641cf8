#!/bin/sh
# teacher over ranks: each with rows of its own, or a share of the model
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'a teacher over ranks' || done_testing
. "$top/tests/lib/ranks_teach.sh"
apart() { "$BUILD/tests/teacher/apart" "$1" "$2"; }

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
    near_1e6 'within 1e-6' "$(apart one32 shared$n)"
    ok 'again' over $n --tensor $n --hidden 0,2 --final --dtype f32 -o again b
    same 'the same bytes' shared$n again
    status 1 'which are others than one process has' cmp -s one32 shared$n
done
ok 'their tokens' over 4 --tensor 4 --top 8 --dtype f32 -o top4 b
ok 'of one process' teacher -q -m teacher --top 8 --dtype f32 -o top1 b
near_1e6 'within 1e-6' "$(apart top1 top4)"
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
stream -q -B 4 -T 512 -s 1 --batches 20 -o wide data || exit 1
ok 'gathered in turn' over 2 --shard world --comm-log turn --final -o turn wide
ok 'gathered ahead' over 2 --shard world --overlap --comm-log ahead --final \
    -o ahead wide
same 'the same bytes' turn ahead
equal 'as many' "$(gathers turn), $(gathers ahead)" '120 0, 120 1'
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

# --- a model without its zeros ---
ok 'zeros' prune sparsify -q -m teacher --method magnitude -o zeros one
ok 'left out' convert -q --compressed zeros packed
ok 'one process' teacher -q -m zeros --hidden 0,2 --final --dtype f32 -o one32 b
ok 'says the same' teacher -q -m packed --hidden 0,2 --final --dtype f32 \
    -o packed32 b
same 'the same bytes' one32 packed32
for how in '--shard world' '--shard world --overlap' '--tensor 2'; do
    for m in zeros packed; do
        # shellcheck disable=SC2086 # words
        ok "$m, $how" mpirun -n 2 teacher -q -j 1 --mpi -m $m $how --hidden 0,2 \
            --final --dtype f32 -o $m.st b
    done
    same 'the same bytes' zeros.st packed.st
done

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
head -c $(($(wc -c <b) - 200)) b >broken
status 3 'damage ends all ranks' over 2 --tensor 2 --final -o not broken
ok 'not named as whole' test ! -e not

done_testing
