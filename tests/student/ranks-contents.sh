#!/bin/sh
# student over ranks that name other contents: adapters, teachers, references,
# chat templates, prompts and pairs are refused before the first step
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/ranks.sh"

has_ranks 'ranks of other contents' || done_testing
. "$top/tests/lib/train.sh"
batches 4 >b
export MPIEXEC_TIMEOUT=30

# Each rank has files of its own under the same names.  No rank's file is taken
# for that of another rank on the same node.
for r in 0 1; do
    mkdir own.$r
    cp -r teacher own.$r/model
    student -q -m teacher -o own.$r/ad --lora 2 -s $r --lr 1e-2 --steps 1 \
        --schedule constant b || exit 1
    printf '{"prompt": "the %s"}\n' $r >own.$r/prompts
    printf '{"prompt": "the", "chosen": " a", "rejected": " b%s"}\n' $r \
        >own.$r/pairs
    echo "{{ messages[0].content }}$r" >own.$r/t.jinja
done
reweigh teacher other 4
cp other/model.safetensors own.1/model
echo '{"messages": [{"role": "user", "content": "the"}]}' >p
printf '#!/bin/sh\nexec awk "{ print 1 }"\n' >judge
chmod +x judge

# refused NAME WHAT COMMAND [OPTION ...]: two ranks run a command of student,
# each in its folder; they end with status 2, and the message begins with NAME
refused() {
    name=$1 what=$2 command=$3
    shift 3
    rm -rf run
    # shellcheck disable=SC2016 # the ranks' shells expand it
    status 2 "another $what on one rank: the job ends with status 2" \
        mpirun -n 2 sh -c 'cd own.$OMPI_COMM_WORLD_RANK && exec student "$@"' \
        sh "$command" -q -j 1 -m ../teacher -o "$PWD/run" --steps 2 \
        --rank-timeout 2 "$@"
    like "another $what on one rank: the message names it and the ranks" \
        "^student[^:]*: $name: rank 1 has .*, rank 0 has " err
    equal "another $what on one rank: no step is made" \
        "$(sed 1d run/metrics.tsv 2>/dev/null)" ''
}
for level in 0 1; do
    refused --adapter "adapter, level $level," train --adapter ad \
        --shard-level $level ../b
done
refused --score-with teacher on-policy -B 4 -n 4 --score-with model ../p \
    --template ../own.0/t.jinja
texts='-B 4 -n 4 --group 2 --reward ../judge --template'
# shellcheck disable=SC2086 # a list
{
    refused --reference reference grpo $texts ../own.0/t.jinja --beta 0.1 \
        --reference model ../p
    refused --template 'chat template' grpo $texts t.jinja ../p
    refused 'the stream' 'file of prompts' grpo $texts t.jinja \
        "$PWD/own.%r/prompts" --template ../own.0/t.jinja
}
refused 'the stream' 'file of pairs, whose references are stored,' dpo \
    --store-reference ../with pairs
done_testing
