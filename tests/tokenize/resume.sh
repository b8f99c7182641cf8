#!/bin/sh
# tokenize --resume: a directory killed while it grew ends as if it had not been
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/pipe.sh"
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
{   # a document that is too long to be held
    printf '{"text": "'
    awk 'BEGIN { for (i = 0; i < 16000; i++)
        printf "sentence %d of a long text, that tells of %d things and goes " \
            "on and on\\n", i, i % 700 }'
    printf '"}\n'
} >in/bb.jsonl
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

# go MS OPTIONS VICTIM: one run of the pipeline; the victim is killed after so
# many milliseconds, unless that is 0
go() {
    rm -f pid.*
    start "stage tokenize tokenize -q -t $tok --resume d $2 |
        stage shard shard write -q $small -o d" tokenize shard
    if [ "$1" != 0 ]; then
        sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
        kill -9 "$(cat "pid.$3")" 2>/dev/null
    fi
    finish
}

# killed KILLS OPTIONS: directories that are killed again and again end as an
# undisturbed one, want, and so does what --dropped writes
seed=12345
killed() {
    rm -rf d want
    ok "$2: undisturbed" sh -c "tokenize -q -t '$tok' $2 --dropped dropped |
        shard write -q $small -o want"
    rm -f out err
    # Kills fall into the time that a whole run takes.
    from=$(date +%s%N)
    go 0 "-j 2 $2 --dropped dropped2"
    span=$((($(date +%s%N) - from) / 1000000))
    ok 'through the test, the same' diff -r want d
    same 'and the same is dropped' dropped dropped2
    wrong='' hit=0 k=0
    while [ $k -lt "$1" ]; do
        k=$((k + 1))
        rm -rf d dropped2
        for victim in tokenize shard; do
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            go $((seed / 65536 % span + 1)) "-j $((k % 3 + 1)) $2" $victim
            case $got in *137*) hit=$((hit + 1)) ;; esac
        done
        go 0 "-j 2 $2 --dropped dropped2"
        case $got in
        '0 0') cmp dropped dropped2 >diff.out 2>&1 ||
            wrong="$wrong run $k drops something else;" ;;
        '2 '*) ;;               # it had been complete
        *) wrong="$wrong run $k: $got;" ;;
        esac
        diff -r want d >diff.out 2>&1 || wrong="$wrong run $k differs;"
    done
    equal "$1 directories, killed twice each ($hit times in time)" "$wrong" ''
}

many=100
is_long || many=3
killed $many '--split blank in'
n=$(find want -name '*.zst' | wc -l)
[ "$n" -ge 10 ] && pass "$n shards" || fail "only $n shards"
cp -r want plain
# What is dropped depends on what was there before.
killed $many '--split line --boilerplate 40 --dedup exact --dedup minhash in'
like 'duplicates' dup- dropped
like 'lines were cut' boilerplate-lines dropped
rm -rf want
mv plain want

# What does not fit is refused by name
rm -rf d
tokenize -q -t "$tok" --split blank -o whole in
# shellcheck disable=SC2086 # words
head -c $(($(wc -c <whole) / 2)) whole | shard write -q $small -o d 2>err
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
size=$(wc -c <in/a.txt)
for at in 0 $((size / 2)) $((size - 1)); do
    cp in2/a.txt in/a.txt
    printf '#' | dd of=in/a.txt bs=1 seek=$at conv=notrunc 2>dd.log
    refused "another byte at $at" '' '--split blank in' 'other input'
done
cp in2/a.txt in/a.txt
ok 'and with the right ones' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in | shard write -q -o d2"
ok 'it is the same' diff -r want d2
status 2 'nothing is left to do' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in >s"
like 'is said' 'd2: is complete: there is nothing to resume' err
ok 'a directory that is not there' sh -c "
    tokenize -t '$tok' --split blank --resume none in >s"
like 'is begun' 'none: nothing to resume, starting at the beginning' err
done_testing
