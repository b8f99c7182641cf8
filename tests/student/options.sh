#!/bin/sh
# Options of student: defaults, --published, --resume, values of several parts
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

first_and_last || exit 1
batches 6 >b
teacher -q -m teacher -o kd b || exit 1
# option RUN NAME: its value in the run's options.json
option() { sed -n "s/^    \"$2\": \(.*[^,]\),*\$/\1/p" "$1/options.json"; }

# --- defaults ---
ok 'a model that is read is trained' student -m s0 -o read kd
equal 'its rate is 1e-4 by default' "$(option read lr)" 0.0001
like 'the temperature is 1 by default' '[(]T = 1[)]' err
ok 'random weights are trained' student -q -m new.json -t tok -o new b
equal 'their rate is 3e-4 by default' "$(option new lr)" 0.0003
ok 'the rate can be given' student -q -m new.json -t tok --lr 1e-3 -o rate b
equal 'the rate given is used' "$(option rate lr)" 0.001

# rate RUN STEP: the rate of that step over the peak of 1e-3
rate() { awk -v n="$2" '$1 == n { printf "%.4f", $8 * 1000 }' "$1/metrics.tsv"; }
batches 40 | student -q -m new.json -t tok --lr 1e-3 -o warm || exit 1
equal 'two of 40 steps are warm-up by default' \
    "$(rate warm 1) $(rate warm 2) $(rate warm 3)" '0.0000 0.5000 1.0000'
batches 40 | student -q -m new.json -t tok --lr 1e-3 --schedule constant \
    -o flat || exit 1
equal 'a constant schedule has no warm-up by default' "$(rate flat 1)" 1.0000
ok 'a run without --warmup can be made longer' sh -c '
    stream -q --resume warm --batches 60 data | student -q -m new.json \
        -t tok --lr 1e-3 -o warm --resume --override steps'
equal 'steps after the 40th have the rate of 60 steps' "$(rate warm 41)" \
    "$(awk 'BEGIN { printf "%.4f", (1 + cos(3.14159265358979 * 37 / 57)) / 2 }')"
status 2 'another warm-up of a run that goes on is refused' sh -c '
    stream -q --resume warm --batches 60 data | student -q -m new.json \
        -t tok --lr 1e-3 -o warm --warmup 5 --resume'

# --- the published loss ---
ok 'the published loss trains' student -m s0 --published -o published kd
like 'the published loss has T = 3 and three weights' \
    'loss = 0.25 CE [+] 1 KL [(]T = 3[)] [+] 1 SquareHead' err
ok 'the same loss is given by hand' student -q -m s0 --temperature 3 --ce 0.25 \
    --kl 1 --squarehead 1 -o hand kd
same_model 'the published loss is that loss' published hand
ok 'a weight beside --published counts' student -m s0 --published --ce 0.5 \
    --temperature 2 -o other kd
like 'options win over --published' 'loss = 0.5 CE [+] 1 KL [(]T = 2[)]' err
teacher -q -m teacher --final -o final b || exit 1
status 3 'the published loss needs hidden states' student -q -m s0 --published \
    -o not final
like 'the loss without its states is named' 'squarehead.*hidden states' err
teacher -q -m teacher --top 8 -o top.1 b &&
    teacher -q -m teacher --top 8 --published -o top.3 b &&
    teacher -q -m teacher --top 8 --published --temperature 2 -o top.2 b || exit 1
ok 'tokens made by defaults train by defaults' student -q -m s0 -o t1 top.1
ok 'a temperature given wins over --published' student -q -m s0 \
    --temperature 2 -o t2 top.2
status 3 'tokens of the published temperature are refused at 1' student -q \
    -m s0 -o not top.3
ok 'tokens by --published train with --published' student -q -m s0 \
    --published --squarehead 0 -o both top.3

# --- values of several parts ---
ok 'the defaults of AdamW can be given' student -q -m s0 \
    --adam 0.9,0.95,1e-8 -o adam kd
same_model 'they are the defaults' adam read
ok 'another beta2 trains' student -q -m s0 --adam 0.9,0.999,1e-8 -o beta2 kd
if cmp -s beta2/model.safetensors read/model.safetensors; then
    fail 'another beta2 gives another model'
else
    pass 'another beta2 gives another model'
fi
for value in 0.9 0.9,0.95 0.9,0.95,1e-8,0 1,0.95,1e-8 0.9,x,1e-8 ''; do
    status 2 "--adam '$value' is refused" student -q -m s0 -o not \
        --adam "$value" kd
done
ok 'a rate that ends at a share of the peak' student -q -m s0 --lr 1e-3 \
    --schedule linear:0.5 -o half kd
equal 'the last rate of 6 is 7/12 of the peak' \
    "$(awk 'END { printf "%.6f", $8 }' half/metrics.tsv)" 0.000583
ok 'a rate that falls in the last half alone' student -q -m s0 --lr 1e-3 \
    --warmup 0 --schedule wsd:0.5 -o wsd kd
