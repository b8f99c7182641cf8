#!/bin/sh
# student: memory is known before the first step, and does not grow
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

case $BUILD in
*address* | *thread*)
    skip 'student needs the memory that is said' 'a sanitizer has memory of its own'
    done_testing ;;
esac

# number AFTER FILE: the first number after that word
number() {
    sed -nE "s/.*$1 ([0-9.]+).*/\1/p" "$2" | tail -n 1
}
# foretold WHAT COMMAND...: what student says first is within 2 % of its peak
foretold() {
    what=$1
    shift
    ok "$what fits in memory" "$@"
    said=$(number 'in all' err) was=$(number peak err)
    if awk "BEGIN { d = $said - $was; tol = 0.02 * $was
            exit !(d <= tol && d >= -tol) }"; then
        pass "$what needs what is said: $said MB said, $was MB needed"
    else
        fail "$what needs what is said: $said MB said, $was MB needed"
        sed 's/^/# /' err
    fi
}

student -q -m new.json -t tok -o s one || exit 1
stream -q -B 4 -T 64 -s 7 --batches 6 data -o six || exit 1
stream -q -B 8 -T 256 -s 1 --batches 6 data -o wide || exit 1
sed "s/2048/$vocab/" "$top/recipes/small.json" >demo.json
student -q -m demo.json -t tok -o dt -j 2 --steps 1 wide || exit 1
teacher -q -m dt -o dkd wide || exit 1
# Smaller models are mostly the program itself, of which the system keeps in
# memory what it likes.
foretold 'a student of CE alone' student -m demo.json -t tok -o a -j 2 wide
# Checkpoints copy the tokenizer's files, and do not read the JSON again.
cp -r tok large_tok
awk 'BEGIN { printf "[0"; for (i = 0; i < 1e6; i++) printf ",0"; print "]" }' \
    >large_tok/added_tokens.json
foretold 'a student with a large tokenizer and checkpoints' student -m demo.json \
    -t large_tok -o a2 -j 2 --save 2 wide
same 'a large tokenizer is in the checkpoint' a2/step-6/added_tokens.json large_tok/added_tokens.json
foretold 'a student of the size of the demo' student -m dt -o c -j 2 dkd
full=$(number peak err)
foretold 'a student with --recompute' student -m dt -o d -j 2 --recompute dkd
foretold 'a student behind a pipe, 8 rows at a time' sh -c \
    'stream -q -B 8 -T 256 -s 1 --batches 6 data | teacher -q -m dt |
     student -m dt -o e -j 2 --micro 8'
foretold 'a student behind a pipe, with --ahead' sh -c \
    'stream -q -B 8 -T 256 -s 1 --batches 6 data | teacher -q -m dt |
     student -m dt -o e2 -j 2 --micro 8 --ahead 1M'
same '--ahead gives the same bits' e/model.safetensors e2/model.safetensors
foretold 'a student that judges held-out batches' student -m dt -o v1 -j 2 \
    --eval dkd --eval-every 2 dkd
foretold 'a student whose held-out batches have a head of their own' student -m dt -o v2 -j 2 --eval dkd \
    --eval-every 2 wide
# Longer rows make room for as many as are trained on at a time, and more.
stream -q -B 2 -T 512 -s 1 --batches 2 data | teacher -q -m dt --final -o long
ok 'held-out batches of longer rows are judged' student -m dt -o v3 -j 2 --eval long --eval-every 2 wide
equal 'longer rows need no more than is said' "$(awk "BEGIN {
    print ($(number peak err) <= 1.02 * $(number 'in all' err)) }")" 1
teacher -q -m dt --top 64 -o dtop wide || exit 1
foretold 'a student of products in bfloat16' student -v -m dt -o w -j 2 \
    --compute avx512bf16 dkd
half=$(number 'teacher head' err)
ok 'products in bfloat16 take the head of --teacher' student -q -m dt -o w2 -j 2 \
    --compute avx512bf16 --teacher dt dkd
same 'both heads give the same bits' w/model.safetensors w2/model.safetensors
ok 'the same step is made in fp32' student -v -m dt -o w3 -j 2 --steps 1 dkd
equal "bfloat16 holds half of the teacher's head" \
    "$(awk "BEGIN { print $(number 'teacher head' err) / $half }")" 2
foretold 'a student of top tokens' student -m dt -o t -j 2 dtop
foretold 'a rounded and masked student' student -m dt -o q -j 2 --qat q4_0 \
    --mask 2:4 dkd
foretold 'a student with activations and moments in bf16' student -m dt -o f -j 2 --act bf16 --moments bf16 dkd
like 'the rounding of activations is told' \
    'activations .* bf16: .* by 0[.][0-9]+ %' err
like 'the rounding of moments is told' 'moments .* bf16: .* by 0[.][0-9]+ %' err
less=$(number peak err)
if awk "BEGIN { exit !($less < 0.85 * $full) }"; then
    pass "bf16 takes less: $less MB, in fp32 $full"
else
    fail "bf16 takes less: $less MB, in fp32 $full"
fi
ok 'a recomputed run in bf16 trains' student -q -m dt -o g -j 1 --act bf16 --moments bf16 \
    --recompute --micro 1 dkd
same 'one thread, a row at a time gives the same bits' \
    f/model.safetensors g/model.safetensors

foretold 'a student with gradients in bf16 too' student -m dt -o i -j 2 --act bf16 --grad bf16 \
    --moments bf16 dkd
