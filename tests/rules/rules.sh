#!/bin/sh
# Rules that hold for every program: help, version, misuse, descriptors
. "${0%/*}/../lib/lib.sh"

# Options of the -h text on standard input whose value is a number.  A size or
# real prints its default, which nothing else does with a bare number, and may
# say what 0 means.
numbers() {
    sed -nE 's/^ +(-[A-Za-z0-9], )?(--[a-z0-9-]+) [^ ]+ .*\(default [0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?[KMGT]?(, 0:[^)]*|:[^)]*)?\)$/\2/p
        s/^ +(-[A-Za-z0-9]) [^ ]+ .*\(default [0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?[KMGT]?(, 0:[^)]*|:[^)]*)?\)$/\1/p'
}

for p in $(names); do
    ok "$p -h ends with status 0" "$p" -h
    like "$p -h begins with the usage" "^usage: $p \[-[a-zA-Z0-9]*hqvV?\]" out
    equal "$p -h prints nothing on stderr" "$(cat err)" ''
    unlike "no line of $p -h ends in a blank" ' $' out
    unlike "no line of $p -h is longer than 80 columns" '.{81}' out
    unlike "$p -h prints each default once" '\(default.*\(default' out
    cp out help
    ok "$p --version ends with status 0" "$p" --version
    like "$p --version names program and version" "^$p \(retort\) [0-9]+\.[0-9]+\.[0-9]+$" out
    equal "$p --version prints nothing on stderr" "$(cat err)" ''

    status 2 "$p refuses an unknown option with status 2" "$p" --no-such-option
    like "$p names the unknown option" \
        "^$p( run)?: (unknown option --no-such-option$|--no-such-option comes after a command: )" err
    grep -q 'comes after a command: ' err ||
        like "$p says where its options are listed" "^($p|plan run): type \"($p|plan run) -h\" for the options$" err
    equal "$p prints nothing on stdout for an unknown option" "$(cat out)" ''
    status 2 "$p refuses a long name cut short with status 2" "$p" --versio

    # A help line that was broken holds its default on the second line.
    sed -e :a -e '$!N;s/\n \{26\}\([^ ]\)/ \1/;ta' -e 'P;D' help >joined
    for o in $(numbers <joined); do
        for bad in 3x nan -1e999 ''; do
            status 2 "$p $o refuses the value '$bad'" "$p" "$o" "$bad"
        done
        like "$p $o is named with its wrong value" "^$p: $o: .* is not a" err
        status 2 "$p $o refuses to be without a value" "$p" "$o"
    done

    status 1 "$p -h fails where stdout is closed" sh -c '"$1" -h >&-' sh "$p"
    if [ -e /dev/full ]; then
        status 1 "$p -h fails on a full disk" sh -c '"$1" -h >/dev/full' sh "$p"
        like "$p -h names stdout and the full disk" "^$p: <stdout>: No space left on device$" err
    else
        skip "$p -h fails on a full disk" 'no /dev/full'
    fi
    # Without operands, options or a standard input: an error or a usage, at
    # once, and no signal; retort alone is no error.
    for io in '<&-' '>&-' '<&- >&-' '<&- >&- 2>&-'; do
        rc=0
        timeout 20 sh -c "\"\$1\" $io" sh "$p" >out 2>err || rc=$?
        case "$rc $p $io" in
        '1 '* | '2 '* | '3 '*) pass "$p $io ends with status 1, 2 or 3" ;;
        '0 retort <&-') pass "$p $io lists what can be done" ;;
        *) fail "$p $io ends with status $rc" ;;
        esac
    done
done
done_testing
