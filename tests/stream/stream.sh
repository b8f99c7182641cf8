#!/bin/sh
# stream over documents: every token once, mixture, resume, damage
. "${0%/*}/../lib/lib.sh"
h=$BUILD/tests/stream/sampler

# value NAME: from the line that `sampler check` has printed
value() {
    sed -n "s/.* *$1=\\([^ ]*\\).*/\\1/p" out
}

# below WHAT VALUE LIMIT
below() {
    if awk "BEGIN { exit !($2 <= $3) }"; then
        pass "$1 is at most $3: $2"
    else
        fail "$1: $2 is over $3"
    fi
}

"$h" make d1 1 3 1500 400 49152 16384 0 0 &&
    "$h" make d2 2 26 1200 300 49152 16384 1 1 &&
    "$h" make wide 3 2 200 300 100000 16384 0 0 || exit 1

ok 'one directory is streamed' stream -B 8 -T 1024 -s 1 d1 -o a
like 'the closing line' \
    ': [0-9]+ tokens in [0-9]+ batches, [0-9]+ tokens/s, padding [0-9.]+ %, wall' err
status 2 'a file for a directory' stream -q a
like 'says what to do' \
    '^stream: a: is a file, no shard directory; store a stream with shard write -o,' err
printf 'Some words of a text.\n' >words.txt
mkdir words
cp words.txt words
status 2 'a text for a directory' stream -q words.txt
like 'says that it is text, and how tokens are made of it' \
    '^stream: words.txt: is text, .*tokenize -t MODEL words.txt [|] shard write -o DATA' err
status 3 'a folder of text for a directory' stream -q words
like 'says how tokens are made of a folder' \
    '^stream: words: no shard directory: manifest.json is missing; of text, tokenize -t MODEL words [|] shard' err
ok 'an epoch is every token once' "$h" check a 1 natural d1
below 'padding of best fit is small, percent' "$(value padding)" 0.5
below 'sources off their share, rows' "$(value off)" 65
ok 'two directories of 26 sources' stream -B 4 -T 512 -s 1 d1 d2 -o b
ok 'two directories give every token once' "$h" check b 1 natural d1 d2
below 'bytes of the longest cursor' "$(value cursor)" 4096
below '26 sources stay near their shares, rows' "$(value off)" 65
ok 'concat reads two epochs' stream -T 512 --pack concat --epochs 2 d1 d2 -o c
ok 'every token twice' "$h" check c 2 natural d1 d2
below 'concat leaves little padding, percent' "$(value padding)" 0.1
ok 'none puts one piece into a row' stream -T 512 --pack none d1 -o c
ok 'none gives every token once' "$h" check c 1 natural d1
ok 'ids of 32 bits are streamed' stream -T 100 wide -o c
ok 'ids of 32 bits come once' "$h" check c 1 natural wide
ok '--alpha 0 makes equal shares' stream --alpha 0 --batches 150 d1 d2 -o c
ok 'repeats what is small' "$h" check c - equal d1 d2
equal '--batches is the number of batches' "$(value batches)" 150
below 'equal shares are kept, rows' "$(value off)" 65
ok '--weights takes names and numbers' \
    stream --weights s0=1,s1=1,s2=1 --batches 40 d1 -o c
ok 'weights are the shares of the stream' "$h" check c - equal d1
below 'weights are kept, rows' "$(value off)" 65
ok '--tokens sets a length' stream --tokens 100000 d1 -o c
ok 'tokens of that length are in order' "$h" check c - natural d1
below 'tokens at least' 100000 "$(value tokens)"
below 'the stream has at most a row more' "$(value tokens)" 101024
ok '--no-shuffle keeps the stored order' \
    stream --pack none --no-shuffle -T 64 d1 -o c
