# shellcheck shell=sh
# Tests that $prog continues from a file of --resume; sourced after lib.sh

# judge ARGUMENTS: run $prog; the file figures gets all its results except times
judge() {
    rm -f items detail tokens
    "$prog" --format tsv "$@" >report 2>note || return
    awk -F '\t' -v OFS='\t' 'NF == 28 { $19 = "" } $2 != "time"' report >figures
    for f in items detail tokens; do
        [ ! -e $f ] || cat $f >>figures
    done
}
# forwarded: count the lines of the profile about forward passes
forwarded() { grep -c 'forward' profile; }

# killed WHAT N ARGUMENTS: a run with --resume gives the same figures from a
# file that was cut anywhere; without its last byte the file still has N groups
killed() {
    what=$1 left=$2
    shift 2
    rm -f kept
    ok "$what: a run without --resume ends" judge "$@"
    mv figures want
    ok "$what: a run with --resume ends" judge "$@" --resume kept
    same "$what: --resume changes no figure" want figures
    cp kept all
    size=$(wc -c <all)
    RETORT_PROFILE=profile judge "$@" --resume kept
    same "$what: a second run has the same figures" want figures
    equal "$what: a second run computes nothing" "$(forwarded)" 0
    same "$what: a second run saves nothing" all kept
    for cut in 0 16 17 $((size / 5)) $((size / 3)) $((size / 2)) \
        $((size * 3 / 4)) $((size - 1)); do
        head -c "$cut" all >kept
        RETORT_PROFILE=profile judge "$@" --resume kept || fail "$what: a resumed run fails"
        cmp -s want figures || fail "$what: after $cut of $size bytes"
        [ "$(forwarded)" -gt 0 ] || fail "$what: a resumed run computes nothing"
        [ "$(wc -c <kept)" = "$size" ] || fail "$what: a resumed run does not save all"
    done
    like "$what: a note says where it goes on" \
        "^$prog: kept: goes on after $left groups" note
}
