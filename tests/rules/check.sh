#!/bin/sh
# make check TESTS=FILE: what that file needs, without all others; ARCH
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
equal 'of tests, the one that it runs is compiled' "$(grep -oE -e '-c -o .* tests/.*' out | sed 's/.* //')" tests/cli/opt.c
ok 'make knows what a shell test of a fuzz target needs' would tests/gen/fuzz.sh
like 'the driver of the target is linked' '-o .*/fuzz/replay-schema' out
ok 'make knows what a file that a shell test sources needs' would tests/evalppl/eval.sh
like 'the program that the file runs is compiled' ' tests/format/sheet.c$' out
status 2 'a unit program that is not there is refused' would tests/base/nothing.c
like 'make names it' 'base/nothing' err

# on ARCH [SETTING...]: make check for processors of that kind
on() {
    arch=$1
    shift
    make --no-print-directory -C "$top" BUILD="$PWD/none" check ARCH="$arch" "$@" >out 2>err
}
status 2 'processors of a kind that nobody can test on are refused' on riscv64
like 'make names the kinds that it knows' 'ARCH=riscv64: .*ARCH=aarch64' err
if [ "$(uname -m)" != aarch64 ]; then
    ok 'make knows how 64-bit Arm is tested' on aarch64 -n
    like 'make runs scripts/check-arm' 'scripts/check-arm' out
    status 2 'a list of tests on 64-bit Arm is refused' on aarch64 TESTS=tests/base/io.c
    like 'make says to leave TESTS out' 'leave TESTS out' err
fi
done_testing
