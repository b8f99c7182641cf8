# shellcheck shell=sh
# Small data and models for tests of training; sourced after lib.sh.
# Makes tok/ (a tokenizer), data/ (shards of documents), new.json (a student
# of 2 blocks), t.json (a teacher of 3).

mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
printf '{"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "%s"}\n' \
    '<|endoftext|>' >tok/tokenizer_config.json

# config FILE blocks hidden mlp: write a config.json of that shape
config() {
    llama "$1" vocab_size "$vocab" hidden_size "$3" intermediate_size "$4" \
        num_hidden_layers "$2" num_attention_heads 4 num_key_value_heads 2 \
        head_dim 12 max_position_embeddings 256 initializer_range 0.05
}

tokenize -q -t tok "$top/corpus/en.jsonl" "$top/corpus/mt.jsonl" -o docs.st &&
    shard write -q -o data docs.st || exit 1
stream -q -B 4 -T 64 -s 1 --batches 1 -o one data || exit 1
vocab=1024
config new.json 2 32 48
config t.json 3 32 64

# first_and_last: make s0, a student that counts as cut from the first and last
# block of a teacher of 3 blocks, with the weights of a student trained in s
first_and_last() {
    kept='"retort": {"kept": [0, 2], "mlp": [48, 48]}'
    student -q -m new.json -t tok -o s --lr 1e-3 one && mkdir s0 &&
        cp s/model.safetensors s/tokenizer* s0 &&
        sed "s/\"num_hidden_layers\"/$kept, &/" s/config.json >s0/config.json
}

# batches [N]: a stream of N batches (20); the folder teacher gets a teacher
# that was trained on 30
batches() {
    stream -q -B 4 -T 64 -s 7 --batches "${1:-20}" data
}
batches 30 | student -q -m t.json -t tok -o teacher --lr 3e-3 \
    --warmup 0 -s 3 || exit 1

# falls WHAT RUN: the loss of the last step is under 0.9 of that of the first
falls() {
    awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") c = i }
        NR == 2 { a = $c } END { print a, $c; exit !($c < 0.9 * a) }' \
        "$2/metrics.tsv" >falls.txt && pass "$1" ||
        fail "$1: $(cat falls.txt)"
}

same_model() {
    same "$1" "$2/model.safetensors" "$3/model.safetensors"
}
# metrics RUN: write all columns of its metrics except the time to RUN.metrics
metrics() { cut -f 1-9 "$1/metrics.tsv" >"$1.metrics"; }

# killed_at STEP RUN command ...: train on the teacher's output for the stream
# b, and kill -9 the run some time after the checkpoint of STEP
killed_at() {
    tap_at=$2/step-$1 tap_run=$2
    shift 2
    [ -p pipe ] || mkfifo pipe
    teacher -q -m teacher b >pipe 2>/dev/null &
    "$@" -o "$tap_run" pipe &
    victim=$!
    await [ -d "$tap_at" ]
    kill -9 $victim
    wait $victim 2>/dev/null
    wait
}
# goes_on MODEL: resume the run `killed` from its newest checkpoint to its end
goes_on() {
    status 0 'a killed run goes on' sh -c 'stream -q --resume killed data |
        teacher -q -m teacher | student -q -m '"$1"' -o killed --lr 1e-3 \
            --save 2 --schedule constant --resume'
    same_model 'killed and resumed = undisturbed' killed whole
}
