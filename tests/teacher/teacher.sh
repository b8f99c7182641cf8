#!/bin/sh
# teacher --top and what student makes of it
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches >b
say() { teacher -q -m teacher --hidden mapped --student s0 "$@" b; }
distil() { student -q -m s0 --lr 1e-3 "$@"; }
# column N FILE: of metrics
column() { cut -f "$1" "$2/metrics.tsv" | tail -n +2; }
# near WHAT N RUN RUN TOLERANCE: column N of two runs, relative
near() {
    column "$2" "$3" >near.a
    column "$2" "$4" >near.b
    if paste near.a near.b | awk -v tol="$5" '
        { d = $1 - $2; if (!(d <= tol * $2 && -d <= tol * $2)) bad = 1; n++ }
        END { exit !(n == 20 && !bad) }'; then
        pass "$1"
    else
        fail "$1"
        paste near.a near.b | sed 's/^/# /'
    fi
}

# --- the record ---
ok 'teacher --top 64 writes a stream' teacher -m teacher --top 64 --hidden mapped --student s0 -o kd b
like 'the note tells how much the tokens hold' 'top 64: [0-9.]+ % of the mass at temperature 1, [0-9.]+ % at 1; KL to the whole at 1: [0-9.e-]+ nats by rounding, [0-9.e-]+ by what the rest is made of; 392 bytes a token' err
rounding=$(sed -n 's/.*at 1: \([0-9.e-]*\) nats by.*/\1/p' err)
ok "rounding costs $rounding nats" awk \
    "BEGIN { exit !($rounding > 0 && $rounding < 1e-6) }"
for how in '-j 1' '-j 3' '--micro 1' '--micro 3'; do
    # shellcheck disable=SC2086 # a list
    ok "teacher --top runs with $how" say --top 64 $how -o other
    same "teacher --top writes the same bytes with $how" kd other
done
ok 'a stream of tokens has no head' sh -c '! grep -aq "\"head\":" kd'
ok 'the stream tells temperature and vocabulary' \
    grep -aq '"vocab":"1024","temperature":"1"' kd
ok '--top and --final write a stream' say --top 64 --final -o both
ok 'final states bring the head' grep -aq '"head":' both
status 2 'more tokens than the vocabulary are refused' say --top 1025 -o not
like 'the message tells the vocabulary' 'take 1024 at most' err
ok 'all tokens of the vocabulary are written' say --top 1024 --dtype f32 -o all
ok 'final states are written in f32' say --final --dtype f32 -o final

# --- live and precomputed, threads, rows at a time ---
ok 'a student trains from a file of tokens' distil -o run kd
status 0 'a student trains from a live teacher' sh -c 'teacher -q -m teacher --top 64 --hidden mapped \
    --student s0 b | student -q -m s0 --lr 1e-3 -o live'
same_model 'a live teacher gives the model of a file' run live
ok 'the tokens are stored in shards' shard write -q -o kds kd
ok 'the shards pass shard check' shard check -q kds
status 0 'a student trains from the shards' sh -c \
    'stream -q -B 4 kds | student -q -m s0 --lr 1e-3 -o replayed'
same_model 'shards give the model of a file' run replayed
ok 'rows in batches of another size have the same tokens' sh -c \
    'stream -q -B 3 kds -o three && teacher -q -m teacher --top 64 \
     --hidden mapped --student s0 b >again && cmp kd again'
for how in '-j 1' '-j 2' '--micro 1' '--micro 3' '--recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "a student of tokens runs with $how" distil -o "r$how" $how kd
    same_model "$how gives the same bits from tokens" run "r$how"
done

# --- with all tokens it is the whole distribution ---
ok 'a student trains from all tokens' distil -o all.d all
ok 'a student trains from final states' distil -o final.d final
near 'all tokens have the KL of final states' 6 all.d final.d 1e-5
near 'all tokens have the gradient of final states' 9 all.d final.d 1e-4
ok 'a student trains from tokens beside final states' distil -o both.d both
ok 'final states are written in bf16' say --final -o final16
ok 'a student trains from final states in bf16' distil -o final16.d final16
same_model 'final states are preferred to tokens' both.d final16.d
ok 'tokens and states are written without a head' say --top 64 --final --no-head -o headless
ok 'a student without a head takes the tokens' distil -o headless.d headless
same_model 'the tokens give the same model without a head' headless.d run
ok '--teacher brings the head for the states' distil --teacher teacher -o named.d headless
same_model '--teacher gives the model of final states' named.d final16.d
column 6 run >kl.top
column 6 final16.d >kl.all
ok 'KL of fewer tokens is less' sh -c \
    'paste kl.top kl.all | awk "{ if (!(\$1 > 0 && \$1 < \$2)) exit 1 }"'

# --- tokens drawn by chance ---
ok 'teacher --sample 50 writes a stream' teacher -m teacher --sample 50 --hidden mapped --student s0 -o kdc b
like 'the note tells of the draws' '50 draws at 1: [0-9.]+ different tokens; 254 bytes' \
    err
