#!/bin/sh
# clean: NFC, control characters and Romanian letters
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/clean.sh"

printf 'e\314\201 \305\237\305\242\007\357\273\277.\r\n\302\205x\n' >n.txt
ok 'a text is cleaned without repairs' clean -q -o s.jsonl n.txt
ok 'it is tokenized' tokenize -q -t "$tok" -o s s.jsonl
ok 'it is decoded' tokenize -q -t "$tok" --decode s
same 'nothing changes without repairs' n.txt out
ok 'all repairs run' clean -o s.jsonl --nfc --romanian --strip-controls n.txt
like 'NFC is counted' ' 1 documents were changed by NFC' err
like 'control characters are counted' ' 4 control characters were removed' err
like 'Romanian letters are counted' ' 2 letters with a cedilla got a comma' err
printf '\303\251 \310\231\310\232.\nx\n' >want
tokenize -q -t "$tok" -o s s.jsonl
ok 'the repaired text is decoded' tokenize -q -t "$tok" --decode s
same 'the text is repaired' want out
ok 'a good text is repaired' clean -o s --nfc --strip-controls --romanian want
like 'a good text does not change' ' 0 documents were changed by NFC' err
printf '\007\007\n\001\n' >controls
ok 'a text of control characters is read' clean --split line --strip-controls \
    controls
equal 'a text that repair leaves empty is left out' "$(documents out)" 0
like 'the message says that all are empty' 'all documents are empty' err
done_testing
