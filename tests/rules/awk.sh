#!/bin/sh
# Every awk program of the scripts, recipes and tests is read by every awk that
# is installed, and every script by dash and bash.  make check-awk also runs
# the tests of scripts and recipes under each of them.
. "${0%/*}/../lib/lib.sh"

# Some awks read and write numbers with the locale's comma.
for f in "$top"/scripts/* "$top"/recipes/*.sh; do
    [ -f "$f" ] && grep -qE '(^|[|( ])awk ' "$f" || continue
    like "${f##*/} runs awk in the locale C" 'LC_ALL=C' "$f"
done

# programs FILE: the awk programs in a shell script or makefile, a file each in
# the folder programs; what the shell puts into one ('"$x"') stands as a 0
cat >programs.awk <<'EOF'
BEGIN { quote = sprintf("%c", 39) }
{ text = text $0 "\n" }
END {
    while (match(text, "(^|[^a-zA-Z0-9_.$/-])awk [" quote "-]")) {
        text = substr(text, RSTART + RLENGTH - 1)
        # the program is the first word in quotes that is no option's value
        for (;;) {
            q = index(text, quote)
            n = index(text, "\n")
            if (q == 0 || (n != 0 && n < q &&
                substr(text, n - 1, 1) != "\\"))
                break
            before = substr(text, 1, q - 1)
            if (before !~ /(-F *|-v *[a-zA-Z_]+=)$/)
                break
            text = substr(text, q + 1)
            text = substr(text, index(text, quote) + 1)
        }
        if (q == 0 || before ~ /[|;)]/ || (n != 0 && n < q &&
            substr(text, n - 1, 1) != "\\"))
            continue
        text = substr(text, q + 1)
        program = ""
        while ((q = index(text, quote)) > 0) {
            program = program substr(text, 1, q - 1)
            text = substr(text, q + 1)
            if (substr(text, 1, 1) != "\"")
                break
            text = substr(text, 2)
            q = index(text, "\"")
            text = substr(text, q + 1)
            program = program "0"
            if (substr(text, 1, 1) != quote)
                break
            text = substr(text, 2)
        }
        file = "programs/" name "." ++programs
        # Nothing of it shall run: it ends before it begins, and its END is a
        # function that nobody calls.
        gsub(/END[ \t]*\{/, "\nfunction at_the_end() {", program)
        printf "BEGIN { exit }\n%s\n", program > file
        close(file)
    }
}
EOF
mkdir programs
for f in "$top"/scripts/* "$top"/recipes/* "$top"/tests/*/*.sh "$top/Makefile"; do
    case $f in */rules/awk.sh) continue ;; esac
    [ -f "$f" ] && grep -qw awk "$f" || continue
    awk -v name="${f##*/}" -f programs.awk "$f"
done
# shellcheck disable=SC2012 # names without blanks
n=$(ls programs | wc -l)
calls=$(grep -owE 'awk' "$top"/scripts/* "$top"/tests/*/*.sh 2>/dev/null | wc -l)
if [ "$n" -ge 60 ]; then pass "$n awk programs are found in the tree"
else fail "$n awk programs are found of $calls calls"; fi

for awk in mawk gawk original-awk 'busybox awk'; do
    command -v "${awk%% *}" >/dev/null || continue
    bad=''
    for p in programs/*; do
        # shellcheck disable=SC2086 # busybox awk is two words
        $awk -f "$p" </dev/null >said 2>&1 && [ ! -s said ] ||
            bad="$bad ${p#*/}: $(head -n 1 said)"
    done
    equal "$awk reads every awk program of the tree" "$bad" ''
done
for sh in dash bash; do
    command -v "$sh" >/dev/null || continue
    bad=''
    for f in "$top"/.ci/run "$top"/scripts/* "$top"/tests/*/*.sh; do
        [ -f "$f" ] || continue
        case $f in
        *.sh) ;;
        *) head -n 1 "$f" | grep -q '^#!/bin/sh' || continue ;;
        esac
        $sh -n "$f" 2>said || bad="$bad ${f##*/}: $(head -n 1 said)"
    done
    equal "$sh reads every script of the tree" "$bad" ''
done

# --- what make check-awk runs ---
make -n -C "$top" BUILD="$BUILD" check-awk >asked 2>&1
for t in pipeline/results pipeline/demo pipeline/gemma3 rules/bench; do
    like "check-awk runs $t, which runs a script or recipe with awk in it" \
        "scripts/check .*tests/${t}[.]sh" asked
done
unlike 'check-awk runs no test that has awk of its own alone' \
    'scripts/check .*tests/shard/shard[.]sh' asked
done_testing
