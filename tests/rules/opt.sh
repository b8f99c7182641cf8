#!/bin/sh
# The option parser as a program meets it: usage, misuse, descriptors
. "${0%/*}/../lib/lib.sh"
p=$BUILD/tests/cli/opt

cat >want <<'EOF'
usage: opt [-fhqvV] [--no-cache] [-o file] [-n bytes] [--top k] [--rate x]
          [--wait time] [-l word] [-a name] [--say [text]] [--depth n]
          [file ...]
Prove the option parser.

  -f, --flag              a flag
      --no-cache          a flag without letter
  -o, --out file          write to file

numbers:
  -n, --number bytes      how much (default 256M)
      --top k             the best (default: 8)
      --rate x            how fast (default 2e-05)
      --wait time         how long (default 1.5m)
  -l, --level word        how warm: cold, warm, hot (default warm)
  -a, --also name         one more
      --say [text]        perhaps something
      --depth n           how deep this goes, which takes a longer line to say
                          than there is room for (default 0: not at all)

  -h, --help              print this help
  -q, --quiet             no notes, progress or closing line
  -v, --verbose           say more; given twice, say still more
  -V, --version           print version and build

K, M, G and T after a size multiply by powers of 1024.
EOF
ok '-h ends with status 0' "$p" -h
same '-h prints the whole table' want out
equal '-h prints nothing on stderr' "$(cat err)" ''
ok '-h behind other options ends with status 0' "$p" -f -n 5 a --help
same '-h shows defaults, not the values given' want out
ok '-V ends with status 0' "$p" -V
like '-V names program and version' '^opt \(retort\) [0-9]+\.[0-9]+\.[0-9]+$' out
like '-V says how the program was built' '^built by ' out

misuse() {
    want=$1
    shift
    status 2 "misuse is refused with status 2: $*" "$p" "$@"
    like "the message says $want" "^opt: $want" err
    like "the message of $* says where options are listed" '^opt: type "opt -h" for the options$' err
    equal "the message of $* has two lines" "$(grep -c '' err)" 2
    [ ! -s out ] || fail "misuse leaves stdout empty: $*"
}
misuse 'unknown option -x' -x
misuse 'unknown option -x' -fx
misuse 'unknown option --nu; did you mean --number[?]$' --nu=3
misuse 'unknown option --fla; did you mean --flag[?]$' --fla
misuse 'unknown option --tpo; did you mean --top[?]$' --tpo 3
misuse 'unknown option --numbre; did you mean --number[?]$' --numbre 3
misuse 'unknown option --verbos; did you mean --verbose[?]$' --verbos
misuse 'unknown option -r; did you mean --rate[?]$' -rate 1
misuse 'unknown option --xyzzy$' --xyzzy
misuse 'unknown option --x$' --x
misuse '--depth: "-1" is not a whole number of at least 0$' --depth -1
misuse '--top: "65" is not a whole number from 1 to 64' --top 65
misuse '-n needs a value' -f -n
misuse '--number needs a value' --number
misuse '--number needs a value' --number --flag
misuse '-n needs a value' -n --flag
misuse '--flag takes no value' --flag=1
misuse '-n: "0" is not a whole number from 1 to 1T' -n0
misuse '--number: "3x" is not a whole number' --number 3x
misuse '-n: "-3" is not' -n -3
misuse '--rate: "nan" is not a number from 0 to 1' --rate nan
misuse '--wait: "2 h" is not a time from 0 to [0-9.e+]+d, as 90s, 15m, 2h or 1d$' --wait '2 h'
misuse '-l: "tepid" is none of cold, warm, hot' -l tepid
misuse 'unexpected operand "d"' a b c d
status 2 'an option of a byte that is no letter is refused with status 2' "$p" "$(printf '%b' '-\0377')"
like 'the byte is printed in hexadecimal' 'unknown option of byte 0xff' err

ok 'a run with options and operands ends with status 0' "$p" -n 3 -a x -a y one two
like 'options and operands are parsed' '^0 0 - 3 2e-05 warm 2 2$' out
like 'a run ends with a line of its cost' \
    '^opt [0-9.]+: wall [0-9.]+ s, cpu [0-9.]+ s, peak [0-9]+[.][0-9] MB$' err
ok 'a run with -q ends with status 0' "$p" -q
equal '-q prints nothing on stderr' "$(cat err)" ''

if [ -e /dev/full ]; then
    status 1 '-h on a full device fails with status 1' sh -c '"$1" -h >/dev/full' sh "$p"
    like '-h on a full device says why it fails' 'opt: <stdout>: No space left' err
else
    skip '-h on a full device fails with status 1' 'no /dev/full'
fi
status 1 '-h with stdout closed fails with status 1' sh -c '"$1" -h >&-' sh "$p"
like '-h with stdout closed says why it fails' 'opt: <stdout>: Bad file descriptor' err
ok 'a run goes on with stdin and stderr closed' sh -c '"$1" -n 1 a <&- 2>&-' sh "$p"

# --- an option in the place of a command ---
early() { # early MESSAGE PROGRAM OPTION ...
    want=$1
    shift
    status 2 "an option before the command is refused: $*" "$@"
    like "the message of $* names the commands" "$want" err
}
early '^generate: -m comes after a command: generate run -m [.]+ \(run, chat, bench\)$' \
    generate -m S x
early '^shard: --tokens comes after a command: shard write --tokens ' shard --tokens=5
early '^generate: -q comes after a command' generate -q run
early '^generate: unknown option --hlep; did you mean --help' generate --hlep

for q in $(names); do
    "$q" -h >"help.$q" || fail "$q -h"
    equal "$q -h fits in 80 columns" "$(awk 'length > 80' "help.$q")" ''
done
done_testing
