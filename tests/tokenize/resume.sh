#!/bin/sh
# tokenize --resume: a directory that was killed while it grew ends as if it had
# not been
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
# undisturbed one, want
seed=12345
killed() {
    rm -rf d want
    ok "$2: the pipe runs undisturbed" sh -c "tokenize -q -t '$tok' $2 |
        shard write -q $small -o want"
    rm -f out err
    # Kills fall into the time that a whole run takes.
    from=$(date +%s%N)
    go 0 "-j 2 $2"
    span=$((($(date +%s%N) - from) / 1000000))
    ok "$2: --resume begins the same directory" diff -r want d
    wrong='' hit=0 k=0
    while [ $k -lt "$1" ]; do
        k=$((k + 1))
        rm -rf d
        for victim in tokenize shard; do
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            go $((seed / 65536 % span + 1)) "-j $((k % 3 + 1)) $2" $victim
            case $got in *137*) hit=$((hit + 1)) ;; esac
        done
        go 0 "-j 2 $2"
        case $got in
        '0 0' | '2 '*) ;;       # 2: it had been complete
        *) wrong="$wrong run $k: $got;" ;;
        esac
        diff -r want d >diff.out 2>&1 || wrong="$wrong run $k differs;"
    done
    equal "$2: $1 directories end as the undisturbed one" "$wrong" ''
    echo "# $hit of $((2 * $1)) kills came in time"
}

many=100
is_long || many=3
killed $many '--split blank in'
n=$(find want -name '*.zst' | wc -l)
[ "$n" -ge 10 ] && pass 'the directory has 10 shards or more' ||
    fail "the directory has 10 shards or more, not $n"

# What does not fit is refused by name
rm -rf d
tokenize -q -t "$tok" --split blank -o whole in
# shellcheck disable=SC2086 # words
head -c $(($(wc -c <whole) / 2)) whole | shard write -q $small -o d 2>err
cp -r d d2
refused() {
    status 2 "--resume refuses $1" sh -c "tokenize -q -t '${2:-$tok}' --resume d2 $3 >s"
    like "the message names $1" "$4" err
}
refused 'other options' '' '--split line in' 'd2: was begun with other options'
refused 'other input' '' '--split blank in/a.txt' \
    'd2: was begun with other input'
refused 'another tokenizer' "$gold/gpt2.json" '--split blank in' \
    'd2: was begun with another tokenizer'
cp -r in in2
echo more >>in/a.txt
refused 'input that grew' '' '--split blank in' 'other input'
size=$(wc -c <in/a.txt)
for at in 0 $((size / 2)) $((size - 1)); do
    cp in2/a.txt in/a.txt
    printf '#' | dd of=in/a.txt bs=1 seek=$at conv=notrunc 2>dd.log
    refused "input with another byte at $at" '' '--split blank in' 'other input'
done
cp in2/a.txt in/a.txt
ok '--resume goes on with the same input' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in | shard write -q -o d2"
ok 'the directory is whole' diff -r want d2
status 2 '--resume refuses a complete directory' sh -c \
    "tokenize -q -t '$tok' --split blank --resume d2 in >s"
like 'the message says that it is complete' 'd2: is complete: there is nothing to resume' err
ok '--resume takes a directory that is not there' sh -c "
    tokenize -t '$tok' --split blank --resume none in >s"
like 'the message says that it begins' 'none: nothing to resume, starting at the beginning' err
done_testing
