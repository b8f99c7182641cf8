#!/bin/sh
# plan: what it predicts is what student says and what a model has
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

# value NAME: of the TSV in out
value() {
    awk -F '\t' -v n="$1" '$1 == n { print $2 }' out
}
# mega NAME: it in MB with one decimal, as student prints it
mega() {
    awk -F '\t' -v n="$1" '$1 == n { printf "%.1f\n", $2 / 1e6 }' out
}
# said WHAT FILE: the number after WHAT in student's line
said() {
    sed -nE "s/.* $1 ([0-9.]+)[,;]?.*/\1/p" "$2" | head -n 1
}
# agrees WHAT: out has what student's notes in the file said tell
agrees() {
    equal "parameters of $1 are what student says" "$(value parameters)" \
        "$(sed -nE 's/.*: ([0-9]+) parameters,.*/\1/p' said)"
    for part in weights gradients moments buffers work; do
        equal "$part of $1 are what student says" "$(mega "memory.$part")" \
            "$(said "$part" said)"
    done
    equal "the teacher's head of $1 is what student says" \
        "$(mega memory.teacher-head)" \
        "$(said 'teacher head' said)"
    equal "operations of $1 are what student says" \
        "$(awk -F '\t' '$1 == "token.train" { printf "%.4g\n", $2 / 1e9 }' out)" \
        "$(sed -nE 's/.* ([0-9.e-]+) GFLOP a token.*/\1/p' said)"
}

student -v -m new.json -t tok -o s -j 2 one 2>said || exit 1
ok 'a config.json alone is predicted' plan --compute f32 -m new.json -B 4 -T 64 -j 2 \
    --format tsv
agrees 'a config.json'
cp out one.tsv
mkdir only
cp s/config.json only
ok 'a directory without weights is predicted' plan --compute f32 -m only -B 4 -T 64 -j 2 \
    --format tsv
same 'a directory without weights predicts what its config.json does' out \
    one.tsv
ok 'the trained model is predicted' plan --compute f32 -m s -B 4 -T 64 -j 2 --format tsv
same 'the trained model predicts what its config.json does' out one.tsv

# Products in bfloat16 have more rows of 512 tokens a pass than those in fp32.
stream -q -T 512 -B 4 --batches 1 -o long data
for c in f32 bf16; do
    student -v -m new.json -t tok -o long-$c -j 2 --compute $c long 2>said ||
        exit 1
    ok "rows of 512 tokens with $c are predicted" plan --compute $c -m new.json \
        -B 4 -T 512 -j 2 --format tsv
    agrees "rows of 512 tokens with $c"
done

teacher -q -m teacher -o kd one
student -v -m s -o d -j 2 --recompute --micro 3 kd 2>said || exit 1
ok 'distillation with recomputation is predicted' plan --compute f32 -m s --teacher teacher \
    -B 4 -T 64 -j 2 --recompute --micro 3 --format tsv
agrees 'distillation'
student -v -m s -o q -j 2 --qat q8_0 --mask 2:4 one 2>said || exit 1
ok 'training of rounded and masked weights is predicted' plan --compute f32 -m s -B 4 -T 64 \
    -j 2 --qat q8_0 --mask 2:4 --format tsv
agrees 'rounded and masked weights'
equal 'rounded and masked weights are stored twice' \
    "$(value memory.weights)" $((8 * $(value parameters) - 4 * 32 +
        2 * (2 * 32 * 48 + 2 * 32 * 24 + 3 * 32 * 48) / 8))
ok 'distillation is predicted for parameters by hand' plan --compute f32 -m s --teacher \
    teacher -B 4 -T 64 -j 2 --recompute --micro 3 --format tsv

# Parameters by hand: 1024 x 32 embedding, tied; a block of attention
# 2 x 32 x 48 + 2 x 32 x 24, MLP 3 x 32 x 48, norms 2 x 32; one norm.
equal 'an embedding has V d parameters' "$(value parameters.embedding)" 32768
equal 'blocks have the parameters counted by hand' \
    "$(value parameters.blocks)" \
    $((2 * (2 * 32 * 48 + 2 * 32 * 24 + 3 * 32 * 48 + 2 * 32)))
equal 'the last norm has d parameters' "$(value parameters.norm)" 32
equal 'a tied head has no parameters' "$(value parameters.head)" 0
# Operations: 2 a parameter of a product, head included, of attention
# 2 x 2 blocks x 48 x 65, 4 a number of 5 norms; training 6, 3.5 and 16 times.
equal 'a token takes the forward operations counted by hand' \
    "$(value token.forward)" \
    $((2 * (32768 + 2 * (4608 + 4608)) + 2 * 2 * 48 * 65 + 4 * 5 * 32))
equal 'a token takes the training operations counted by hand' \
    "$(value token.train)" \
    $((6 * (32768 + 2 * (4608 + 4608)) + 7 * 2 * 48 * 65 + 16 * 5 * 32))
# Biases of Q, K and V: 48 + 2 x 24 a block; windows of 16 of 64 tokens: 16 x 17
# / 2 + 48 x 16 keys for all of them, of 48 numbers.
sed 's/"model_type": "llama"/"model_type": "qwen2"/' new.json >qwen.json
ok 'a model with biases is predicted' plan --compute f32 -m qwen.json -B 4 -T 64 --format tsv
equal 'biases take the operations counted by hand' "$(value token.train)" \
    $((6 * (32768 + 2 * (4608 + 4608)) + 7 * 2 * 48 * 65 + 16 * 5 * 32 + \
        2 * 2 * 96))
sed 's/"model_type": "llama"/"model_type": "mistral", "sliding_window": 16/' \
    new.json >window.json
ok 'a model with windows is predicted' plan --compute f32 -m window.json -B 4 -T 64 \
    --format tsv
