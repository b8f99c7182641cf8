#!/bin/sh
# Fuzz targets of streams and shards over their small corpora.
. "${0%/*}/../lib/lib.sh"
replay msg 12
replay shard 12
replay cursor 12
# A manifest, index, table, frame and shard of either codec: by the first byte.
for f in "$top"/tests/fuzz/corpus-shard/*; do head -c 1 "$f"; done >kinds
equal 'shard: every part' "$(fold -w 1 kinds | sort -u | tr -d '\n')" LZilmsz
done_testing
