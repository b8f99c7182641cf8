#!/bin/sh
# student over ranks: moments in parts; stop, and go on with other ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'resuming over ranks' || done_testing
. "$top/tests/lib/ranks_train.sh"

# --- moments in parts ---
for n in 1 3 4; do
    ok "$n ranks train at level 1" det $n z$n --shard-level 1 kd
done
same_model '4 ranks at level 1 have the bits of one' z1 z4
find z3/step-8 -name 'optimiser-?-of-3.safetensors' >parts
equal 'the checkpoint has a file of each rank' "$(wc -l <parts)" 3
ok 'ranks train with bf16 moments at level 1' over 2 zb --shard-level 1 --moments bf16 kd

# --- stop, and go on with another number of ranks ---
# rest RUN: the stream after its newest checkpoint
rest() {
    stream -q --resume "$1" data | teacher -q -m teacher -o "$1.rest"
}
for level in 0 1; do
    run=r$level
    ok "2 ranks make 3 steps at level $level" det 2 $run --shard-level $level \
        --steps 3 --schedule constant kd
    rm -f $run/config.json
    ok "the stream of level $level goes on" rest $run
    ok "4 ranks go on to step 5 at level $level" det 4 $run --resume --shard-level $level --steps 5 \
        --schedule constant $run.rest
    rm -f $run/config.json
    ok "the stream of level $level goes on again" rest $run
    ok "1 rank goes on to step 8 at level $level" det 1 $run --resume --shard-level $level \
        --schedule constant $run.rest
    ok "2 ranks make 8 steps at level $level" det 2 u$level --shard-level $level --schedule constant kd
    same_run "2, 4 and 1 ranks have the bits of 2 at level $level" u$level $run
done

# --- a bit of one rank's memory ---
cat >flip.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <xxhash.h>

/* Rank 2's first parameters have a bit flipped when they are hashed for the
 * second time. */
XXH_errorcode
XXH3_64bits_update(XXH3_state_t *s, const void *p, size_t n)
{
    XXH_errorcode (*next)(XXH3_state_t *, const void *, size_t) =
        dlsym(RTLD_NEXT, "XXH3_64bits_update");
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    static int calls;

    if (rank && *rank == '2' && ++calls == 5)
        ((unsigned char *)p)[100] ^= 4;
    return next(s, p, n);
}
END
if cc -shared -fPIC -o flip.so flip.c 2>cc.err && [ "${BUILD##*/}" = build ]
then
    status 6 'a bit that flips in one of 4 ranks ends the run' mpirun -n 4 -x LD_PRELOAD=./flip.so \
        student -q -j 1 -m s0 -o flip --lr 1e-3 --save 2 kd
    like 'the message names the rank of the bit' \
        '^student(\[[0-3]\])?: the parameters of rank 2 are not those of rank 0' err
    equal 'the checkpoint before the bit is whole' "$(ls -d flip/step-*)" flip/step-2
    for level in 1 3; do
        status 6 "a bit that flips in a rank's part ends the run at level $level" \
            mpirun -n 4 -x LD_PRELOAD=./flip.so student -q -j 1 -m s0 \
            -o flip$level --lr 1e-3 --save 2 --shard-level $level kd
        like "the rank names itself at level $level" '^student\[2\]: the parameters that rank 2 updates have changed since step 1' err
    done
else
    skip 'a bit flips' 'a sanitizer has memory of its own'
fi

# --- signals ---
# Two batches arrive, and nothing more before the signal.
# shellcheck disable=SC2016
mpirun -n 2 sh -c 'trap : USR2; { head -c 373000 kd; sleep 20; } |
    student -q -j 1 -m s0 -o sig --lr 1e-3 --schedule constant' >sig.out 2>&1 &
job=$!
await grep -q '^1	' sig/metrics.tsv
kill -USR2 $job
wait $job
equal 'SIGUSR2 to mpirun lets all ranks save and exit 5' "$?" 5
find sig -name 'step-[123]' >saved
like 'the ranks save after a whole step' 'step-' saved
ok 'the rest of the stream is made' rest sig
ok 'one process goes on with the run of ranks' student -q -m s0 -o sig --lr 1e-3 --schedule constant \
    --resume -- sig.rest
ok 'a run without a signal ends' student -q -m s0 -o nosig --lr 1e-3 --schedule constant kd
equal 'a run with a signal has the same steps' "$(cut -f 1-3 sig/metrics.tsv)" \
    "$(cut -f 1-3 nosig/metrics.tsv)"
done_testing
