# shellcheck shell=sh
# Damaged input to every program: exit 3, one line that names the file, no
# crash, and nothing that could be taken for a result.  Sourced after lib.sh
# and train.sh.

student -q -m new.json -t tok -o s --lr 1e-3 one || exit 1
# shellcheck disable=SC2034 # for the tests
gguf=$top/tests/golden/gguf/q8_0.gguf
stream -q -B 2 -T 64 -s 2 --batches 3 -o batches data
teacher -q -m teacher -o kd batches
mkdir m t
cp teacher/*.* m
head -n 2 "$top/corpus/en.jsonl" >few.jsonl
tokenize -q -t tok --lang en -o docs few.jsonl

count=0
wrong=
# refused STATUS NAME command ...: count an error unless the command's status
# matches the pattern STATUS and its message is one line that begins with
# "prog: NAME"
refused() {
    rc=0
    want=$1 name=$2
    shift 2
    rm -rf r r.tmp
    "$@" >out 2>err </dev/null || rc=$?
    count=$((count + 1))
    # shellcheck disable=SC2254 # a pattern
    case $rc in
    $want) ;;
    *)
        wrong="$wrong
# $rc: $what: $* $(head -n 1 err)"
        ;;
    esac
    if [ $rc != 0 ] && { [ "$(grep -vE '^[a-z]+( [a-z]+)?: .*( = |: passed over: )' err |
        sed '1{/with another tokenizer/{$!d;};}' | wc -l)" != 1 ] ||
        ! grep -q -E "^$1( [a-z]+)?: .*$name" err; }; then
        wrong="$wrong
# message: $what: $*
$(sed 's/^/#   /' err)"
    fi
    if [ $rc != 0 ] && { [ -e r/config.json ] || [ -f r ]; }; then
        wrong="$wrong
# a result: $what: $*"
    fi
}
verdict() {
    if [ -z "$wrong" ]; then
        pass "$1, $count times"
    else
        fail "$1$wrong"
    fi
    count=0
    wrong=
}

# as_KIND STATUS: run the programs with the file x in each role that it can
# have.
as_docs() {
    refused "$1" x shard write -q -o r x
    refused "$1" x shard dump -q x
    refused "$1" x evalppl -q -m teacher -o r x
    refused "$1" x tokenize -q -t tok --decode x
}
as_batches() {
    refused "$1" x shard write -q -o r x
    refused "$1" x shard dump -q x
    refused "$1" x teacher -q -m teacher -o r x
    refused "$1" x student -q -m s -o r x
    refused "$1" x prune -q -m teacher -o r --ratio 0.3 x
    refused "$1" x evalppl -q -m teacher -o r x
}
as_kd() {
    refused "$1" x shard write -q -o r x
    refused "$1" x shard dump -q x
    refused "$1" x student -q -m s -o r x
    refused "$1" x prune -q -m teacher -o r --ratio 0.3 x
    refused "$1" x evalppl -q -m teacher -o r x
}
as_model() {
    refused "$1" "$3" teacher -q -m "$2" -o r batches
    refused "$1" "$3" generate run -q -m "$2" Hi -n 1
    refused "$1" "$3" student -q -m "$2" -o r batches
    refused "$1" "$3" student -q -m s --teacher "$2" -o r kd
    refused "$1" "$3" prune -q -m "$2" -o r --ratio 0.3 batches
    refused "$1" "$3" evalppl -q -m "$2" -o r batches
    refused "$1" "$3" plan -q -m "$2"
}
as_tokenizer() {
    refused "$1" "$3" tokenize -q -t "$2" --lang en -o r few.jsonl
    refused "$1" "$3" tokenize -q -t "$2" --decode docs
    refused "$1" "$3" shard dump -q -t "$2" docs
    refused "$1" "$3" generate run -q -m teacher -t "$2" Hi -n 1
    refused "$1" "$3" student -q -m s -t "$2" -o r batches
    refused "$1" "$3" prune -q -m teacher -t "$2" -o r --ratio 0.3 batches
}

# flip FILE OFFSET BIT: flip a bit of the file; a second flip restores it
flip() {
    v=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    # shellcheck disable=SC2059 # an escape is a format
    printf "\\$(printf %03o $((v ^ (1 << $3))))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# places FILE N: print N offsets in the file, from a generator with a fixed seed
places() {
    awk -v size="$(wc -c <"$1")" -v n="$2" 'BEGIN {
        x = 7
        for (i = 0; i < n; i++) {
            x = (x * 16807) % 2147483647
            print x % size
        }
    }'
}
# cuts FILE: print sizes to which to truncate the file
cuts() {
    size=$(wc -c <"$1")
    echo 1 7 8 9 100 $((size / 3)) $((size - 1))
}

