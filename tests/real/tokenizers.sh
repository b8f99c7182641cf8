#!/bin/sh
# The tokenizers of real models against answers of the tokenizers library and of
# mistral-common: make check-real TOKDIR=DIR, where DIR holds FAMILY/tokenizer.json
# or FAMILY/tekken.json (tests/golden/README.md says where from).  A file that is
# not there, or not the one that the answers are of, is skipped by name.
if [ -z "${RETORT_TOKDIR:-}" ]; then
    echo '1..0 # SKIP no tokenizers: make check-real TOKDIR=DIR'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden/tok/real
for answers in "$golden"/*.ids; do
    name=${answers##*/}
    name=${name%.ids}
    # "# FAMILY/FILE sha256 DIGEST ORACLE VERSION"
    read -r _ file _ digest oracle <"$answers"
    if [ ! -r "$RETORT_TOKDIR/$file" ]; then
        skip "$name gives the ids of $oracle" "$file: not there"
        continue
    fi
    have=$(sha256sum <"$RETORT_TOKDIR/$file")
    if [ "${have%% *}" != "$digest" ]; then
        skip "$name gives the ids of $oracle" "$file: is another file (sha256 is not $digest)"
        continue
    fi
    ok "$name gives the ids and texts of $oracle" "$BUILD/tests/real-tokenizers" \
        "$RETORT_TOKDIR/$file" "$golden/texts.jsonl" "$answers"
    sed 's/^/# /' out
done
done_testing
