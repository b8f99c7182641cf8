#!/bin/sh
# build/bench/meter on a small table: figures, references, turns, rows that
# cannot be measured; and rows of scripts/bench, which runs build/bench/bench,
# that pages and recipes name
. "${0%/*}/../lib/lib.sh"

cat >functions <<'EOT'
need_nothing() { :; }
need_reason() { echo "no $1 here"; return 1; }
need_silence() { return 1; }
say() { echo "$1" >>"$work/order"; echo "speed $2 and $1 4"; }
steps() {
    mkdir "$OUT"
    printf 'step\tseconds\n1\t99\n2\t3\n3\t3\n4\t3\n5\t50\n6\t50\n7\t50\n' \
        >"$OUT/metrics.tsv"
}
EOT
cat >table <<'EOT'
# a comment
printed	x	3	say 8 out:speed	say 2 out:speed*3
printed_again	x	1	say 8 out:and.8	-
divided	x	1	say 8 100/out:speed/5	20

logged	x	1	log 7 err:after	-
note	echo "# a note on logged"

slept	s	1	nap $long wall	nap 0.1 wall

differs	x	1	sizes 1000/out	-
bytes	MB	1	file bytes/out	-
both	x	1	say 8 out:speed	say 3 out:speed + say 6 out:speed

memory	MB	1	memory mem	-
memory_pipe	MB	1	memory_pipe mem	memory mem

step	x	1	steps 12/step	-

reasoned	x	1	reasoned 1 out	-
silent	x	1	silent out	-
peer_fails	x	1	say 8 out:speed	fails 1 out
late	x	1	fails 1 out	-

command say (nothing)
    say "$1" "$1"
command log (nothing)
    echo "begin 3" >&2; echo "after $1" >&2
command nap ()
    sleep $1
command sizes () 5 12
    echo $N 5
command file () short long
    echo 1; : $N
command memory ()
    awk 'BEGIN { for (i = 0; i < 300000; i++) a[i] = i }'
command memory_pipe ()
    awk 'BEGIN { for (i = 0; i < 300000; i++) a[i] = i }' |
    cat
command steps ()
    steps
command reasoned (nothing reason:$1)
    echo $1
command silent (silence)
    echo 1
command fails ()
    echo "first line" >&2; echo "nothing works" >&2; exit 3
EOT
mkdir work
export work="$PWD/work" long=0.4
printf 1 >short
head -c 3000001 /dev/zero >long
meter() { status "$1" "$2" "$BUILD/bench/meter" ./functions "$3" <table; }
# column NAME N: of the row that was printed
column() { awk -F '\t' -v name="$1" -v n="$2" '$1 == name { print $n }' out; }

meter 0 'meter prints the rows that a regular expression chooses' '^printed'
equal 'each row that was chosen is printed once' \
    "$(cut -f 1 out | tr '\n' ' ')" 'printed printed_again '
equal 'a figure is the number behind the words in the output' \
    "$(column printed 2)" 8
equal 'a reference is multiplied by its factor' "$(column printed 4)" 6
equal 'the last column is value over reference' "$(column printed 5)" 1.33333
equal 'another figure of the same run is read' "$(column printed_again 2)" 4
equal 'commands of a group run in turn and once for all rows' \
    "$(tr '\n' ' ' <work/order)" '8 2 8 2 8 2 '
meter 0 'meter prints a row with an amount' '^divided$'
equal 'an amount is divided by the reading, then by the divisor' \
    "$(column divided 2) $(column divided 5)" '2.5 0.125'
meter 0 'meter prints a row that has a note' '^(logged|slept)$'
equal 'a figure is read from what is printed on stderr' "$(column logged 2)" 7
like 'the note stands behind its row' '^# a note on logged$' out
if awk -F '\t' '$1 == "slept" { bad = !($2 >= 0.4 && $2 < 5 && $4 >= 0.1 &&
    $4 < $2) } END { exit bad }' out; then
    pass 'wall is the time by the clock'
else fail 'wall is the time by the clock'; fi
meter 0 'meter prints rows of commands with two sizes' '^(differs|bytes|both)$'
equal 'output figures are those of the second size' "$(column differs 2)" 83.3333
equal 'bytes are what the second file has more, in millions' \
    "$(column bytes 2)" 3
equal 'two references joined by + are one rate' "$(column both 4)" 2
meter 0 'meter prints peak memory' '^memory'
if awk -F '\t' '$1 == "memory" { bad = !($2 > 9 && $2 < 200) }
    $1 == "memory_pipe" { bad = bad || !($2 < $4 / 2) } END { exit bad }' out; then
    pass 'the first process of a pipe does not count as memory'
else fail 'the first process of a pipe does not count as memory'; fi
meter 0 'meter prints a row of steps' '^step$'
equal 'a step is the median without the first and the last three' \
    "$(column step 2)" 4
