# shellcheck shell=sh
# Time and memory of long documents; sourced after lib.sh.  The test defines
# measured OPTION ... FILE, which runs the program that is measured.

# time_texts: write texts of 2 MB for measuring times
time_texts() {
    n=2000000
    awk -v n=$n 'BEGIN { for (i = 0; i < n / 58; i++)
        printf "The quick brown fox jumps over the lazy dog, and 12 more; " }' \
        >prose.txt
    yes : | head -c $n >colon.txt
    awk -v n=$n 'BEGIN { for (i = 0; i < n / 4; i++)
        printf "\314\201\314\243" }' >marks.txt
    { printf a; cat marks.txt; } >base.txt
    awk -v n=$n 'BEGIN { srand(3); for (i = 0; i < n; i++)
        printf "%c", (rand() < 0.5 ? 65 : 97) + rand() * 26 }' >letters.txt
}

cpu() {     # cpu OPTION ...: processor time in microseconds
    measured -j 1 "$@" 2>err
    sed -n 's/.* cpu \([0-9.]*\) s,.*/\1/p' err |
        awk '{ printf "%d\n", $1 * 1000000 }'
}
# quick WHAT FILE OPTION ...: the file takes at most 0.2 us a byte (and 0.1 s)
# more than prose
quick() {
    runs=0 quick_what=$1
    shift
    while :; do
        most=$(cpu prose.txt)
        most=$((most + n / 5 + 100000))
        took=$(cpu "$@")
        runs=$((runs + 1))
        if [ "${took:-$most}" -lt $most ] || [ $runs = 4 ]; then
            break
        fi
    done
    if [ "${took:-$most}" -lt "$most" ]; then
        pass "$quick_what takes little more time than prose"
    else
        fail "$quick_what takes $took us, $most are allowed"
    fi
}

# memory_texts: write texts of 8 MB, or 60 MB in long tests, for measuring
# memory
memory_texts() {
    n=8000000
    is_long && n=60000000
    awk -v n=$n 'BEGIN { for (i = 0; i < n / 58; i++)
        printf "The quick brown fox jumps over the lazy dog, and 12 more; " }' \
        >line.txt
    tr ' ' '\n' <line.txt >lines.txt
    { printf '{"text": "'; cat line.txt; printf '"}\n'; } >line.jsonl
    head -c $n /dev/zero | tr '\0' a >equal.txt
    tr '\0' '\n' </dev/zero | head -c $n >empty.txt
    awk -v n=$n 'BEGIN { srand(2); for (i = 0; i < n / 10; i++) {
        s = ""
        for (k = 0; k < 10; k++)
            s = s sprintf("%c", 97 + rand() * 26)
        printf "%s", s } }' >random.txt
    # A short text shows the memory that the same options always take.
    echo a >little.txt
}
peak() {    # peak FILE: the peak memory in bytes, from the closing line in FILE
    sed -n 's/.*, peak \([0-9.]*\) MB$/\1/p' "$1" |
        awk '{ printf "%d\n", $1 * 1000000 }'
}
# within FILE OPTION ...: reading the file takes at most 8 bytes of memory for
# each of its bytes, and 4 MB, more than a short text
within() {
    in=$1
    shift
    measured "$@" little.txt >short.out 2>err
    least=$(peak err)
    ok "$in is read with $*" measured "$@" "$in"
    most=$((least + 8 * $(wc -c <"$in") + 4000000))
    if [ "$least" -gt 0 ] && [ "$(peak err)" -le $most ]; then
        pass "$in takes 8 bytes of memory a byte with $*"
    else
        fail "$in with $* takes: $(tail -n 1 err), at first $least"
    fi
}
