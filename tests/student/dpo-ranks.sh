#!/bin/sh
# student dpo over ranks: the same bits from 1, 2 and 4
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'preferences over ranks' || done_testing
. "$top/tests/lib/dpo.sh"
# twice the 5 golden pairs, so that 4 ranks have rows of unequal number
cat "$golden/pairs.jsonl" "$golden/pairs.jsonl" >pairs.jsonl

# prefer RANKS RUN [option ...]: 4 steps of 5 pairs
prefer() {
    n=$1 run=$2
    shift 2
    mpirun -n "$n" student dpo -q -j 1 -m "$golden" -o "$run" -B 5 --epochs 2 \
        --lr 1e-3 --schedule constant "$@" -- pairs.jsonl
}
# columns RUN: its metrics without the time
columns() { cut -f 1-14 "$1/metrics.tsv" >"$1.metrics"; }

ok 'one process trains by --deterministic' prefer 1 d1 --deterministic
columns d1
for n in 2 4; do
    ok "$n ranks take their pairs" prefer $n d$n --deterministic
    same "$n ranks have the bits of one process" d1/model.safetensors d$n/model.safetensors
    columns d$n
    same "$n ranks have the metrics of one process" d1.metrics d$n.metrics
done
ok '4 ranks share all parameters' prefer 4 d4s --deterministic --shard-level 3
same 'parameters in parts change no bit' d1/model.safetensors d4s/model.safetensors
ok '2 ranks of 2 stages train' prefer 2 p2 --stages 1
ok 'one process trains' prefer 1 o1
same 'stages have the bits of one process' o1/model.safetensors p2/model.safetensors
ok '2 ranks make half of the steps' prefer 2 half --deterministic --steps 2
rm half/config.json
ok '4 ranks go on' prefer 4 half --deterministic --resume
same 'a run resumed with other ranks has the bits of one process' \
    d1/model.safetensors half/model.safetensors
for n in 1 4; do
    ok "$n ranks store what the reference says" prefer $n s$n --deterministic \
        --store-reference stored$n
done
same '4 ranks store the numbers of one process' stored1 stored4
same 'stored numbers change no bit of 4 ranks' d1/model.safetensors \
    s4/model.safetensors
ok 'one process trains an adapter by --deterministic' prefer 1 a1 --lora 4 \
    --deterministic
for n in 2 4; do
    ok "$n ranks train an adapter" prefer $n a$n --lora 4 --deterministic
    same "$n ranks have the adapter of one process" a1/adapter_model.safetensors \
        a$n/adapter_model.safetensors
done
done_testing
