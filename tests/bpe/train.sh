#!/bin/sh
# bpe --weights: how often sources count
. "${0%/*}/../lib/lib.sh"

for x in a:en:20 b:de:10 c:bg:5; do
    lang=${x#?:}
    head -n "${x##*:}" "$top/corpus/${lang%:*}.jsonl" >"${x%%:*}.txt"
done

# train OUT option ...: all merges that occur, so that --min-frequency counts
train() {
    tap_out=$1
    shift
    ok "training of $tap_out" bpe -q --vocab 100000 -o "$tap_out" \
        "$@"
}

# differ WHAT file file
differ() {
    if cmp -s -- "$2" "$3"; then fail "$1"; else pass "$1"; fi
}

# Whole numbers: the same as text that is there so often
train once.json a.txt b.txt c.txt
train ones.json --weights a=1,c=1.000 a.txt b.txt c.txt
same 'weights of 1 change nothing' once.json ones.json
train weighted.json --weights b=3,a=2 a.txt b.txt c.txt
train repeated.json a.txt a.txt b.txt b.txt b.txt c.txt
same 'whole weights are repeated text' weighted.json repeated.json
differ 'whole weights change the tokenizer' weighted.json once.json
train seven.json --weights c=7 --min-frequency 6 a.txt b.txt c.txt
train seven2.json --min-frequency 6 a.txt b.txt c.txt c.txt c.txt c.txt \
    c.txt c.txt c.txt
same 'weights count before --min-frequency' seven.json seven2.json
train j3.json -j 3 --weights b=3,a=2 a.txt b.txt c.txt
same 'threads change nothing' weighted.json j3.json

# Decimals: of text that is there two times a half is once
train half.json --weights a=0.5 a.txt a.txt b.txt c.txt
same 'a half of two is one' once.json half.json
train fifth.json --weights a=0.2,b=0.25,c=0.125 a.txt a.txt a.txt a.txt a.txt \
    b.txt b.txt b.txt b.txt c.txt c.txt c.txt c.txt c.txt c.txt c.txt c.txt
same 'a fifth of five is one' once.json fifth.json

# Equal: sources of 4000, 2000 and 1000 bytes
for x in d:en:4000 e:fr:2000 f:de:1000; do
    lang=${x#?:}
    LC_ALL=C tr -c ' -~\n' '?' <"$top/corpus/${lang%:*}.jsonl" |
        head -c "${x##*:}" >"${x%%:*}.txt"
done
equal 'the texts have 7000 bytes' "$(cat d.txt e.txt f.txt | wc -c | tr -d ' ')" 7000
train equal.json --weights equal d.txt e.txt f.txt
train factors.json --weights e=2,f=4 d.txt e.txt f.txt
same 'equal gives all as much as the largest' equal.json factors.json
train plain.json d.txt e.txt f.txt
differ 'equal changes the tokenizer' equal.json plain.json
train equal3.json --weights f=0.5,equal d.txt e.txt f.txt
train factors3.json d.txt e.txt e.txt f.txt f.txt
same 'equal multiplies other weights' equal3.json factors3.json
train lines.json --weights equal --split line -j 2 d.txt e.txt f.txt
train lines2.json --weights equal --split line -j 1 d.txt e.txt f.txt
same 'equal does not depend on threads' lines.json lines2.json
train third.json --weights equal d.txt f.txt e.txt a.txt
ok 'a factor that is no whole number trains' tokenize -q --ids -t third.json a.txt

# Sources out of records; one of them has nothing
printf '{"text":"%s","l":"x"}\n{"text":"%s","l":"y"}\n' \
    'alpha beta alpha' 'gamma delta gamma' >r.jsonl
train records.json --lang x,y,z --lang-field l --weights x=2,z=9 r.jsonl
train records2.json --min-frequency 1 --lang x,y,z --lang-field l \
    --weights equal,x=2 r.jsonl
printf 'alpha beta alpha' >g.txt
printf 'gamma delta gamma' >h.txt
train files.json g.txt g.txt h.txt
same 'sources of records have weights' records.json files.json

for bad in a a= a=x a=0 a=0.0 a=-1 a=+1 a=1e3 a=1.2345 a=.5 a=1. a=1000001 \
    a=99999999999999999999 a=nan 'a= 1' a=1,a=2 =1 '' ',' 'a=1,' equal=2 \
    Equal b=1,d=1 nothere=1 a.txt=1; do
    status 2 "--weights '$bad' is refused" bpe -q -o bad.json \
        --weights "$bad" a.txt b.txt
    like "the message on '$bad' names --weights" '^bpe: --weights: ' err
done
status 3 'counts of more than 64 bits are refused' bpe -q -o bad.json \
    --weights equal,en=1000000,b=0.001 "$top/corpus/en.jsonl" b.txt
like 'the message says that 64 bits are too few' '^bpe: --weights: so much text .* 64 bits' err
[ ! -e bad.json ] || fail 'a tokenizer was written'
done_testing
