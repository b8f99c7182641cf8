#!/bin/sh
# Fuzz targets of tokenizers over their small corpora.
. "${0%/*}/../lib/lib.sh"
replay tok_file 20
replay tok_text 20
done_testing
