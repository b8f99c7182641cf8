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
ok 'top 64' teacher -m teacher --top 64 --hidden mapped --student s0 -o kd b
like 'tells what it holds' 'top 64: [0-9.]+ % of the mass at temperature 1, [0-9.]+ % at 3; KL to the whole at 3: [0-9.e-]+ nats by rounding, [0-9.e-]+ by what the rest is made of; 392 bytes a token' err
rounding=$(sed -n 's/.*at 3: \([0-9.e-]*\) nats by.*/\1/p' err)
ok "rounding costs $rounding nats" awk \
    "BEGIN { exit !($rounding > 0 && $rounding < 1e-6) }"
for how in '-j 1' '-j 3' '--micro 1' '--micro 3'; do
    # shellcheck disable=SC2086 # a list
    ok "$how" say --top 64 $how -o other
    same 'the same bytes' kd other
done
ok 'no head is sent' sh -c '! grep -aq "\"head\":" kd'
ok 'it says its temperature and vocabulary' \
    grep -aq '"vocab":"1024","temperature":"3"' kd
ok 'with final states the head is' say --top 64 --final -o both
ok 'there it is' grep -aq '"head":' both
status 2 'more than the vocabulary' say --top 1025 -o not
like 'says so' 'vocabulary is 1024' err
ok 'all of it' say --top 1024 --dtype f32 -o all
ok 'final states' say --final --dtype f32 -o final

# --- live and precomputed, threads, rows at a time ---
ok 'from a file' distil -o run kd
status 0 'live' sh -c 'teacher -q -m teacher --top 64 --hidden mapped \
    --student s0 b | student -q -m s0 --lr 1e-3 -o live'
same_model 'live = file' run live
ok 'shards' shard write -q -o kds kd
ok 'of sound content' shard check -q kds
status 0 'replayed' sh -c \
    'stream -q -B 4 kds | student -q -m s0 --lr 1e-3 -o replayed'
same_model 'replayed = file' run replayed
ok 'rows in batches of another size' sh -c \
    'stream -q -B 3 kds -o three && teacher -q -m teacher --top 64 \
     --hidden mapped --student s0 b >again && cmp kd again'
for how in '-j 1' '-j 2' '--micro 1' '--micro 3' '--recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "student $how" distil -o "r$how" $how kd
    same_model 'the same bits' run "r$how"
done

# --- with all tokens it is the whole distribution ---
ok 'all tokens' distil -o all.d all
ok 'final states' distil -o final.d final
near 'the KL of final states' 6 all.d final.d 1e-5
near 'and their gradient' 9 all.d final.d 1e-4
ok 'both in a stream' distil -o both.d both
ok 'final states of the same type' say --final -o final16
ok 'alone' distil -o final16.d final16
same_model 'final states are preferred' both.d final16.d
ok 'both, but no head' say --top 64 --final --no-head -o headless
ok 'then top tokens' distil -o headless.d headless
same_model 'the same' headless.d run
ok '... unless the teacher is named' distil --teacher teacher -o named.d headless
same_model 'the same as from final states' named.d final16.d
column 6 run >kl.top
column 6 final16.d >kl.all
ok 'KL of fewer tokens is less' sh -c \
    'paste kl.top kl.all | awk "{ if (!(\$1 > 0 && \$1 < \$2)) exit 1 }"'

# --- tokens drawn by chance ---
ok '50 draws' teacher -m teacher --sample 50 --hidden mapped --student s0 -o kdc b
like 'tells what they are' '50 draws at 3: [0-9.]+ different tokens; 254 bytes' \
    err
for how in '-j 1' '-j 3' '--micro 1' '--micro 3'; do
    # shellcheck disable=SC2086 # a list
    ok "$how" say --sample 50 $how -o other
    same 'the same bytes' kdc other
done
ok 'another seed' say --sample 50 -s 1 -o other
status 1 'is other bytes' cmp -s kdc other
ok 'train' distil -o drawn kdc
for how in '-j 1' '--micro 1' '--recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "student $how" distil -o "d$how" $how kdc
    same_model 'the same bits' drawn "d$how"
done
ok 'shards of both' sh -c 'shard write -q -o kdcs kdc && shard write -q -o plain b'
ok 'drawn, then in batches of 2' sh -c \
    'stream -q -B 2 kdcs | student -q -m s0 --lr 1e-3 -o after'
ok 'in batches of 2, then drawn' sh -c 'stream -q -B 2 plain |
    teacher -q -m teacher --sample 50 --hidden mapped --student s0 |
    student -q -m s0 --lr 1e-3 -o before'
same_model 'the same draws' after before
# An epoch as one step: rows in any order have the same draws.
for s in 3 4; do
    ok "rows in the order of seed $s" stream -q -B 4 -T 64 --pack none -s $s \
        --epochs 1 -o order data
    ok 'drawn' teacher -q -m teacher --sample 5 -o order.kd order
    ok 'one step' student -q -m new.json -t tok -o order$s --grad-accum 1000 \
        --schedule constant order.kd
    column 6 order$s >kl$s
done
paste kl3 kl4 >kls
ok 'the same draws' awk '
    { d = $1 - $2; if (!(d <= 1e-7 && d >= -1e-7)) bad = 1 }
    END { exit bad || NR != 1 }' kls
ok '60000 draws' say --sample 60000 -o kdmany
ok 'of which' distil -o many kdmany
near 'the KL is nearly that of final states' 6 many final.d 2e-2
near 'and the gradient' 9 many final.d 1e-3
ok 'beside top tokens' say --top 64 --sample 50 -o beside
ok 'draws are preferred' distil -o beside.d beside
same_model 'the same' beside.d drawn
status 3 'another temperature' distil --temperature 2 -o not kdc
status 2 'more than a count holds' say --sample 65536 -o not

# --- what is refused ---
status 3 'another temperature' distil --temperature 2 -o not kd
like 'says both' 'for temperature 3, not 2: train with --temperature 3' err
ok 'that temperature' say --top 64 --temperature 2 -o kd2
ok 'goes' distil --temperature 2 -o t2 kd2
status 1 'and differs' cmp -s t2/model.safetensors run/model.safetensors
status 3 'a weight of KL without a teacher' distil --kl 1 -o not b
ok 'hidden states alone, no head' say --no-head -o hidden
ok 'SquareHead alone' distil -o sh.d hidden
sed 's/1024/1025/' new.json >wide.json
ok 'a student with more rows than its teacher learns from its states' \
    student -q -m wide.json -o wider kd
ok 'batches of top 8' say --top 8 -o kd8
ok 'in shards' shard write -q -o kds8 kd8
ok 'one after the other' stream -q -B 4 kds kds8 -o mixed
status 3 'two sizes of top in one stream' distil -o not mixed
like 'says so' 'not the 64 teacher.top.ids a token that earlier' err

# --- memory: no head of the teacher ---
ok 'student says what it needs' student -v -m s0 -o m -j 2 kd
like 'no head of the teacher' 'teacher head 0[.]0,' err
ok 'plan says the same' plan -m s0 --teacher teacher --top 64 -B 4 -T 64 -j 2
student -v -m s0 -o m2 -j 2 --steps 1 kd 2>err
equal 'work space' "$(sed -n 's/^memory.work *\([0-9.]*\) MB/\1/p' out)" \
    "$(sed -n 's/.* work \([0-9.]*\),.*/\1/p' err)"
status 2 'plan --top alone' plan -m s0 --top 64

# --- temperatures ---
status 2 'a temperature of 0 is refused' say --sample 1 --temperature 0 -o not
like '... names the range' 'temperature.* 0\.01 ' err
done_testing
