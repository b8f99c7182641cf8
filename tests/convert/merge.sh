#!/bin/sh
# convert merge: average, slerp and TIES are mergekit's formulas
# (scripts/oracle/merge.py)
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden/merge

# numbers MODEL: its weights, a line each
numbers() {
    head=$(($(od -A n -t u8 -N 8 "$1/model.safetensors") + 8))
    od -A n -v -t f4 -w4 -j $head "$1/model.safetensors"
}
# near WHAT A B: their weights differ by at most 1e-6
near() {
    numbers "$2" >a.n
    numbers "$3" >b.n
    if paste a.n b.n | awk '{ d = $1 - $2; n++; if (!(d * d <= 1e-12)) bad = 1 }
        END { exit !(n > 3000 && !bad) }'
    then pass "$1"; else fail "$1"; fi
}
merge() { convert merge -q "$@"; }

for m in average slerp ties; do # in the layout of our files
    convert -q "$golden/$m" "want-$m" 2>/dev/null || fail "the golden model $m is read"
done
ok 'two models are averaged' merge "$golden/a" "$golden/b" average
near 'the average is that of mergekit' average want-average
ok 'slerp goes between two models' merge --method slerp --at 0.3 "$golden/a" "$golden/b" slerp
near 'slerp is that of mergekit' slerp want-slerp
ok 'ties merges models of one base' merge --method ties --density 0.4 "$golden/base" \
    "$golden/a" "$golden/b" ties
near 'ties is that of mergekit' ties want-ties
ok 'the first end of slerp is the first model' merge --method slerp --at 0 "$golden/a" \
    "$golden/b" first
ok 'a GGUF is averaged with itself' sh -c "convert -q $golden/a a.gguf &&
    convert merge -q a.gguf $golden/a same && convert -q $golden/a a"
near 'a GGUF and its directory are the same model' same a
near 'slerp at 0 gives the first model' first a
ok 'the result is loaded' convert -q average average.gguf

# --- what is refused ---
status 2 'slerp of three models is refused' merge --method slerp "$golden/a" "$golden/b" \
    "$golden/base" x
like 'the message says how many' 'slerp.*two' err
status 2 'ties without a base is refused' merge --method ties "$golden/a" "$golden/b" x
like 'the message asks for the base' 'ties.*base' err
status 3 'models of two shapes are refused' merge "$golden/a" "$golden/../grad/tied-student" x
like 'the message names both' 'tied-student.*merge/a' err
cp "$golden/../family/qwen3_5.gguf" "it's.gguf" || exit 1
status 3 'a GGUF with another order of heads is refused' merge "it's.gguf" \
    "$golden/../family/qwen3_5" x
sed -n 's/.*make a folder of it first (\(.*\))$/\1/p' err >command
ok 'the command in the message makes a folder' sh ./command
ok 'the folder that the command made can be merged' merge folder "$golden/../family/qwen3_5" heads
status 2 'an output that exists is refused' merge "$golden/a" "$golden/b" average
status 1 'a model that does not exist is refused' merge "$golden/a" none x
[ ! -e x ] && pass 'nothing is left of refused merges' || fail 'nothing is left of refused merges'
done_testing
