#!/bin/sh
# report of a table of boxes: an image of what runs into what; and the one that
# README shows is drawn by report from the table beside it
. "${0%/*}/../lib/lib.sh"

tr ' ' '\t' >flow.tsv <<'END'
column row name does to
0 0 read text <write>,sort
1 0 <write> files -
1 1 sort lines -
0 1 alone nothing read
END
ok 'a table of boxes is drawn' report -q flow.tsv
like 'the image has a size and the style of the pages' \
    '^<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 [0-9]+ [0-9]+">$' \
    flow.svg
equal 'each row is a box' "$(grep -c '<rect ' flow.svg)" 4
equal 'each name in the last column is an arrow' \
    "$(grep -c 'class="line"' flow.svg)" 3
like 'a name is escaped' '>&lt;write&gt;</text>' flow.svg
like 'an arrow in a row is a straight line' '<path d="M[0-9.]+ 41.0H[0-9.]+"' \
    flow.svg
like 'an arrow in a column is a straight line' \
    '<path d="M[0-9.]+ [0-9.]+V[0-9.]+"' flow.svg
like 'an arrow to another row turns twice' \
    '<path d="M[0-9.]+ 41.0H[0-9.]+V[0-9.]+H[0-9.]+"' flow.svg
# broken FROM TO WHAT KEYWORDS: a changed table is refused with status 3
broken() {
    sed "s/$1/$2/" flow.tsv >bad.tsv
    status 3 "$3 is refused with status 3" report -q -o bad.svg bad.tsv
    like "the message for $3 names file and line" "^report: bad.tsv: line $4" \
        err
}
broken 'lines' 'lines	more' 'a row with a cell too many' 4
broken ',sort' ',sorts' 'an arrow to no box' '2: .*sorts'
broken '^1	1' 'x	1' 'a column that is no number' '4: .*column'
broken '^1	1' '99	1' 'a column beyond the image' '4: .*column'
head -n 1 flow.tsv >bad.tsv
status 3 'a table without boxes is refused with status 3' report -q -o - bad.tsv
like 'the message for no boxes names the file' '^report: bad.tsv: .*no box' err
status 2 'a table of boxes as text is refused with status 2' \
    report --text flow.tsv
ok 'the pipeline of README is drawn' report -q -o pipeline.svg \
    "$top/docs/pipeline.tsv"
same 'its image is docs/pipeline.svg' pipeline.svg "$top/docs/pipeline.svg"
done_testing
