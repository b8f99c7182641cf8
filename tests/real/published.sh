#!/bin/sh
# config.json files of published models: make check-real PUBLISHED=DIR, where
# DIR holds those that tests/golden/plan/published.tsv names.  Without it a line
# says that this was skipped.
if [ -z "${RETORT_PUBLISHED:-}" ]; then
    echo '1..0 # SKIP no config.json files: make check-real PUBLISHED=DIR'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"

# A file that is read has the parameters that transformers counts.  Others are
# refused by what their models have, by their quantisation or, as is one, because
# they hold Infinity, which JSON lacks.
grep -v '^#' "$top/tests/golden/plan/published.tsv" >rows
while IFS='	' read -r name type count; do
    plan run -q -m "$RETORT_PUBLISHED/$name" --format tsv >out 2>err
    case $?.$count in
    0.*)
        equal "$name ($type) has the parameters that transformers counts" \
            "$(awk -F '\t' '$1 == "parameters" { print $2 }' out)" "$count"
        echo "$name" >>"read"
        ;;
    3.-) pass "$name is refused, as by transformers" ;;
    3.*)
        like "$name ($type) is refused by what it has" \
            'such models have|quantization_config|Infinity' err
        ;;
    *) fail "$name is read or refused" ;;
    esac
done <rows
equal '70 files are read' "$(($(wc -l <"read")))" 70
done_testing