ok 'the stored order gives every token once' "$h" check c 1 natural d1
below 'neighbours stay near' "$(value apart)" 300
ok 'another seed gives another stream' stream -s 2 -B 8 -T 1024 d1 -o c
if cmp -s a c
then fail 'streams of two seeds differ'
else pass 'streams of two seeds differ'
fi
ok 'the same again' stream -B 8 -T 1024 -s 1 d1 -o c
same 'the same command gives the same bytes' a c
ok 'another B makes other batches' stream -B 3 -T 1024 -s 1 d1 -o c
"$h" rows a >rows.a && "$h" rows c >rows.c
same 'another B gives the same rows' rows.a rows.c
for how in '-j 1' '-j 4' '-j 4 --mem 1M' '-j 3 --mem 9M'; do
    # shellcheck disable=SC2086 # two words
    ok "threads and memory may be set: $how" \
        stream $how --open 12 -B 8 -T 1024 -s 1 --epochs 2 d1 d2 -o c
    if [ -e first ]; then same "$how changes no byte" first c; else mv c first; fi
done
ok '--cpus and --numa bind the program' \
    stream --cpus 0 --numa 0 --open 12 -B 8 -T 1024 -s 1 \
    --epochs 2 d1 d2 -o c
same 'binding changes no byte' first c
ok 'bound to one processor' stream -v --cpus 0 --batches 1 -B 1 -T 64 d1 -o c
like 'it has no threads beside' '; 0 threads ahead: ' err
status 2 'no such processor' stream --cpus 99999 d1 -o c
status 2 'no list of processors' stream --cpus x d1 -o c
status 2 'no such node' stream --numa 999 d1 -o c
like 'says how many there are' 'which has [0-9]+' err
ok '-v tells more of the stream' stream -v -T 1024 d1 -o c
like 'tells how far neighbours come apart' 'neighbours on disk come [0-9]+' err
like 'how many pieces are cut' ' [0-9.]+ % of [0-9]+ pieces are cuts;' err
like 'tells where time went' 'waiting for frames 0\.[0-9]' err
# 1 M tokens/s are about 1 % of what there could be: nobody waits but the
# writer, for the reader.  Frames are counted, for on a machine that is full
# everybody also waits for a processor.
for how in d1 k1; do
    [ $how = k1 ] && { stream -q -B 8 -T 1024 d1 -o c && shard write -q -o k1 c; }
    ok "$how: a slow consumer" sh -c 'stream -v -j 2 -B 8 --batches 120 \
        "$1" 2>err.s | "$2" sip 8000' sh "$how" "$h"
    like "$how: the reader is never starved" 'since they were ahead 0 frames late' err.s
    like "$how: who writes waits" 'then of [0-9.]+ s writing took [0-9.]+ \((8|9)[0-9]\.[0-9] %\)' err.s
done
"$h" make large 4 3 6000 400 49152 32768 1 0
status 2 'open frames need memory' stream --open 3000 --mem 2M large -o c
like 'says how much' 'takes [0-9]+ MiB.*--mem' err
ok 'directories are read from stdout too' sh -c 'stream d1 | cat >c'
ok '--dry-run takes --alpha' stream --dry-run --alpha 0.3 d1
like '--dry-run tells the epochs' \
    '^s2(	[0-9]+){2}	0\.[0-9]+	[0-9]+(	[0-9.]+){3}$' out

# Resume: the tail of the whole, byte for byte, at any point.
n=$("$h" check b 1 natural d1 d2 | sed 's/batches=\([0-9]*\).*/\1/')
"$h" filter <b >bf || fail 'filter'
for k in 1 2 77 150 $((n - 1)) "$n"; do
    rm -rf run
    "$h" mark b "$k" run || fail "mark $k"
    ok "resume after message $k" stream --resume run d1 d2 -o r
    ok "resumed after $k, the stream is the tail" "$h" tail b r "$k"
    rm -rf run
    "$h" mark bf $((k + 1)) run || fail "mark $k"
    ok "a filter may stand between, after message $k" \
        sh -c 'stream --resume run d1 d2 >c &&
        "$1" filter <c >r' sh "$h"
    ok "the filtered stream resumed after $k is the tail" \
        "$h" tail bf r $((k + 1))
done
ok 'a stream has weights and concat' \
    stream --weights s0=1,s1=5 --batches 60 -T 300 \
    --pack concat d1 -o c
rm -rf run
"$h" mark c 33 run
ok 'the stream with weights resumes' stream --resume run d1 -o r
ok 'the resumed stream with weights is the tail' "$h" tail c r 33
ok 'options may be said again' stream --resume run --weights s0=1,s1=5 \
    --batches 60 -B 8 -T 300 --pack concat -s 0 d1 -o r
