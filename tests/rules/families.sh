#!/bin/sh
# scripts/family-lines: a family of models is a table of differences
. "${0%/*}/../lib/lib.sh"
count=$top/scripts/family-lines

"$count" "$top" >lines.tsv
awk -F '\t' '$2 > 100' lines.tsv >many
ok 'no family takes more than 100 lines beyond mechanisms' test ! -s many
cat many
awk -F '\t' '!($2 >= 5)' lines.tsv >few
ok 'the entry of every family is counted' test ! -s few

"$top/scripts/families-table" "$top" >table.md
# a type that computes as another one is no family
sed -n 's/^| \([a-z0-9_]*\) |  |.*/\1/p' table.md | sort >known
cut -f1 lines.tsv | sort >counted
ok 'the lines of all families that load are counted' cmp known counted
ok 'docs/families.md is what scripts/families-table writes' \
    cmp table.md "$top/docs/families.md"
status 1 'no family is without numbers of transformers' \
    grep -E '^[|] [a-z0-9_]+ [|] [a-z0-9_ ]*[|] [|]' table.md
# lists of refused types in the table have a space before and behind each type
sed -n 's/^| \([a-z0-9_]*\) |.*/\1/p' table.md | sed '1d; s/.*/ & /' >types
status 1 'no type that is read is among those that are refused' \
    grep -F -f types "$top/lib/model/config/lacks.c"

# a copy in which one family has more
mkdir -p copy/lib
cp -R "$top"/lib/model copy/lib
before=$("$count" copy | awk '$1 == "granite" { print $2 }')
cat >>copy/lib/model/config/config.c <<'EOT'
static int
more_granite_things(void)
{
    return 1;
}
static int
other(const struct config *c)
{
    return family_of(c)->bit == FAMILY_GRANITE;
}
EOT
after=$("$count" copy | awk '$1 == "granite" { print $2 }')
equal 'a function of a family and a line that names it count' \
    $((after - before)) 5
done_testing
