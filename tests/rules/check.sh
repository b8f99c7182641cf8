#!/bin/sh
# make check TESTS=FILE.c: one unit program, without all others
. "${0%/*}/../lib/lib.sh"

# would TESTS: what make would run, had nothing been built
would() {
    make --no-print-directory -C "$top" -n V=1 BUILD="$PWD/none" check TESTS="$1" >out 2>err
}
ok 'make knows what a unit program needs' would tests/base/io.c
like 'the unit program is compiled' ' tests/base/io.c$' out
equal 'no other unit program is compiled, and no program' \
    "$(grep -Ec -e '-c -o .* tests/' out) $(grep -Ec -e '-c -o .* (student|shard)/' out)" '1 0'
like 'the unit program is run' "scripts/check $PWD/none/tests/base/io\$" out
ok 'make knows what a unit program of a folder needs' would tests/student/masks.c
like 'the archive of the folder is linked' 'tests/student/masks .*student/student.a' out
equal 'no archive of another program is made' "$(grep -c 'ar rcs .*shard/shard.a' out)" 0
ok 'make knows what a shell test needs' would tests/rules/opt.sh
like 'all programs are linked for a shell test' '-o .*/bin/student' out
status 2 'a unit program that is not there is refused' would tests/base/nothing.c
like 'make names it' 'base/nothing' err
done_testing