for how in '-j 1' '-j 3' '--micro 1' '--micro 3'; do
    # shellcheck disable=SC2086 # a list
    ok "teacher --sample runs with $how" say --sample 50 $how -o other
    same "teacher --sample writes the same bytes with $how" kdc other
done
ok 'another seed draws tokens' say --sample 50 -s 1 -o other
status 1 'another seed writes other bytes' cmp -s kdc other
ok 'a student trains from draws' distil -o drawn kdc
for how in '-j 1' '--micro 1' '--recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "a student of draws runs with $how" distil -o "d$how" $how kdc
    same_model "$how gives the same bits from draws" drawn "d$how"
done
ok 'draws and batches are stored in shards' sh -c 'shard write -q -o kdcs kdc && shard write -q -o plain b'
ok 'a student trains on draws in batches of 2' sh -c \
    'stream -q -B 2 kdcs | student -q -m s0 --lr 1e-3 -o after'
ok 'a student trains on batches of 2 with draws' sh -c 'stream -q -B 2 plain |
    teacher -q -m teacher --sample 50 --hidden mapped --student s0 |
    student -q -m s0 --lr 1e-3 -o before'
same_model 'a token has the same draws in any batch' after before
# An epoch as one step: rows in any order have the same draws.
for s in 3 4; do
    ok "rows are made in the order of seed $s" stream -q -B 4 -T 64 --pack none -s $s \
        --epochs 1 -o order data
    ok "tokens are drawn for seed $s" teacher -q -m teacher --sample 5 -o order.kd order
    ok "the epoch of seed $s is one step" student -q -m new.json -t tok -o order$s --grad-accum 1000 \
        --schedule constant order.kd
    column 6 order$s >kl$s
done
paste kl3 kl4 >kls
ok 'two orders have the same draws' awk '
    { d = $1 - $2; if (!(d <= 1e-7 && d >= -1e-7)) bad = 1 }
    END { exit bad || NR != 1 }' kls
ok '60000 tokens are drawn' say --sample 60000 -o kdmany
ok 'a student trains from 60000 draws' distil -o many kdmany
near 'many draws have nearly the KL of final states' 6 many final.d 2e-2
near 'many draws have nearly the gradient of final states' 9 many final.d 1e-3
ok 'draws are written beside top tokens' say --top 64 --sample 50 -o beside
ok 'a student trains from draws beside top tokens' distil -o beside.d beside
same_model 'draws are preferred to top tokens' beside.d drawn
status 3 'draws for another temperature are refused' distil --temperature 2 -o not kdc
status 2 'more draws than a count holds are refused' say --sample 65536 -o not

# --- what is refused ---
status 3 'top tokens for another temperature are refused' distil --temperature 2 -o not kd
like 'the message tells both temperatures' 'for temperature 1, not 2: train with --temperature 1' err
ok 'tokens are written for temperature 2' say --top 64 --temperature 2 -o kd2
ok 'a student trains at temperature 2' distil --temperature 2 -o t2 kd2
status 1 'the temperature changes the model' cmp -s t2/model.safetensors run/model.safetensors
status 3 'a weight of KL without a teacher is refused' distil --kl 1 -o not b
ok 'outputs of blocks are written without a head' say --no-head -o hidden
ok 'a student trains by SquareHead and CE alone' distil -o sh.d hidden
sed 's/1024/1025/' new.json >wide.json
ok 'a student with more rows than its teacher learns from its states' \
    student -q -m wide.json -o wider kd
ok 'batches of the top 8 are written' say --top 8 -o kd8
ok 'batches of the top 8 are stored in shards' shard write -q -o kds8 kd8
ok 'two shard directories are read one after the other' stream -q -B 4 kds kds8 -o mixed
status 3 'two sizes of top in one stream are refused' distil -o not mixed
like 'the message tells both sizes' 'not the 64 teacher.top.ids a token that earlier' err

# --- memory: no head of the teacher ---
ok 'student tells its memory' student -v -m s0 -o m -j 2 kd
like 'student holds no head of the teacher' 'teacher head 0[.]0,' err
ok 'plan predicts the memory for top tokens' plan --compute f32 -m s0 --teacher teacher --top 64 -B 4 -T 64 -j 2
student -v -m s0 -o m2 -j 2 --steps 1 kd 2>err
equal 'plan and student tell the same work space' "$(sed -n 's/^memory.work *\([0-9.]*\) MB/\1/p' out)" \
    "$(sed -n 's/.* work \([0-9.]*\),.*/\1/p' err)"
status 2 'plan --top without a teacher is refused' plan -m s0 --top 64

# --- temperatures ---
status 2 'a temperature of 0 is refused' say --sample 1 --temperature 0 -o not
like 'the message tells the range of temperatures' 'temperature.* 0\.01 ' err
done_testing