ok 'the resumed stream with --weights given again is the tail' "$h" tail c r 33
# Many sources: the cursor stays small, because it is found again by counting.
"$h" make many 5 500 3000 100 49152 16384 0 0
for how in --epochs=2 --alpha=0.5; do
    ok "500 sources, $how" stream -q -B 4 -T 128 -s 3 $how many -o w
    "$h" check w - natural many >out
    below "the cursor of 500 sources stays short, bytes, $how" \
        "$(value cursor)" 4096
    rm -rf run.many
    "$h" mark w 77 run.many
    [ $how = --epochs=2 ] && how=
    ok "500 sources resume, $how" stream --resume run.many $how many -o r
    ok "500 sources resumed are the tail, $how" "$h" tail w r 77
done
status 2 'weights that only their hash stands for' stream --resume run.many many -o r
like 'the error asks for the weights again' 'give the same option again' err
status 2 'other weights are refused' \
    stream --resume run.many --alpha 0.4 many -o r
like 'the error names the other weights' \
    '0.4 contradicts the resumed stream' err
"$h" make wide16 5 65536 65536 60 1024 1048576 0 0
ok '65536 sources: seconds, not minutes' timeout 60 stream -q wide16 -o w
stream -q -B 4 -T 64 -s 9 d1 | head -c 100000 | shard write -q -o begun 2>err
status 2 'a directory without a shard does not know its options' \
    stream --resume begun d1 -o r
like 'the error says that the directory was begun' \
    'begun: was begun, but holds no shard yet' err
ok 'given, it begins at the beginning' stream --resume begun -B 4 -T 64 -s 9 \
    d1 -o r
stream -q -B 4 -T 64 -s 9 d1 -o c
same 'options given again make the same stream' c r
status 2 'standard input as a directory' stream -
like 'standard input is named in the error' \
    '^stream: -: a stream cannot be read in any order' err
refuse() {
    want=$1
    shift
    status 2 "resuming refuses $*" stream --resume run "$@" d1 -o r
    like "the error about $* says $want" "$want" err
}
refuse '-T 301 contradicts .* 300' -T 301
refuse '-B 7 contradicts .* 8' -B 7
refuse '-s 3 contradicts .* 0' -s 3
refuse 'batches 59 contradicts .* 60' --batches 59
refuse 'tokens 61 contradicts .*--batches 60' --tokens 61
refuse 'pack best contradicts .* concat' --pack best
refuse 'weights s0=1 contradicts' --weights s0=1
refuse 'no-shuffle contradicts' --no-shuffle
status 3 'other data is refused' stream --resume run d1 d2 -o r
like 'the error names the run with other data' \
    'run: its cursor belongs to other data' err
ok 'a run without checkpoint' stream --resume none -B 8 -T 1024 -s 1 d1 -o r
same 'begins at the beginning' a r

# Ranks: rows r, r + n, ... of each batch; a resume may change n.
rank_rows() {       # rows of rank $1 of $2 in batches of 8
    awk -v r="$1" -v n="$2" '(NR - 1) % 8 % n == r' rows.w
}
ok 'a stream without ranks is made' stream -B 8 -T 300 -s 4 --batches 60 d1 -o w
"$h" rows w >rows.w
for n in 2 3 8; do
    for r in 0 $((n - 1)); do
        ok "a rank is streamed: $r/$n" \
            stream --rank $r/$n -B 8 -T 300 -s 4 --batches 60 \
            d1 -o r
        "$h" rows r >rows.a && rank_rows $r $n >rows.b
        same "rank $r/$n has its rows of each batch" rows.a rows.b
    done
done
stream --rank 1/3 -B 8 -T 300 -s 4 --batches 60 d1 -o w3 2>err
rm -rf run
"$h" mark w3 25 run
ok 'a rank resumes' stream --resume run d1 -o r
ok 'the resumed rank is the tail' "$h" tail w3 r 25
ok 'a resumed rank may be another of more' \
    stream --resume run --rank 4/5 d1 -o r