equal 'OUT and what was printed are removed' "$(find "$work" -name 'out*')" ''
meter 0 'meter leaves out rows whose needs fail' '^(reasoned|silent|peer_fails)$'
like 'a need that fails says why the row is left out' \
    '^# SKIP reasoned: no 1 here$' out
unlike 'a need that says nothing leaves its row out without a line' silent out
like 'a reference that fails leaves out its row with the last line it printed' \
    '^# SKIP peer_fails: .*nothing works$' out
meter 1 'a row whose own command fails ends meter with status 1' '^late$'
like 'the command that failed is named' '^# SKIP late: fails failed: nothing' out
echo 'wrong	x	1	nobody out	-' >table
meter 2 'a row of an unknown command is refused with status 2' .
like 'the unknown command is named' 'no command nobody' err

# --- the table of make bench ---
sed '/^command /,$d; /^note/d; /^#/d; /^$/d' "$top/scripts/bench.tsv" >rows
equal 'every row of scripts/bench.tsv has five fields' \
    "$(awk -F '\t' 'NF != 5 { print $1 }' rows)" ''
for name in sgemm kd_step kd_step_mem kd_step_bf16 kd_step/peer ce_step score \
    pipe/parts kd_stored/live layer_1.7b prune_obs tokenize_cold_smollm2 \
    tokenize_j2 shard_j stream_docs stream_mem ipc_pipe; do
    if cut -f 1 rows | grep -qxF "$name"; then
        pass "scripts/bench.tsv has the row $name"
    else fail "scripts/bench.tsv has the row $name"; fi
done
awk '/^command / { print $2 }' "$top/scripts/bench.tsv" | sort >have
awk -F '\t' '{ for (i = 4; i <= 5; i++) { n = split($i, part, / \+ /)
    for (k = 1; k <= n; k++) { split(part[k], word, " ")
        if (word[1] !~ /^[-0-9.]+$/ && word[1] !~ /%/) print word[1] } } }' rows |
    sort -u >used
equal 'every row of scripts/bench.tsv names a command of it' \
    "$(comm -13 have used)" ''
bench() { (cd "$top" && RUNS=1 TOKDIR=none scripts/bench "$1"); }
ok 'make bench measures a row' bench '^ipc_pipe$'
if awk -F '\t' '$1 == "ipc_pipe" && $2 > 0 && $3 == "GB/s" && $4 == "-" { good = 1 }
    END { exit !good }' out; then
    pass 'a row of make bench has name, value, unit and reference'
else fail 'a row of make bench has name, value, unit and reference'; fi
like 'make bench prints the kernels that are measured' '^# kernels: ' out
ok 'make bench leaves out rows without their file' bench '^tokenize_long_(gpt2|tekken)/'
equal 'names in braces stand for a row each' "$(grep -c \
    '^# SKIP tokenize_long_[a-z0-9]*/[a-z]*: none/[a-z0-9/]*[.]json: not found$' out)" 14
sed -n "s/.*make bench *BENCH='\{0,1\}\([^ \x60']*\).*/\1/p" "$top/docs/performance.md" |
    grep '^^' | sort -u >asked
while read -r regex; do
    if cut -f 1 rows | grep -qE -e "$regex"; then
        pass "docs/performance.md asks for rows that there are: $regex"
    else fail "docs/performance.md asks for rows that there are: $regex"; fi
done <asked
done_testing

# --- two trees beside each other: scripts/bench-compare ---
mkdir -p pair/scripts pair/tests/bench && cd pair || exit 1
cp "$top/scripts/bench-compare" scripts
: >tests/bench/meter.c
printf 'all:\nbuild/%% %%/bench/meter:\n\t@:\n' >Makefile
cat >scripts/bench <<'EOT'
#!/bin/sh
printf '# regex: %s\n' "$1"
n=$(cat "$BUILD.n" 2>/dev/null || echo 0)
echo "$((n + 1))" >"$BUILD.n"
printf 'speed\t%s\tGF/s\t-\t-\n' "$((100 + 10 * n))"
[ "$n" = 0 ] || printf 'once\t1\ts\t-\t-\n'
EOT
chmod +x scripts/bench
compared() { git -c user.name=a -c user.email=a@b.c "$@"; }
compared init -q . && compared add . && compared commit -q -m one || exit 1
sed -i 's/100 + 10/50 + 10/' scripts/bench
ok 'a tree is compared with its commit' env BUILD=build ROUNDS=3 \
    scripts/bench-compare HEAD
like 'a row has medians, their quotient, and the least and the largest one' \
    "^speed	110	60	GF/s	0[.]545	0[.]500	0[.]583$" out
like 'a row that one round lacks is named' '^# once: not measured in each' out
equal 'the worktree of the commit is removed' "$(git worktree list | wc -l)" 1
status 2 'a commit that is not there is refused' env BUILD=build \
    scripts/bench-compare nothing
cd ..
