#!/bin/sh
# tokenize --resume: a directory killed while it grew ends as if it had not been
. "${0%/*}/lib.sh"
. "$top/tests/pipe.sh"
gold=$top/tests/golden/tok
tok=$gold/digits.json

# Inputs of each kind: plain, JSONL, compressed, archives, a dump
mkdir in m
for i in 1 2 3 4 5 6; do
    for k in 1 2 3 4 5 6 7 8 9 10; do
        cat "$gold/train.txt" "$top"/corpus/bg.jsonl "$top"/corpus/el.jsonl
        echo "$i$k"
        echo
    done
done >in/a.txt
for i in 1 2 3 4 5 6 7 8 9; do
    cat "$top"/corpus/[a-e]*.jsonl
done >in/b.jsonl
gzip -c in/b.jsonl >in/c.jsonl.gz
cp in/b.jsonl m/x.jsonl
cp in/a.txt m/y.txt
tar cf in/d.tar m
gzip -c in/d.tar >in/e.tar.gz
{
    echo '<mediawiki xml:lang="en">'
    i=0
    while [ $i -lt 800 ]; do
        i=$((i + 1))
        echo "<page><title>P $i</title><ns>$((i % 3 / 2))</ns><revision>"
        echo "<text>Page $i of [[book|the ''book'']] {{hidden|$i}}</text>"
        echo '</revision></page>'
    done
    echo '</mediawiki>'
} >in/pages-articles.xml

small='--frame 2K --shard-size 1K'
ok 'undisturbed' sh -c "tokenize -q -t '$tok' --split blank in |
    shard -q $small -o want"
rm -f out err
n=$(find want -name '*.zst' | wc -l)
[ "$n" -ge 10 ] && pass "$n shards" || fail "only $n shards"

# go MS OPTIONS VICTIM: one run of the pipeline; the victim is killed after so
# many milliseconds, unless that is 0
go() {
    rm -f pid.*
    start "stage tokenize tokenize -q -t $tok --split blank --resume d $2 in |
        stage shard shard -q $small -o d" tokenize shard
    if [ "$1" != 0 ]; then
        sleep "$(printf '0.%03d' "$1")"
        kill -9 "$(cat "pid.$3")" 2>/dev/null
    fi
    finish
}

# Kills fall into the time that a whole run takes.
from=$(date +%s%N)
go 0 '-j 2' tokenize
span=$((($(date +%s%N) - from) / 1000000))
[ "$span" -lt 990 ] || span=990
same 'through the test, the same' want/manifest.json d/manifest.json

kills=5
is_long && kills=100
wrong='' hit=0 k=0 seed=12345
while [ $k -lt $kills ]; do
    k=$((k + 1))
    rm -rf d
    for victim in tokenize shard; do
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        go $((seed / 65536 % span + 1)) "-j $((k % 3 + 1))" $victim
        case $got in *137*) hit=$((hit + 1)) ;; esac
    done
    go 0 "-j 2" tokenize
    case $got in
    '0 0') ;;
    '2 '*) ;;                   # it had been complete
    *) wrong="$wrong run $k: $got;" ;;
    esac
    diff -r want d >diff.out 2>&1 || wrong="$wrong run $k differs;"
done
equal "$kills directories, killed twice each ($hit times in time)" "$wrong" ''

# What does not fit is refused by name
rm -rf d
k=0
until [ -e d/00001.index ] || [ $k -gt 900 ]; do
    rm -rf d
    k=$((k + 20))
    go $k '-j 1' tokenize
done
cp -r d d2
refused() {
    status 2 "$1" sh -c "tokenize -q -t '${2:-$tok}' --resume d2 $3 >s"
    like 'is refused' "$4" err
}
refused 'other options' '' '--split line in' 'd2: was begun with other options'
refused 'other input' '' '--split blank in/a.txt' \
    'd2: was begun with other input'
refused 'another tokenizer' "$gold/gpt2.json" '--split blank in' \
    'd2: was begun with another tokenizer'
ok 'what grew since' cp -r in in2
echo more >>in/a.txt
refused 'is other input' '' '--split blank in' 'other input'
cp in2/a.txt in/a.txt
ok 'and with the right ones' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in | shard -q -o d2"
ok 'it is the same' diff -r want d2
status 2 'nothing is left to do' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in >s"
like 'is said' 'd2: is complete: there is nothing to resume' err
ok 'a directory that is not there' sh -c "
    tokenize -t '$tok' --split blank --resume none in >s"
like 'is begun' 'none: nothing to resume, starting at the beginning' err
done_testing
