#!/bin/sh
# plan run --tokens ends with three lines; --machine this is the calibrated one
. "${0%/*}/../lib/lib.sh"

XDG_STATE_HOME=$PWD/state
export XDG_STATE_HOME
llama s.json num_hidden_layers 4
llama t.json hidden_size 32
llama wide.json vocab_size 65537
llama big.json hidden_size 8192 intermediate_size 28672 num_hidden_layers 120

# --- the lines ---
ok 'plan run answers' plan run -q -m s.json --teacher t.json -B 4 -T 64 -j 1 \
    --tokens 1e6
tail -n 3 out >lines
like 'the first line has the memory of all programs' \
    '^memory  [0-9.]+ GB in all: student [0-9.]+, teacher [0-9.]+( [(]a block at a time[)])?, stream [0-9.]+; fits in (the [0-9.]+ GB that are available|[0-9.]+ GB, but only .* other programs(, or run .*: [0-9.]+ GB)?)$' lines
span='[0-9.]+ (s|min|h|days)'
range="${span} [(]${span} to ${span}[)]"
like 'the second line has an estimated time and its range' \
    "^time    3907 steps of 4 x 64 tokens, with the teacher.s part, estimated .*: $range( with --compute (amx|avx512bf16), .*; student without .*: $range)?\$" lines
case $(retort doctor 2>/dev/null) in
*"bfloat16: A"*) faster=like ;; # AMX, AVX512-BF16
*) faster=unlike ;;
esac
$faster 'products are those of retort distil where these are faster' \
    "^time .* with --compute (amx|avx512bf16), as retort distil has it here; student without --compute takes f32: $range\$" lines

like 'the third line has the disk' \
    '^disk    [0-9.]+ GB: 3 checkpoints of [0-9.]+ GB, tokens [0-9.]+ GB; fits in the [0-9.]+ GB that are free here; to store the teacher.s targets, for further runs, takes [0-9.]+ GB more [(]by --top 64: [0-9.]+[)]$' lines
equal 'that is what df says' "$(sed -n 's/^disk.* \([0-9.]*\) GB that are free here.*/\1/p' lines |
    awk -v df="$(df -Pk . | awk 'NR == 2 { print $4 * 1024e-9 }')" \
    '{ print ($1 - df) ^ 2 < 1 }')" 1
ok 'plan run answers for the memory of another machine' plan run -q -m s.json \
    --teacher t.json -B 4 -T 64 -j 1 --tokens 1e6 memory_gb=0.02
like 'memory is compared with memory_gb' \
    '^memory .* does not fit in (the )?0.0 GB' out
ok 'plan run answers for a larger machine' plan run -m s.json --teacher t.json \
    -B 4 -T 64 -j 1 --tokens 1e6 --ratio 0.1 memory_gb=2000
like 'much memory is compared, too' '^memory .* fits in the 2000.0 GB of memory_gb$' out
like 'a note has the parameters that --ratio leaves' \
    '--ratio 0.1: [0-9.]+ of [0-9.]+ million parameters stay' err
ok 'plan run answers without a teacher' plan run -q -m s.json -j 1 --tokens 1e6
unlike 'without a teacher no line names one' '^(memory|disk) .*[0-9].*teacher' out
ok 'plan run of one step is as before' plan run -q -m s.json -j 1
unlike 'no line is added without --tokens' '^(memory|time|disk) .*(in all|likely|checkpoints)' out
ok 'plan run of one step says more' plan run -m s.json -j 1
like 'a note names the option that adds time and disk' '--tokens.* adds time' err
ok 'plan run prints a table' plan run -q -m s.json -j 1 --tokens 1e6 --format tsv
unlike 'a table has no such lines' '^(memory|time|disk) .*(in all|likely|checkpoints)' out
ok 'plan run answers for a model that is too large' plan run -q -m big.json -j 1 \
    --tokens 1e6
like 'the line says how large a student fits' \
    '^memory .*does not fit in [0-9.]+ GB, whatever the options: take a student of about [0-9.]+ billion parameters$' out

# A teacher of 40 blocks of 17 M parameters keeps them for less than 1024 tokens.
llama heavy.json hidden_size 1024 intermediate_size 4096 num_hidden_layers 40
ok 'plan run answers for a small batch' plan run -q -m s.json --teacher heavy.json \
    -j 1 -B 1 -T 512 --tokens 1e6 memory_gb=1.8
