#!/bin/sh
# Fuzz targets over their small corpora, by a plain driver; make fuzz builds
# them for libFuzzer.
. "${0%/*}/lib.sh"
for target in tok_file tok_text; do
    ok "$target: its corpus" "$BUILD/fuzz/replay-$target" \
        "$top/tests/fuzz/corpus-$target"/*
    n=$(grep -c '^ok' out)
    if [ "$n" -ge 20 ]; then pass "$target: $n files"
    else fail "$target: $n files"; fi
done
done_testing
