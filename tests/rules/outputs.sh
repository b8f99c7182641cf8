#!/bin/sh
# Two outputs of a program are not the same file
. "${0%/*}/../lib/lib.sh"

mkdir -p here/below
ln -s here there
: >here/old
echo '{"text": "one text"}' >in.jsonl
ln here/old linked
ln -s here/old symbolic

# refused WHAT option option command ...: status 2, and the message names both
refused() {
    what=$1 one=$2 two=$3
    shift 3
    status 2 "$what" "$@"
    like "$what: the message names both" "file of $one and of $two" err
}
# every program with two outputs, by one name
refused 'clean: documents and held-out text' -o --hold-out \
    clean in.jsonl -o a --hold-out 30%:a
refused 'clean: held-out text and what was dropped' --hold-out --dropped \
    clean in.jsonl --hold-out 1%:a --dropped a
refused 'clean: what was dropped and the report' --dropped --exclude-report \
    clean in.jsonl --exclude in.jsonl --dropped a --exclude-report a
refused 'evalppl: report and details' -o --detail evalppl -m none -o a --detail a
refused 'evalppl: losses and finished work' --token-losses --resume \
    evalppl -m none --token-losses a --resume a
refused 'evaltask: report and items' -o --items \
    evaltask -m none --task cloze=none -o a --items a
refused 'prune: model and report' -o --report prune -m none -o a --report a
refused 'prune sparsify: model and report' -o --report \
    prune sparsify -m none -o a --report a --pattern 2:4
refused 'prune vocab: model and report' -o --report prune vocab -m none -o a --report a
refused 'prune search: choice and log' -o --log \
    prune search -m none -o a --log a --ratio 0.5
refused 'student: run and timeline' -o --timeline student -m none -o a --timeline a
refused 'student: timeline and log of messages' --timeline --comm-log \
    student -m none -o a --timeline b.json --comm-log b
refused 'student dpo: timeline and stored references' --store-reference --timeline \
    student dpo -m none -o a --timeline b --store-reference b
ls >left
unlike 'nothing was written' '^[ab]$' left

# one file by two names
both() {
    refused "$1" -o --hold-out clean in.jsonl -o "$2" --hold-out "30%:$3"
}
both 'a new file by another path' here/new ./here/below/../new
both 'a new file in a folder behind a link' here/new there/new
both 'an old file behind a symbolic link' here/old symbolic
both 'an old file by a hard link' linked here/old
refused 'standard output redirected to the same file' -o --hold-out \
    sh -c 'clean in.jsonl --hold-out 30%:a >a'
ok 'two outputs may go to /dev/null' clean in.jsonl -o /dev/null --dropped /dev/null
ok 'files of one name in two folders differ' clean in.jsonl -o here/x --hold-out 30%:x
done_testing
