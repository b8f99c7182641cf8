#!/bin/sh
# A unit program that is run by hand leaves nothing in the folder it is run in
. "${0%/*}/../lib/lib.sh"
mkdir tree && ln -s "$top/tests" tree/tests && cd tree || exit 1
unset RETORT_SCRATCH
for p in "$BUILD/tests/base/io" "$BUILD/tests/tok/tekken"; do
    name=${p##*/}
    ok "$name runs by hand" "$p"
    rm -f out err
    equal "$name leaves nothing" "$(ls)" tests
done
done_testing
