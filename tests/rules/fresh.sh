#!/bin/sh
# scripts/fresh where it cannot run, with stand-ins for what it calls; and what
# scripts/run_test does to tests that hang, skip or write into the tree
. "${0%/*}/../lib/lib.sh"

mkdir bin
# stand NAME: reads a program from standard input that takes NAME's place
stand() {
    cat >"bin/$1"
    chmod +x "bin/$1"
}
for t in sh dirname sed grep date cat tail rm mkdir tr env git; do
    ln -s "$(command -v $t)" bin/$t
done
printf '#!/bin/sh\necho 1000\n' | stand id
fresh() {
    env PATH="$PWD/bin" FRESH_SOURCES=/dev/null "$top/scripts/fresh" "$PWD/room"
}
status 1 'fresh fails for a user who is not root' fresh
like 'the message says that root is needed' '^fresh: a Debian root is made by root: sudo make fresh$' err
printf '#!/bin/sh\necho 0\n' | stand id
status 1 'fresh fails without mmdebstrap' fresh
like 'the message names mmdebstrap' '^fresh: not found: mmdebstrap' err
: | stand unshare
: | stand apt-config
printf '#!/bin/sh\necho "E: no mirror" >&2\nexit 1\n' | stand mmdebstrap
status 1 'fresh fails when mmdebstrap fails' fresh
like 'the message says that mmdebstrap failed' '^fresh: mmdebstrap failed' err
like 'what mmdebstrap said is printed' 'E: no mirror' err

# The runner.  A tree of its own, so that its git status can change.
git init -q tree
mkdir -p tree/tests/x tree/build
cp "$top/tests/skips" tree/tests/
echo build >tree/.gitignore
# try N WHAT: run tree/tests/x/it.sh, a script on standard input
try() {
    tap_n=$1
    shift
    cat >tree/tests/x/it.sh
    mkdir -p tree/build/scratch
    git -C tree status --porcelain >tree/build/scratch/git-status
    status "$tap_n" "$*" env RETORT_TOP="$PWD/tree" BUILD="$PWD/tree/build" \
        TEST_SECONDS=1 "$top/scripts/run_test" "$PWD/tree/tests/x/it.sh"
}
try 0 'a shell test has a folder of its own' <<'END'
echo "# in $RETORT_SCRATCH"
echo 'ok 1 - good'
echo '1..1'
END
unlike 'no command is printed for a test that passes' '^# alone' out
like 'the folder of a shell test has .sh in its name' '/scratch/x/it\.sh$' out
try 0 'a good test passes the runner' <<'END'
echo 'ok 1 - good'
echo '1..1'
END
try 1 'a test that hangs is ended' <<'END'
echo 'ok 1 - good'
sleep 20
END
like 'the command that runs a failed test alone is printed' \
    '^# alone: cd .*/tree && BUILD=.*/build sh -x .*/tests/x/it.sh$' out
like 'the test that hung and its last line are named' '^# x/it: ended after 1 s, behind: ok 1 - good$' out
try 0 'a SKIP with a listed reason passes' <<'END'
echo 'ok 1 - good # SKIP no strace'
echo '1..1'
END
try 1 'a SKIP with another reason fails' <<'END'
echo 'ok 1 - good # SKIP no strace today'
echo '1..1'
END
like 'the reason that is not listed is printed' '^# x/it: skipped for a reason that .* no strace today$' out
try 1 'two SKIPs with other reasons fail' <<'END'
echo 'ok 1 - good # SKIP no strace today'
echo 'ok 2 - good # SKIP nor tomorrow'
echo '1..2'
END
equal 'the reasons are printed as comments, not as tests' "$(grep -c '^ok' out)" 2
try 1 'a test that writes into the tree fails' <<'END'
: >"$RETORT_TOP/litter"
echo 'ok 1 - good'
echo '1..1'
END
like 'the file written into the tree is named' '^# x/it: git status has changed while this test ran: > \?\? litter$' out
try 1 'a test that fails also fails in the runner' <<'END'
echo 'not ok 1 - bad'
exit 1
END
done_testing