equal 'it is the peak for 3 of 6 steps' \
    "$(cut -f 8 wsd/metrics.tsv | sed 1d | tr '\n' ' ')" '0.001 0.001 0.001 0.001 0.00075 0.00025 '
ok 'a rate that falls as an inverse root' student -q -m s0 --lr 1e-3 \
    --warmup 2 --schedule invsqrt -o root kd
equal 'the sixth rate is the peak times the root of 2/5' \
    "$(awk 'END { printf "%.6f", $8 }' root/metrics.tsv)" 0.000632
for value in linear:2 constant:0.1 invsqrt:2 wsd:2 cosin cosine: ''; do
    status 2 "--schedule '$value' is refused" student -q -m s0 -o not \
        --schedule "$value" kd
done

# --- --resume [RUN] ---
for how in '-o part --resume' '--resume part' '-o part --resume part' \
    '-o part --resume=part'; do
    rm -rf part
    student -q -m s0 -o part --schedule constant --steps 2 kd &&
        stream -q --resume part data | teacher -q -m teacher -o rest || exit 1
    # shellcheck disable=SC2086 # options
    ok "$how goes on with the run" student -q -m s0 --schedule constant \
        --steps 6 $how -- rest
    [ -e whole ] || student -q -m s0 -o whole --schedule constant --steps 6 kd
    same_model "$how ends as one run does" part whole
done
status 2 '--resume of another run than -o is refused' student -q -m s0 \
    -o part --resume rest
like 'the message names both' 'rest.*part' err
status 2 'a run without a name is refused' student -q -m s0 --resume -- rest

# --- a run of a version with options that are gone ---
# older RUN: its options.json as that version wrote it
older() {
    sed -e 's/"adam": "\(.*\),\(.*\),\(.*\)"/"beta1": \1, "beta2": \2, "eps": \3/' \
        -e 's/"kl-direction": "js:\(.*\)"/"kl-direction": "js", "kl-beta": \1/' \
        -e 's/"schedule": "cosine:\(.*\)"/"schedule": "cosine", "min-lr-ratio": \1/' \
        -e 's/"kl-direction": "forward"/&, "kl-beta": 0.5/' \
        -e 's/"schedule": "constant"/&, "min-lr-ratio": 0.5/' \
        -e 's/"weight-decay"/"lr-embed": 1.0, "decay-embed": false, &/' \
        "$1/options.json" >o && mv o "$1/options.json"
}
distil() { student -q -m s0 --lr 1e-3 --resume old "$@" -- rest; }
student -q -m s0 --lr 1e-3 -o old --steps 2 --adam 0.9,0.999,1e-8 \
    --schedule cosine:0.1 --kl-direction js:0.25 kd && older old &&
    stream -q --resume old data | teacher -q -m teacher -o rest || exit 1
like 'the run has the options that are gone' '"beta2": 0.999, "eps"' old/options.json
set -- --steps 2 --kl-direction js:0.250 --schedule cosine:0.10
ok 'a run of --beta2 goes on by the same --adam' distil "$@" --adam 0.9,0.999,1e-08
status 2 'a run of --beta2 is refused without --adam' distil "$@"
like 'the message tells the values of --adam' \
    'adam is "0.9,0.95,1e-8", not "0.9,0.999,1e-08"' err
set -- --steps 2 --adam 0.9,0.999,1e-8
status 2 'a run of --kl-beta is refused by another beta' \
    distil "$@" --schedule cosine:0.1 --kl-direction js
like 'the message tells the beta' 'kl-direction is "js", not "js:0.25"' err
status 2 'a run of --min-lr-ratio is refused by another last rate' \
    distil "$@" --schedule cosine --kl-direction js:0.25
like 'the message tells the last rate' 'schedule is "cosine", not "cosine:0.1"' err
ok 'a run of --min-lr-ratio goes on with --override schedule' \
    distil "$@" --schedule cosine --kl-direction js:0.25 --override schedule
for value in 'lr-embed": 2.0' 'decay-embed": true'; do
    name=${value%%\"*}
    cp old/options.json o
    sed "s/\"$name\": [a-z0-9.]*/\"$value/" o >old/options.json
    status 2 "a run of --$name is refused" \
        distil "$@" --schedule cosine --kl-direction js:0.25
    like "the message names $name" "$name.*student no longer has" err
    mv o old/options.json
done
student -q -m s0 -o early --schedule constant --steps 2 kd && older early &&
    stream -q --resume early data | teacher -q -m teacher -o rest || exit 1
ok 'a run of defaults goes on by defaults' student -q -m s0 --resume early \
    --schedule constant --steps 6 -- rest
same_model 'it ends as a run of this version' early whole

# --- commands ---
ok 'student train trains' student train -q -m s0 --schedule constant --steps 6 -o named kd
same_model 'student train does what student does' whole named
status 2 'a misspelt command is refused' student trian -m s0 -o not kd
like 'the message names the command that was meant' 'student train' err
ok 'the help is printed' student -h
like 'the help lists the commands' '^  train +[a-z]' out
done_testing