"$h" rows r >rows.a && rank_rows 4 5 | awk 'NR > 25' >rows.b
same 'goes on with its rows' rows.a rows.b
ok 'a resumed rank may be the only one' stream --resume run --rank 0/1 d1 -o r
"$h" rows r >rows.a && awk 'NR > 200' rows.w >rows.b
same 'goes on with all rows' rows.a rows.b
stream --rank 0/5 -B 8 -T 300 d1 -o a0 2>err
stream --rank 4/5 -B 8 -T 300 d1 -o a4 2>err
n0=$("$h" check a0 - natural d1)
n4=$("$h" check a4 - natural d1)
equal 'ranks have as many batches' "${n0%% *}" "${n4%% *}"
for bad in 3/3 x 1 -1/2 9/9; do
    status 2 "a bad rank is refused: $bad" stream --rank "$bad" -B 8 d1 -o r
done

# UniMax and shares that change.
ok '--unimax takes a budget' stream --unimax 2 --tokens 700K -T 512 d1 -o c
ok '--dry-run tells the same' stream --dry-run --unimax 2 --tokens 700K \
    -T 512 d1
awk -F '\t' 'NR > 1 { if ($6 > 2.01) bad = 1; n += $5 }
    END { print bad + 0, (n >= 716800 && n < 717312) }' out >got
echo '0 1' >want
same 'within the cap, and the budget' want got
status 2 'a cap that is too low' stream --unimax 1 --tokens 10M d1 -o r
like 'the error says that sources are too small' 'all sources together have' err
status 2 'a cap without a budget' stream --unimax 1 d1 -o r
cat >plan <<'EOF'
# tokens  shares
50K   weights s0=1       # one alone
120K  alpha 0
EOF
ok '--curriculum changes the weights' \
    stream --weights s1=1,s2=1 --curriculum plan -T 256 \
    --batches 100 d1 -o c
"$h" shares c >out
awk '{ all += $1 + $2 + $3; n = all - $1 - $2 - $3
    k = n < 51200 ? 0 : n < 122880 ? 1 : 2
    for (i = 1; i <= 3; i++) s[k, i] += $i }
    function near(x, y) { return x - y < 20000 && y - x < 20000 }
    END { print near(s[0, 1], 0) && near(s[0, 2], s[0, 3]) &&
        near(s[1, 2] + s[1, 3], 0) && near(s[2, 1], s[2, 2]) &&
        near(s[2, 2], s[2, 3]) }' out >got
echo 1 >want
same 'tokens follow the curriculum' want got
for k in 24 25 26 60; do
    rm -rf run
    "$h" mark c $k run
    ok "the curriculum resumes after $k" \
        stream --resume run --curriculum plan d1 -o r
    ok "the curriculum resumed after $k is the tail" "$h" tail c r $k
done
status 2 'resume without it' stream --resume run d1 -o r
like 'the error names the curriculum' 'has a --curriculum of hash' err
for bad in 'x natural' '5 odd' '5 weights s9=1' '5' '5 natural
4 natural' '# none' '1 natural 1'; do
    echo "$bad" >bad
    status 2 "a curriculum of \"$(echo "$bad" | tail -n 1)\"" stream --curriculum bad --batches 5 \
        d1 -o r
done
like 'names the line' 'stream: bad: line 1: ' err
status 2 'a curriculum without a budget' stream --curriculum plan d1 -o r

# A dry run packs lengths alone, and is exact.
ok '--dry-run counts one epoch' stream --dry-run -B 8 -T 1024 -s 1 d1
awk -F '\t' 'NR > 1 { n += $5 } END { print n }' out >got
"$h" check a 1 natural d1 | sed 's/.* tokens=\([0-9]*\).*/\1/' >want
same 'counts the tokens' want got

# A run that is killed again and again.
rm -rf kd whole
ok 'a directory made at once' sh -c 'stream -B 4 -T 256 -s 5 d1 >c &&
    shard write -o whole --frame 32K --shard-size 60K c'
killed=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
    # What head lets through ends inside a message.
    stream --resume kd -B 4 -T 256 -s 5 d1 2>err.s |
        head -c 400000 2>/dev/null >c
    if shard write -o kd --frame 32K --shard-size 60K c >out 2>err; then break; fi
    killed=$((killed + 1))
done
if [ "$killed" -ge 3 ] && diff -r whole kd >diff.out; then
    pass "killed $killed times, the same directory"
