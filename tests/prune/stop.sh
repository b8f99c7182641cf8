#!/bin/sh
# prune, its vocab, cut and profile: ended while they write, they leave nothing
# that looks whole, and run again they write the same bytes
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

# 57 MB, so that it takes a while
config big.json 6 384 1536
student -q -m big.json -t tok -o big --steps 1 --schedule constant one &&
    head -n 20 "$top/corpus/en.jsonl" >text &&
    tokenize -q -t big -o docs text && batches 40 >b || exit 1
printf '# retort choice 1\nblock\tgroups\tchannels\n' >choice
for i in 0 1 2 4 5; do printf '%s\tall\tall\n' $i; done >>choice

run_vocab() { $exec prune vocab -q -m big -o "$1" docs; }
run_cut() { $exec prune cut -q -m big -o "$1" --choice choice --no-repair; }
run_prune() { $exec prune -q -m big -o "$1" --blocks 5 --calib-rows 4 b; }
run_profile() { $exec prune profile -q -m big -o "$1" --hessian b; }
exec=

# ended SIGNAL: run X and end it once it writes; 0: in the middle
ended() {
    rm -rf X X.*
    { exec='exec'; "run_$what" X; } 2>err &
    pid=$!
    await [ -e X.tmp ]
    kill -"$1" $pid
    ! wait $pid 2>/dev/null && ! [ -e X ]
}

for what in vocab cut prune profile; do
    rm -rf X
    ok "$what runs undisturbed" "run_$what" X
    mv X "$what"
    ended TERM
    if [ -e X ]; then
        ok "$what finishes its output after TERM" diff -r "$what" X
    else
        equal "$what leaves no output after TERM" "$(ls -d X* 2>&-)" ''
    fi
    tries=0
    until ended KILL || [ $((tries += 1)) -ge 20 ]; do :; done
    ok "$what is killed while it writes" test -e X.tmp -a ! -e X
    ok "$what runs again after KILL" "run_$what" X
    ok "$what writes the same bytes after KILL" diff -r "$what" X
    equal "$what leaves nothing else after KILL" "$(ls -d X*)" X
done
done_testing
