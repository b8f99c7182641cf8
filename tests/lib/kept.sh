# shellcheck shell=sh
# Going on with what --resume has kept, for tests of $prog; sourced after lib.sh

# judge ARGUMENTS: all that is written, without the time that it took
judge() {
    rm -f items detail tokens
    "$prog" --format tsv "$@" >report 2>note || return
    awk -F '\t' -v OFS='\t' 'NF == 26 { $19 = "" } 1' report >figures
    for f in items detail tokens; do
        [ ! -e $f ] || cat $f >>figures
    done
}
# forwarded: what was computed by a model, in the profile
forwarded() { grep -c 'forward' profile; }

# killed WHAT N ARGUMENTS: what was computed goes to a file, of which N
# records are left without its last byte; the run says the same from whatever
# length the file had
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