like 'more rows fit, as the teacher then has a block at a time' \
    '^memory .*does not fit in the 1.8 GB of memory_gb; with stream -B 2: [0-9.]+ GB$' out
plan run -q -m s.json --teacher heavy.json -j 1 -B 2 -T 512 --tokens 1e6 \
    memory_gb=1.8 >out 2>err
like 'with these rows it fits' '^memory .* fits in the 1.8 GB of memory_gb$' out
cp out text
plan run -q -m s.json --teacher heavy.json -j 1 -B 2 -T 512 --tokens 1e6 \
    --format tsv >out 2>err
equal 'tables have the memory of all programs' \
    "$(sed -n 's/^memory .*student \([0-9.]*\), teacher \([0-9.]*\).*, stream \([0-9.]*\);.*/\1 \2 \3/p' text |
        cat - out | awk 'NR == 1 { sum = $1 + $2 + $3 }
            $1 == "run.memory" { print (($2 * 1e-9 - sum) ^ 2 < 0.0003) }')" 1

# Of two messages a row takes 4 MB with the states of 60 blocks, 0.1 without; a
# block has 50 M parameters, which take 16 bytes each, 12 with --moments bf16.
total=$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
llama deep.json num_hidden_layers 60
ok 'plan run answers for large batches' plan run -q -m s.json --teacher deep.json \
    -j 1 -T 512 -B $((total / 2000000)) --tokens 1e9
like 'they fit without the states of blocks' \
    '^memory .*does not fit in .* with teacher --final: [0-9.]+ GB$' out
ok 'plan run answers for larger batches' plan run -q -m s.json --teacher deep.json \
    -j 1 -T 4096 -B $((total / 200000)) --tokens 1e9
like 'fewer rows fit' '^memory .*does not fit in .* with stream -B [0-9]+ and .*: [0-9.]+ GB$' out
rows=$(sed -n 's/^memory .* -B \([0-9]*\) .*/\1/p' out)
plan run -q -m s.json --teacher deep.json -j 1 -T 4096 -B "${rows:-0}" --recompute \
    --act bf16 --moments bf16 --grad bf16 --tokens 1e9 >out 2>err
like 'so many do fit' '^memory .*(; fits in| with teacher --final: [0-9.]+ GB$)' out
llama heavy.json hidden_size 2048 intermediate_size 8192 num_hidden_layers \
    $((total / 15 / 50400000))
ok 'plan run answers for a model with large moments' plan run -q -m heavy.json \
    -j 1 -T 64 -B 1 --tokens 1e6
like 'no option is named that it does not need' \
    '^memory .*does not fit in .* with student --moments bf16( --grad bf16)?: [0-9.]+ GB$' out

ok 'plan run answers for a run of many checkpoints' plan run -q -m wide.json -j 1 \
    --tokens 1e15
like 'a disk that is too small is named' \
    '^disk .*; does not fit in the [0-9.]+ GB that are free here, (nor|but) with student --keep 1: [0-9.]+ GB$' out

# A step of recomputed blocks has a third more operations; the shortest of three
# estimates is little disturbed by other programs.
seconds() {
    for _ in 1 2 3; do
        plan run -q -m s.json -j 1 --tokens 1e11 "$@" | sed -n \
            's/^time [^:]*: \([0-9.]*\) \([a-z]*\) (.*/\1 \2/p'
    done | awk '{ s = $1 * ($2 == "days" ? 24 : 1); if (NR == 1 || s < least) \
        least = s } END { print least }'
}
equal 'blocks that are computed again take time' "$(echo \
    "$(seconds --compute f32) $(seconds --compute f32 --recompute)" |
    awk '{ print ($1 > 0 && $2 / $1 > 1.15 && $2 / $1 < 1.6) }')" 1

# --- a model that is missing ---
status 1 'a missing model is refused' plan run -q -m none --tokens 1e6
cp err told
"$top/scripts/get-model" 2>names || true
for name in $(sed -n 's/^  \([a-z0-9.-]*\)  .*/\1/p' names); do
    like "the message names $name, which get-model fetches" \
        "[ ,]${name}[,; ]" told
done
like 'the message names the ids of the hub' 'ORG/NAME' told
ok 'a teacher of another vocabulary is planned' plan run -m s.json --teacher wide.json --tokens 1e6
like 'a note says what another tokenizer needs' 'vocabularies of .* --student-tokenizer --top' err
status 1 'a misspelt model is refused' plan run -q -m smolm2-135m
like 'the message suggests the name' 'smolm2-135m: .*did you mean smollm2-135m' err
ok 'capitals do not matter' plan run -q -m SmolLM2-135M \
    --teacher smollm2-135m --tokens 1e6
