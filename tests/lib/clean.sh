# shellcheck shell=sh
# Functions that the tests of cleaning share; sourced after lib.sh.

# shellcheck disable=SC2034 # for the test
tok=$top/tests/golden/tok/digits.json

# run OPTIONS: clean, where a line is a document
run() {
    clean -q --split line "$@"
}

# documents FILE: how many documents the output of clean holds
documents() {
    grep -c '"key":' "$1"
}

# texts FILE: the texts of documents, which hold no escapes but ends of lines, a
# line each
texts() {
    sed -n 's/.*"key":.*"text":"\(.*\)"}$/\1/p' "$1" | sed 's/\\n/\
/g'
}

# why: the records of d (--dropped) as "record:reason", with spaces between
why() {
    sed 's/.*"record":\([0-9]*\).*"reason":"\([^"]*\)".*/\1:\2/' d |
        tr '\n' ' '
}

# column NAME SOURCE FILE: a cell of the table of --stats
column() {
    awk -F '\t' -v c="$1" -v s="$2" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == c) at = i; next } $1 == s { print $at }' "$3"
}
