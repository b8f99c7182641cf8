# shellcheck shell=sh
# Functions that the tests of cleaning share; sourced after lib.sh.

# shellcheck disable=SC2034 # for the test
tok=$top/tests/golden/tok/digits.json

# run OPTIONS: run clean with a document on each line
run() {
    clean -q --split line "$@"
}

# documents FILE: count the documents in an output of clean
documents() {
    grep -c '"key":' "$1"
}

# texts FILE: print the texts of the documents, one after another; their only
# escapes may be ends of lines
texts() {
    sed -n 's/.*"key":.*"text":"\(.*\)"}$/\1/p' "$1" | sed 's/\\n/\
/g'
}

# why: print the records of the file d (--dropped) as "record:reason", with
# spaces between them
why() {
    sed 's/.*"record":\([0-9]*\).*"reason":"\([^"]*\)".*/\1:\2/' d |
        tr '\n' ' '
}

# column NAME SOURCE FILE: print the cell of a source in the table of --stats
column() {
    awk -F '\t' -v c="$1" -v s="$2" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == c) at = i; next } $1 == s { print $at }' "$3"
}
