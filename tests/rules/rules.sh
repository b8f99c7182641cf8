#!/bin/sh
# Rules that hold for every program: help, version, misuse, descriptors
. "${0%/*}/../lib/lib.sh"

# Options of the -h text on standard input whose value is a number.  A size or
# real prints its default, which nothing else does with a bare number, and may
# say what 0 means.
numbers() {
    sed -nE 's/^ .* (--[a-z0-9-]+) [^ ]+ .*\(default [0-9][0-9.e+-]*[KMGT]?(, 0:[^)]*|:[^)]*)?\)$/\1/p
        s/^ +(-[A-Za-z0-9]) [^ ]+ .*\(default [0-9][0-9.e+-]*[KMGT]?(, 0:[^)]*|:[^)]*)?\)$/\1/p'
}

for p in $(names); do
    ok "$p -h" "$p" -h
    like 'begins with the usage' "^usage: $p \[-[a-zA-Z0-9]*hqvV?\]" out
    equal 'stderr is empty' "$(cat err)" ''
    unlike 'lines end' ' $' out
    unlike 'before column 81' '.{81}' out
    unlike 'a default is told once' '\(default.*\(default' out
    cp out help
    ok "$p --version" "$p" --version
    like 'names version' "^$p \(retort\) [0-9]+\.[0-9]+\.[0-9]+$" out
    equal 'stderr is empty' "$(cat err)" ''

    status 2 "$p: an unknown option" "$p" --no-such-option
    like 'is named' "^$p: unknown option --no-such-option$" err
    like 'where to look' "^$p: type \"$p -h\" for the options$" err
    equal 'stdout is empty' "$(cat out)" ''
    status 2 "$p: a long name cut short" "$p" --versio

    # A help line that was broken holds its default on the second line.
    sed -e :a -e '$!N;s/\n \{26\}\([^ ]\)/ \1/;ta' -e 'P;D' help >joined
    for o in $(numbers <joined); do
        for bad in 3x nan -1e999 ''; do
            status 2 "$p $o '$bad'" "$p" "$o" "$bad"
        done
        like 'names the option' "^$p: $o: .* is not a" err
        status 2 "$p $o without value" "$p" "$o"
    done

    status 1 "$p -h, stdout closed" sh -c '"$1" -h >&-' sh "$p"
    if [ -e /dev/full ]; then
        status 1 "$p -h on a full disk" sh -c '"$1" -h >/dev/full' sh "$p"
        like 'says so' "^$p: <stdout>: No space left on device$" err
    else
        skip "$p -h on a full disk" 'no /dev/full'
    fi
    # Without operands, options or a standard input: an error or a usage, at
    # once, and no signal.
    for io in '<&-' '>&-' '<&- >&-' '<&- >&- 2>&-'; do
        rc=0
        timeout 20 sh -c "\"\$1\" $io" sh "$p" >out 2>err || rc=$?
        case $rc in
        1|2|3) pass "$p $io" ;;
        *) fail "$p $io: exit status $rc" ;;
        esac
    done
done
done_testing
