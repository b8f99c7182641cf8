#!/bin/sh
# scripts/words: comments, help lines, names of functions and of tests
. "${0%/*}/../lib/lib.sh"
words=$top/scripts/words

cat >a.c <<'EOT'
/* What is left. */
int a; /* Its number, counted from one */
/*
 * The sum of squares of the
 * rows.
 */
/* Of them */
/* Itself is a word of its own, not a short one. */
static void
put(int a)
{
}
static int
only_here(void)
{
}
struct opt t[] = {
    OPT_SIZE('n', "number", &n, 0, 9, "n", "of rows, "
        "such as 4"),
    OPT_FLAG(0, "quiet", &q, "print nothing (\"-\"),"
        " not even errors"),
    OPT_STR(0, "output", &o, "file", "with this name"),
    OPT_GROUP("of no option"),
};
EOT
sed 's/only_here/other/' a.c >b.c
ok 'comments that lean on others are found' "$words" comments "$PWD/a.c"
equal 'each has its line and its first words' "$(sed 's,.*/,,' out)" \
    'a.c:1: What is left.
a.c:2: Its number, counted from one'
ok 'help lines that begin with a preposition are found' "$words" help "$PWD/a.c"
equal 'strings of several lines are one help line' "$(sed 's,.*/,,' out)" \
    'a.c:18: of rows, such as 4
a.c:22: with this name'
ok 'static names of several files are found' "$words" statics "$PWD/a.c" "$PWD/b.c"
equal 'a name that one file alone has is not listed' "$(sed 's/:.*//' out)" put

cat >tap <<'EOT'
tests/x/y.sh .. 
ok 1 - a row is refused with status 2
ok 2 - is named
not ok 3 - and the row is named
ok 4 - a row is refused with status 2
ok 5 - a row is kept # SKIP no rows here
tests/x/z.sh .. 
ok 1 - a row is refused with status 2
EOT
ok 'fragments among the names of tests are found' "$words" names "$PWD/tap"
equal 'a fragment is short, lacks a subject or is repeated in its file' \
    "$(cat out)" \
    'tests/x/y.sh: short: is named
tests/x/y.sh: no subject: and the row is named
tests/x/y.sh: repeated: a row is refused with status 2
6 names, 3 fragments'

ok 'a sample of the source is printed' "$words" sample 7
mv out first
equal 'a sample has 80 comments, 45 help lines and 5 pages' \
    "$(awk '/^==/ { if (n != "") print n; n = 0; next } { n++ } END { print n }' \
        first | tr '\n' ' ')" '80 45 5 '
ok 'a sample is printed again' "$words" sample 7
same 'a seed gives the same sample again' out first
ok 'a sample of another seed is printed' "$words" sample 8
if cmp -s out first; then fail 'another seed gives another sample'
else pass 'another seed gives another sample'; fi
status 2 'an unknown word is refused with status 2' "$words" verbs
like 'the message lists the words that there are' 'comments, help' err

# --- the rule for names, as scripts/run_test has it ---
mkdir -p tests/x
cat >tests/x/few.sh <<'EOT'
echo 'ok 1 - a row is read'
echo 'ok 2 - is named'
echo 'ok 3 - is told'
echo 1..3
EOT
run_test() {
    env BUILD="$PWD/b" RETORT_TOP="$top" NAME_SHARE="$1" \
        "$top/scripts/run_test" tests/x/few.sh
}
status 1 'a test with more fragments than NAME_SHARE fails' run_test 5
like 'the failure says how many there are' '3 names, 2 fragments' out
ok 'a test with as many fragments as NAME_SHARE passes' run_test 50
done_testing
