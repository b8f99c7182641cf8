#!/bin/sh
# student over ranks: moments in parts; stop, and go on with other ranks
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'resuming over ranks' || done_testing
. "$top/tests/lib/ranks_train.sh"

# --- moments in parts ---
for n in 1 3 4; do
    ok "level 1, $n ranks" det $n z$n --shard-level 1 kd
done
same_model 'level 1, 4 ranks = level 1, one' z1 z4
find z3/step-8 -name 'optimiser-?-of-3.safetensors' >parts
equal 'a file of each rank in the checkpoint' "$(wc -l <parts)" 3
ok 'level 1, bf16 moments' over 2 zb --shard-level 1 --moments bf16 kd

# --- stop, and go on with another number of ranks ---
# rest RUN: the stream after its newest checkpoint
rest() {
    stream -q --resume "$1" data | teacher -q -m teacher -o "$1.rest"
}
for level in 0 1; do
    run=r$level
    ok "level $level: 3 steps of 2 ranks" det 2 $run --shard-level $level \
        --steps 3 --schedule constant kd
    rm -f $run/config.json
    ok 'the stream goes on' rest $run
    ok "to 5 by 4" det 4 $run --shard-level $level --steps 5 \
        --schedule constant --resume $run.rest
    rm -f $run/config.json
    ok 'the stream goes on again' rest $run
    ok "to 8 by 1" det 1 $run --shard-level $level --schedule constant \
        --resume $run.rest
    ok "undisturbed" det 2 u$level --shard-level $level --schedule constant kd
    same_run "level $level: 2, 4, 1 ranks = undisturbed" u$level $run
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
    status 6 'a bit flips in one of 4 ranks' mpirun -n 4 -x LD_PRELOAD=./flip.so \
        student -q -j 1 -m s0 -o flip --lr 1e-3 --save 2 kd
    like 'the rank is named' \
        '^student(\[[0-3]\])?: the parameters of rank 2 are not those of rank 0' err
    equal 'the checkpoint before is whole' "$(ls -d flip/step-*)" flip/step-2
    for level in 1 3; do
        status 6 "level $level: in the part that one updates" \
            mpirun -n 4 -x LD_PRELOAD=./flip.so student -q -j 1 -m s0 \
            -o flip$level --lr 1e-3 --save 2 --shard-level $level kd
        like 'it names itself' '^student\[2\]: the parameters that rank 2 updates have changed since step 1' err
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
equal 'SIGUSR2 to mpirun: all ranks save and exit 5' "$?" 5
find sig -name 'step-[123]' >saved
like 'after a whole step' 'step-' saved
ok 'the rest of the stream' rest sig
ok 'one process goes on' student -q -m s0 -o sig --lr 1e-3 --schedule constant \
    --resume sig.rest
ok 'undisturbed' student -q -m s0 -o nosig --lr 1e-3 --schedule constant kd
equal 'the same steps' "$(cut -f 1-3 sig/metrics.tsv)" \
    "$(cut -f 1-3 nosig/metrics.tsv)"
done_testing
