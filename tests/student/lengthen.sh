#!/bin/sh
# A finished run that is made longer: stream's --batches, student's steps
. "${0%/*}/../lib/lib.sh"

gguf=$top/tests/golden/gguf/f32.gguf
tokenize -q -t "$gguf" "$top"/corpus/en.jsonl "$top"/corpus/de.jsonl \
    -o docs && shard write -q -o data docs || fail 'shards'

batches() { stream -q -T 32 -B 2 -s 1 --batches "$@" data; }
trains() { student -m "$gguf" -o run --lr 3e-4 --warmup 2 --save 3 "$@"; }
# ids FILE: the tokens of a stream, a line for each batch
ids() {
    shard dump -q --values 64 "$1" >shown && grep '^  ids ' shown
}

batches 6 >six && trains six 2>err || fail 'a run of 6 steps'
if [ -e run/config.json ]; then pass 'is finished'; else fail 'is finished'; fi

# --- longer ---
ok 'a longer stream is made' stream -B 2 -T 32 --resume run --batches 10 -o rest data
like 'the message tells both lengths' '10 batches.* 6' err
batches 10 >ten
ids ten | tail -n 4 >want
ids rest >got
same 'the stream has the tokens of one that was as long from the start' want got
cp -r run before
status 2 'a longer run needs --override steps' trains --resume -- rest
like 'the message names steps and --override' 'steps is 10, not 6.*--override steps' err
# Versions that tuned messages between ranks recorded it in options.json.
sed 's/ "options": {/"tuned": [{"step": 26, "ranks": 2, "segment": 4096}],\
&"tune-comm": true,/' run/options.json >o && mv o run/options.json
like 'the run was tuned by an earlier version' 'tune-comm.*true' run/options.json
ok 'a run is made longer' trains --resume --override steps rest
like 'the run tells both its lengths' 'steps was 6, and is 10 after step 6' err
unlike 'tuning of an earlier version is ignored' 'tune' run/options.json
equal 'the log has all steps' "$(sed 1d run/metrics.tsv | cut -f 1 |
    tr '\n' ' ')" '1 2 3 4 5 6 7 8 9 10 '
# rates FROM TO OF: cosine to 0 after 2 steps of warm-up, 3e-4 at its peak
rates() {
    awk -v from="$1" -v to="$2" -v n="$3" 'BEGIN {
        for (k = from - 1; k < to; k++) {
            rate = 3e-4 * k / 2
            if (k >= 2)
                rate = 1.5e-4 * (1 + cos(3.14159265358979 * (k - 2) / (n - 2)))
            printf "%d\t%.9g\n", k + 1, rate
        } }'
}
{ rates 1 6 6; rates 7 10 10; } >want
sed 1d run/metrics.tsv | cut -f 1,8 >got
near 'rates are those of 6 steps, then those of 10' 1e-6 want got
like 'options.json has both lengths of the run' '"name": "steps"' run/options.json

# --- and what is refused ---
status 2 'a shorter stream is refused' stream -q --resume run --batches 4 -o x data
like 'the message tells the length of the stream' '4 contradicts .* 10' err
status 2 'a length of another kind is refused' stream -q --resume run --epochs 9 -o x data
stream -q -T 32 -B 2 --epochs 1 data >all
rm -r run
stream -q -T 32 -B 2 --epochs 1 data | trains --steps 3 2>err
status 2 'more epochs are refused' stream -q --resume run --epochs 2 -o x data
like 'the message tells what can be made longer' '[-]-batches' err

# --- a mixture for a budget stays that of the first length ---
rm -r run
stream -q -T 32 -B 2 --batches 4 --unimax 1 data | trains 2>err
ok 'a longer stream keeps the weights of --unimax' stream -q --resume run \
    --batches 12 --unimax 1 -o rest data
status 2 'a longer stream refuses another --unimax' stream -q --resume run --batches 12 \
    --unimax 0.001 -o rest data

done_testing