like 'the file of scripts/get-model has its own size, and is fetched once' 'models to fetch 0[.]10 GB' out
status 1 'the name of a file of that model is refused' plan run -q -m SmolLM2-135M.gguf
like 'the message suggests the name of the model' 'did you mean smollm2-135m' err
status 1 'a path that leads nowhere is refused' plan run -q -m models/none.gguf
like 'the message says so' 'models/none.gguf: there is no such file' err
status 1 'a longer name is refused' plan run -q -m Llama-3.2-1B-Instruct
like 'the message suggests the name it begins with' 'did you mean llama-3.2-1b' err
status 1 'plan cluster refuses it, too' plan cluster -q -m Llama-3.2-1B-Instruct --machine office
like 'its message suggests the name, too' 'did you mean llama-3.2-1b' err
status 1 'a name of sizes alone is not suggested' plan run -q -m megatron-23b
unlike 'the message has no other name' 'did you mean' err
# Sizes as those files have, read by `plan run` from them once.
for model in 'smollm2-135m 134515008' 'qwen2.5-coder-0.5b 630167424' \
    'qwen2.5-coder-1.5b 1777088000' 'gemma3-270m 268098176'; do
    ok "${model% *} need not be there" plan run -q -m "${model% *}"
    equal "${model% *} has the parameters of its file" \
        "$(awk '$1 == "parameters" { print $2 }' out)" "${model#* }"
done
ok 'a run of models that are not there is planned' plan run -m qwen2.5-0.5b --teacher qwen2.5-1.5b --tokens 1e6
like 'a note names the one whose sizes are built in' 'qwen2.5-1.5b: by its built-in sizes [(]Qwen2.5 1.5B[)]' err
# 2 (494032768 + 1543714304)
like 'its models have to be fetched' '^disk .*, models to fetch 4[.]08 GB; ' out
status 2 'an option is not taken for a model' plan run -m qwen2.5-0.5b --teacher --tokens 1e6
ok 'plan cluster knows it too' plan cluster -q -m qwen2.5-coder-1.5b --machine xeon-amx
ok 'a cut student is planned' plan run -q -m smollm2-135m --ratio 0.25
# 28311552 + 576 and 20 blocks of 3540096, the most that leave three quarters
equal 'it has whole blocks of at most three quarters of the parameters' \
    "$(awk '$1 == "parameters" { print $2 }' out)" 99114048
ok 'plan cluster cuts it, too' plan cluster -q -m smollm2-135m --ratio 0.25 --machine office
equal 'it has as many parameters there' "$(awk '$1 == "parameters" { print $2 }' out)" 99114048
status 2 'plan cluster refuses a share that one block exceeds' plan cluster -q \
    -m smollm2-135m --ratio 0.9 --machine office
status 2 'a share that not even one block leaves is refused' plan run -q \
    -m smollm2-135m --ratio 0.9
like 'the message says what is left' 'ratio 0[.]9: with a single block 0[.]237' err
status 3 'a name of sizes alone is refused' plan run -q -m llama-3.1-70b
like 'the message names who reads it' 'llama-3.1-70b: .* only plan cluster' err
mkdir gemma3-270m
status 1 'a folder of that name is not passed over' plan run -q -m gemma3-270m
status 1 'plan cluster reads a folder of that name, too' plan cluster -q -m gemma3-270m --machine xeon-amx

# --- this machine ---
status 2 'a machine that is not calibrated is refused' plan search -q -m s.json \
    --machine this
like 'the message says which command calibrates it' 'plan calibrate' err
mkdir -p state/retort
cp "$top/plan/machines/epyc.json" state/retort/machine.json
ok 'the calibrated machine is searched' plan search -q -m s.json --machine this \
    --format tsv
cp out found
ok 'its file is searched' plan search -q -m s.json --format tsv \
    --machine state/retort/machine.json
same 'this machine is that of the file' found out
ok 'plan run uses the calibration' plan run -q -m s.json -j 1 --tokens 1e6
like 'the line of time says so' '^time .*, measured by plan calibrate: ' out
ok 'it does so for a cut student' plan run -q -m s.json -j 1 --tokens 1e6 --ratio 0.25
like 'that is said too' '^time .*, measured by plan calibrate: ' out
done_testing
