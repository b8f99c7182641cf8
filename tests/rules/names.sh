#!/bin/sh
# Names that hold anything: no message, table or listing of any program passes
# on what a terminal would obey, or a newline that begins a false line
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
grad=$top/tests/golden/grad

# A window title, a newline, a C1 control, a mark that turns the direction of
# writing and bytes that are not UTF-8, between letters that stay.
bad=$(printf 'a\033]0;b\007c\nd: e\302\233f\342\200\256g\377\342\202h\321\204')
shown='a\x1b]0;b\x07c\x0ad: e\xc2\x9bf\xe2\x80\xaeg\xff\xe2\x82hф'
# The name of a source, in which tokenize replaces control bytes itself.
source=$(printf 'ab\302\205c\342\200\256d\321\204')
shown_source='ab\xc2\x85c\xe2\x80\xaedф'

# plain WHAT FILE: nothing in it but text
plain() {
    LC_ALL=C tr -d '\n\t\40-\176\321\204' <"$2" >rest
    equal "$1: nothing but text" "$(od -An -tx1 rest)" ''
}

# names WHAT TEXT FILE: the text is there as it stands
names_it() {
    if grep -Fq -- "$2" "$3"; then pass "$1 names it"
    else
        fail "$1 names it"
        head -n 5 "$3" | cat -v | sed 's/^/# /'
    fi
}

# tell PROGRAM WHAT argument ...: it fails, and says clearly over what
tell() {
    p=$1 what="$1, $2"
    shift 2
    rc=0
    "$p" "$@" >out 2>err </dev/null || rc=$?
    if [ "$rc" -ge 1 ] && [ "$rc" -le 3 ]; then pass "$what: fails"
    else fail "$what: status $rc"; fi
    plain "$what" err
    names_it "$what" "$shown" err
    equal "$what: no line is another's" "$(grep -cv "^${p}[: ]" err)" 0
}
for p in $(names); do
    tell "$p" 'a name of no option' "--$bad"
done
tell bpe 'no file' -o x "$bad"
tell tokenize 'no file' -t tok "$bad"
tell tokenize 'no tokenizer' -t "$bad"
tell tokenize 'nowhere to write' -t tok -o "$bad/x" "$top/corpus/mt.jsonl"
tell shard 'no stream' write -o x "$bad"
tell shard 'no directory' list "$bad"
tell stream 'no directory' "$bad"
tell stream 'a word' --pack "$bad" data
tell teacher 'no model' -m "$bad"
tell generate 'no model' run -m "$bad" x
tell student 'no model' -m "$bad" -o x data
tell prune 'no model' -m "$bad" -o small --ratio 0.5
tell plan 'no model' -m "$bad"
tell convert 'no model' "$bad" x.gguf
tell evalppl 'no model' -m "$bad"
tell evalppl 'no stream' -m "$grad/tied-student" "$bad"
tell evaltask 'no model' -m "$bad" --task x=y
tell evaltask 'no form' -m "$top/tests/golden/gguf/f32-hf" --task "$bad=y"
mkdir "$bad"
printf '{"a' >"$bad/manifest.json"
printf '{"a' >"$bad/config.json"
printf '{"a' >"$bad/tokenizer.json"
tell shard 'a broken directory' list "$bad"
tell stream 'a broken directory' "$bad"
tell plan 'a broken model' -m "$bad"
tell tokenize 'a broken tokenizer' -t "$bad"

# ---- tables ----
printf 'one two three\n' >x.txt
# table WHAT: out and err of a good run are text, and name the source
table() {
    plain "$1" out
    plain "$1, messages" err
    names_it "$1" "$shown_source" out
}
rm -r "$bad"
ok 'tokenize --stats takes a source of odd letters' tokenize -t tok --lang "$source" --stats x.txt
table 'tokenize --stats'
ok 'tokenize writes a stream of that source' tokenize -t tok --lang "$source" -o docs x.txt
ok 'shard writes a directory with an odd name' shard write -q -o "$bad" docs
ok 'shard check reads an odd name' shard check "$bad"
plain 'shard check' out
plain 'shard check, messages' err
names_it 'shard check' "$shown: good" out
ok 'shard list reads an odd source' shard list "$bad"
table 'shard list'
ok 'shard dump reads an odd source' shard dump -t tok "$bad"
table 'shard dump'
ok 'stream --dry-run reads an odd source' stream --dry-run "$bad"
table 'stream --dry-run'
ok 'documents for evalppl are written' "$BUILD/tests/evalppl/eval" "$grad/tied.safetensors" docs bare
for format in text tsv; do
    ok "evalppl judges an odd source, as $format" evalppl -m "$source=$grad/tied-student" \
        --base "T=$grad/tied-teacher" --per-source --compare \
        --format $format bare
    table "evalppl, $format"
done
form=$top/recipes/tasks/blimp.form
for format in text tsv; do
    ok "evaltask judges an odd model, as $format" evaltask -m "$source=$top/tests/golden/gguf/f32-hf" \
        --compare --format $format --task "$form=$top/tests/golden/tasks/blimp.jsonl"
    table "evaltask, $format"
done
done_testing