equal 'windows take the operations counted by hand' "$(value token.forward)" \
    $((2 * (32768 + 2 * (4608 + 4608)) + 4 * 2 * 48 * (136 + 768) / 64 + \
        4 * 5 * 32))

sed 's/"retort": {[^}]*}, *//; s/"tie_word_embeddings": true/"tie_word_embeddings": false/
s/"num_hidden_layers"/"retort": {"mlp": [48, 20]}, &/' new.json >ragged.json
ok 'a model with MLPs of two widths is predicted' plan --compute f32 -m ragged.json \
    --format tsv
equal 'MLPs of two widths have their own parameters' "$(value parameters)" \
    $((2 * 32768 + 2 * (4608 + 64) + 3 * 32 * 68 + 32))

# A group of heads is 24 rows of Q and columns of O, 12 rows of K and V; of 4
# blocks 3 have attention and 3 an MLP, each with its norm.
own='"retort": {"groups": [2, 1, 0, 2], "mlp": [48, 20, 48, 0]}'
sed "s/\"num_hidden_layers\": 2/$own, \"num_hidden_layers\": 4/" new.json \
    >cut.json
group=$((32 * (24 + 12 + 12 + 24)))
student -v -m cut.json -t tok -o c -j 2 one 2>said || exit 1
ok 'a model of blocks that differ is predicted' plan --compute f32 -m cut.json -B 4 -T 64 \
    -j 2 --format tsv
agrees 'blocks that differ'
equal 'blocks that differ have their own parameters' \
    "$(value parameters.blocks)" $((5 * group + 3 * 32 * 116 + 6 * 32))
equal 'blocks that differ take their own operations' "$(value token.forward)" \
    $((2 * (32768 + 5 * group + 3 * 32 * 116) + 2 * 5 * 24 * 65 + \
        4 * 7 * 32))
cp out cut.tsv
ok 'the trained model of blocks that differ is predicted' plan --compute f32 -m c -B 4 -T \
    64 -j 2 --format tsv
same 'the trained model of blocks that differ predicts the same' out cut.tsv
teacher -q -m teacher -o kd4 one
student -v -m c -o d4 -j 2 --recompute --micro 3 --act bf16 kd4 2>said || exit 1
ok 'distillation of blocks that differ is predicted' plan --compute f32 -m c --teacher \
    teacher -B 4 -T 64 -j 2 --recompute --micro 3 --act bf16 --format tsv
agrees 'distillation of blocks that differ'

sed 's/"hidden_size": 32/"hidden_size": 8192/
s/"intermediate_size": 48/"intermediate_size": 65536/
s/"num_hidden_layers": 2/"num_hidden_layers": 100/' new.json >huge.json
case $BUILD in
*thread*)
    skip 'a model larger than any machine is predicted' \
        'ThreadSanitizer leaves no room for its address space' ;;
*)
    ok 'a model larger than any machine' plan --compute f32 -m huge.json
    like 'a note says what this machine has' 'this machine .* has only' err ;;
esac

status 2 'a mask with gradients in bf16 is refused' plan --compute f32 -m s --mask 2:4 \
    --grad bf16
status 1 'a model that is not there is an error of the system' plan --compute f32 -m none
status 2 'a length of 1 is refused' plan --compute f32 -m new.json -T 1
printf '{"hidden_size": 64}' >bad.json
status 3 'a config.json without model_type is bad input' plan --compute f32 -m bad.json
like 'the message for a missing model_type names the file' \
    '^plan run: bad.json: ' err
printf '{"model_type": "llama"}' >bad.json
status 0 'a config.json without sizes is read' plan --compute f32 -m bad.json \
    --format tsv
equal 'a llama without sizes has the parameters of Llama 7B' "$(value parameters)" 6738415616
sed 's/{/{"loss_type": "x", "use_mrope": false,/' new.json >odd.json
status 0 'keys that transformers ignores are no error' plan -v -m odd.json
like 'ignored keys are named at -v' \
    '^plan run: config.json: ignored, as by transformers: loss_type$' err
sed 's/{/{"use_mrope": true,/' new.json >odd.json
status 3 'a value that is not implemented is refused' plan --compute f32 -m odd.json
like 'the message names the key and the value' 'use_mrope: true is not supported' err
printf '{"model_type": "lla' >bad.json
status 3 'half a config.json is bad input' plan --compute f32 -m bad.json
sed 's/"vocab_size": 1024/"vocab_size": 2048/' t.json >v.json
ok 'a teacher of another vocabulary is predicted' plan --compute f32 -m new.json --teacher \
    v.json --format tsv
equal 'its head has its own vocabulary' "$(value memory.teacher-head)" \
    $((2048 * 32 * 4))
ok 'its top tokens are predicted' plan --compute f32 -m new.json --teacher v.json --top 4 \
    --format tsv
equal 'the student then holds no head of it' "$(value memory.teacher-head)" 0
# 4096 tokens: ids of 2 bytes, 8 + 4 x 6 of top tokens; two messages
equal 'no states of blocks are sent with them' "$(value memory.input)" \
    $((2 * (4096 * (2 + 8 + 4 * 6) + 4096)))
# each COMPUTE: what a second thread takes, besides its scratch
each() {
    for j in 1 2; do
        plan -q -m new.json --compute "$1" -j $j --format tsv >out 2>err
        value memory.program
    done | awk 'NR == 1 { one = $1 } END { print $1 - one }'
}
single=$(each f32) half=$(each avx512bf16)
if grep -q 'plain C' err; then
    skip 'panels in bfloat16 are counted' 'this processor has no such kernels'
elif [ "$half" -gt "$single" ]; then
    pass 'panels in bfloat16 are counted'
else
    fail "panels in bfloat16 are counted: $single, then $half bytes"
fi

done_testing