else
    fail "killed $killed times"
    head -5 diff.out err err.s | sed 's/^/# /'
fi

# A directory whose writer died: refused, or taken as far as it goes.
stream -T 256 d1 2>err | head -c 300000 2>/dev/null >c
status 3 'a writer that died' shard write -o dead --frame 32K --shard-size 60K c
status 3 'its directory is refused' stream dead -o c
ok '--partial accepts the directory' stream --partial -B 3 dead -o c
ok 'its rows are whole' "$h" check c - natural d1

# The stream says how many batches it has: student(1) needs that.
announced d1 d2
announced -B 3 -T 100 --epochs 3 d1
announced --pack concat -B 5 -T 64 d1
announced --pack none -T 64 --epochs 2 d2
announced --tokens 100000 d1
announced --weights s0=1,s1=2,s2=7 d1
announced --alpha 0.3 -B 3 d1 d2
announced --unimax 3 --tokens 300000 d1
announced --rank 1/4 -B 6 d1
announced --rank 3/7 --no-shuffle d1
stream -q -B 7 -T 100 --epochs 2 d1 -o w
shard dump -q --messages 1 w >want
rm -rf run
"$h" mark w 30 run
stream -q --resume run d1 -o c
shard dump -q --messages 1 c >shown
equal 'resumed: the same number' "$(grep '^  batches: ' shown)" \
    "$(grep '^  batches: ' want)"
ok 'a very long stream is not counted' \
    sh -c 'stream --tokens 100G d1 2>err.s | head -c 1000 >c'
like 'says how to say it' 'does not say how many it has; --batches 13107200 ' err.s

# Damage and misuse.  What is not read, documents in an index, is not missed:
# the stream is the same.
damaged=0 missed=0
stream d1 >c 2>err
for f in d1/*; do
    rm -rf x
    cp -r d1 x
    g=x/${f##*/}
    size=$(wc -c <"$g")
    byte=$(od -An -tu1 -j $((size / 2)) -N 1 "$g")
    printf '%b' "\\0$(printf %o $((byte ^ 16)))" |
        dd of="$g" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
    got=0
    stream x >r 2>err || got=$?
    [ "$got" = 3 ] && continue
    missed=$((missed + 1))
    case $f in *.index) [ "$got" = 0 ] && cmp -s c r && continue ;; esac
    fail "a flipped bit in $f: status $got"
    damaged=1
done
[ "$damaged" = 1 ] ||
    pass "a flipped bit in any file is exit 3, or changes nothing ($missed)"
rm -rf x
cp -r d1 x
printf x | dd of=x/00000.index bs=1 seek=146 conv=notrunc 2>/dev/null
status 3 'frames of an index' stream x -o c
like 'frames are held against the manifest' \
    'its frames are not those|its hash is not the one' err
printf x | dd of=x/00001.shard.zst bs=1 seek=600 conv=notrunc 2>/dev/null
cp d1/00000.index x
stream x >c 2>err
status 3 'what damage leaves behind' "$h" check c 1 natural d1
like 'the damaged stream is not whole' 'gave up|breaks off|no stream|no end' out
status 2 'stream needs a directory' stream
status 2 'a bad number' stream -B 0 d1
status 2 'two lengths are refused' stream --tokens 5 --epochs 1 d1
status 2 'an unknown source' stream --weights xx=1 d1
like 'the error names the unknown source' 'there is no source "xx"' err
status 2 'two weights of a source' stream --weights s0=1,s0=2 d1
status 2 'the same directory twice' stream d1 d1
status 3 'another tokenizer is refused' stream d1 wide
status 1 'a missing directory is an error' stream none
[ -e /dev/full ] && status 1 'a full disk' stream d1 -o /dev/full
ok 'a reader that leaves' sh -c 'stream d1 | head -c 1000 >c; stream d1 2>err |
    head -c 1000 >c'
stream --alpha 0 --tokens 100G d1 >/dev/null 2>err &
pid=$!
await catches $pid 15
kill -TERM $pid
got=0
wait $pid || got=$?
equal 'a signal ends it with status 5' "$got" 5
like 'the error says that it was interrupted' 'interrupted' err
done_testing
