#!/bin/sh
# clean: how much time and memory long documents take
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/long.sh"

measured() {
    clean -o s "$@"
}
case $BUILD in
*address* | *thread*) skip 'time of long texts' 'a sanitizer takes more' ;;
*)
    time_texts
    quick 'a text of marks with --nfc' base.txt --nfc
    quick 'marks alone with --nfc' marks.txt --nfc --strip-controls
    quick 'a text of escapes' colon.txt
    ;;
esac
case $BUILD in
*address* | *thread*) skip 'memory of long texts' 'a sanitizer takes more' ;;
*)
    memory_texts
    within random.txt -j 2 --nfc --strip-controls
    for file in line.txt lines.txt empty.txt random.txt line.jsonl; do
        within $file -j 2 --boilerplate 2 --mem 1M
        within $file -j 2 --min-chars 9 --dedup exact --dedup minhash --mem 1M
        within $file -j 2 --gopher-repetition --gopher-quality \
            --dropped d.jsonl
    done
    ;;
esac
done_testing
