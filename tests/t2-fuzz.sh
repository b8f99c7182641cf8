#!/bin/sh
# Fuzz targets of streams and shards over their small corpora; see t1-fuzz.sh
. "${0%/*}/lib.sh"
for target in msg shard cursor; do
    ok "$target: its corpus" "$BUILD/fuzz/replay-$target" \
        "$top/tests/fuzz/corpus-$target"/*
    n=$(grep -c '^ok' out)
    if [ "$n" -ge 12 ]; then pass "$target: $n files"
    else fail "$target: $n files"; fi
done
# A manifest, index, table, frame and shard of either codec: by the first byte.
for f in "$top"/tests/fuzz/corpus-shard/*; do head -c 1 "$f"; done >kinds
equal 'shard: every part' "$(fold -w 1 kinds | sort -u | tr -d '\n')" LZilmsz
done_testing