like 'the rounding of gradients is told' 'gradients .* bf16: .* by 0[.][0-9]+ %' err
least=$(number peak err)
if awk "BEGIN { exit !($least < $less - 2) }"; then
    pass 'gradients in bf16 take less again'
else
    fail "gradients in bf16 take less again: $least MB after $less MB"
fi
ok 'a recomputed run with one thread trains' student -q -m dt -o k -j 1 --act bf16 \
    --grad bf16 --moments bf16 --recompute dkd
same 'one thread and --recompute give the same bits' i/model.safetensors k/model.safetensors

# --- the teacher too: whole batches of 2048 tokens, block by block ---
cat >large.json <<EOF
{"model_type": "llama", "architectures": ["LlamaForCausalLM"],
 "vocab_size": $vocab, "hidden_size": 768, "num_hidden_layers": 4,
 "num_attention_heads": 12, "num_key_value_heads": 4,
 "intermediate_size": 3072, "max_position_embeddings": 2048,
 "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true}
EOF
student -q -m large.json -t tok -o large --steps 1 -j 2 one || exit 1
stream -q -B 2 -T 1024 -s 1 --batches 3 data -o long || exit 1
foretold 'a teacher' teacher -m large -j 2 -o lkd long
like 'the rounding of outputs of blocks is told' \
    'outputs of blocks .* bf16: .* by 0[.][0-9]+ %' err
like 'the rounding of final states is told in nats' \
    'final states .* bf16: .* by 0[.][0-9]+ %.* [0-9.e-]+ nats of KL' err
foretold 'a teacher in f32' teacher -m large -j 2 --dtype f32 -o lkd32 long
unlike 'a teacher in f32 tells of no rounding' bf16 err
foretold 'a teacher before a pipe' sh -c 'teacher -m large -j 2 long | cat >lkdp'
same 'a pipe gets the same stream' lkd lkdp
foretold 'a teacher of top tokens' teacher -m large -j 2 --top 64 -o lkdt long
foretold 'a teacher of small batches' teacher -m large -j 2 -o lkds one
cp -r large spaced && head -c 100000000 /dev/zero | tr '\0' ' ' \
    >>spaced/tokenizer.json
foretold 'a teacher beside a large tokenizer' teacher -m spaced -j 2 -o lkdl one

# --- what cannot fit is refused before its weights are made ---
sed 's/"hidden_size": 32/"hidden_size": 8192/
s/"intermediate_size": 48/"intermediate_size": 65536/
s/"num_hidden_layers": 2/"num_hidden_layers": 100/' new.json >huge.json
status 1 'a student larger than any machine is refused' student -m huge.json -o no one
like 'a student that is too large is refused with the figure' \
    '^student: huge.json: [0-9.]* GB are needed and this machine .* has' err

# --- moments in a checkpoint keep their type ---
# constant RUN [option ...]: at one rate, from six or the file named
constant() {
    run=$1
    shift
    student -q -m new.json -t tok -o "$run" --lr 1e-3 --schedule constant "$@"
}
ok '4 steps with moments in bf16 are made' constant h --moments bf16 --steps 4 six
ok '2 steps with moments in bf16 are made' constant half --moments bf16 --steps 2 six
rm half/config.json
stream -q --resume half data >rest || exit 1
status 3 'moments in bf16 are not continued in f32' constant half --resume --steps 4 rest
like 'the message tells of --moments' 'moments are BF16.*--moments' err
ok 'moments in bf16 are continued' constant half --moments bf16 --resume --steps 4 rest
same '2 and 2 steps give the bits of 4' h/model.safetensors half/model.safetensors

# --- no growth: the peak of many steps is that of a few ---
steps=150
! is_long || steps=2000
# peak OUTPUT COMMAND: its peak in MB
peak() {
    result=$1
    shift
    rm -rf "$result"
    "$@" -o "$result" 2>err || { cat err; return 1; }
    number peak err
}
# least OUTPUT COMMAND: the smallest peak of four runs with one thread.  With 2
# threads peaks of the same command differ by 2 MB: a thread uses its work space
# only if it gets a task that needs some.  In one run of six the system maps 0.7
# MB more of the program's file.
least() {
    for _ in 1 2 3 4; do peak "$@" -j 1; done | sort -n | head -n 1
}
# within: $all is $few + $slack at most.  Peaks have one decimal, so tenths are
# compared as whole numbers: in binary 11.7 + 0.1 is less than 11.8.
within() {
    awk "BEGIN { exit !(int($all * 10 + 0.5) <= int(($few + $slack) * 10 + 0.5)) }"
}
# no_more SLACK FEW OUTPUT COMMAND: the peak of one of eight runs is FEW MB and
# SLACK at most: memory that is never given back adds to all of them
no_more() {
    slack=$1 few=$2
    shift 2
    for _ in 1 2 3 4 5 6 7 8; do
        all=$(peak "$@" -j 1)
        within && break
    done
    if within; then
        pass "$2, $steps steps: $all MB, fewer: $few MB"
    else
        fail "$2, $steps steps: $all MB, fewer: $few MB"
    fi
}
stream -q -B 4 -T 64 -s 7 --batches $steps data >many || exit 1
teacher -q -m teacher -o kdmany many || exit 1
no_more 0.4 "$(least few student -m s --save 20 --steps 60 \
    --schedule constant kdmany)" \
    all student -m s --save 20 --schedule constant kdmany
batches 20 >b20
no_more 0.1 "$(least kd20 teacher -m teacher b20)" \
    kdagain teacher -m teacher many
done_testing
