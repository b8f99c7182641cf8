# shellcheck shell=sh
# Functions that the tests of cleaning share; sourced after lib.sh.

tok=$top/tests/golden/tok/digits.json

# run OPTIONS: a line is a document
run() {
    tokenize -q -t "$tok" --split line "$@"
}

# why: the records of d (--dropped) as "record:reason", with spaces between
why() {
    sed 's/.*"record":\([0-9]*\).*"reason":"\([^"]*\)".*/\1:\2/' d |
        tr '\n' ' '
}
