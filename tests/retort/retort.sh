#!/bin/sh
# retort: runs the programs beside it, lists them, describes the machine
. "${0%/*}/../lib/lib.sh"

ok 'a program runs by its name' retort shard -V
like 'the program that runs is the one named' '^shard \(retort\)' out
ok 'a command of a program runs' retort shard list -h
like 'the command gets its options' '^usage: shard list' out
status 0 'retort alone lists what can be done' retort
for p in help doctor $(names); do
    [ "$p" = retort ] || grep -q "^[a-z].*  *retort $p\$" out ||
        fail "$p is not listed by what it does"
done
equal 'a line of that list fits into 80 columns' "$(awk 'length > 80' out)" ''
equal 'that list is on standard output alone' "$(cat err)" ''
cp out list
ok 'retort help prints a list' retort help
same 'both lists are equal' list out
printf 'a b\n' >text
ok 'a program reads standard input' sh -c 'retort clean -q --split blank - <text >docs'
like 'what the program wrote is whole' '"retort":"end"' docs
mkdir bad
echo '{}' >bad/manifest.json
status 3 'the status is that of the program' retort shard list bad
status 2 'a misspelt program ends with status 2' retort sahrd
like 'the program that was meant is named' 'mean retort shard' err
status 2 'help of an unknown program ends with status 2' retort help nothing
like 'the unknown program is named' '"nothing"' err
status 2 'help of a misspelt program ends with status 2' retort help studnet
like 'help names the program that was meant' '"studnet"; did you mean student[?]' err
status 2 'help of a program with two names near ends with status 2' retort help evalpask
like 'help names the nearest program' 'did you mean evaltask[?]' err
status 2 'help of a command without its program ends with status 2' retort help chat
like 'help names the page of the command' '"chat"; did you mean generate-chat[?]' err
status 2 'help of a command of two programs ends with status 2' retort help run
like 'help names both pages' 'did you mean generate-run or plan-run[?]' err
status 2 'a command without its program ends with status 2' retort chat -m x
like 'the message names the program' '"chat"; did you mean retort generate chat[?]' err

mkdir empty
ok 'help prints options where man is missing' \
    env PATH="$PWD/empty" "$BUILD/bin/retort" help shard list
like 'the options are those of the command' '^usage: shard list' out


# A man(1) that has one page
mkdir pages
printf '#!/bin/sh\n[ "$*" = "1 $PAGE" ] && echo "page $2"\n' >pages/man
chmod +x pages/man
for page in retort-shard-list shard-list; do
    ok "help shows the page $page" \
        env PAGE=$page PATH="$PWD/pages:$PATH" retort help shard list
    equal "$page is the page of the command" "$(cat out)" "page $page"
done
for name in retort-shard-list shard-list 'retort-shard list'; do
    # shellcheck disable=SC2086 # one word or two
    ok "help finds the page named $name" \
        env PAGE=shard-list PATH="$PWD/pages:$PATH" retort help $name
    equal "$name is the page of the command" "$(cat out)" 'page shard-list'
done
ok 'help finds its own page' env PAGE=retort PATH="$PWD/pages:$PATH" \
    retort help retort
status 2 'help of a program that is not there, with a dash, is refused' \
    retort help no-such
like 'help names it whole' '"no-such"' err

# --- the machine ---
ok 'doctor ends with status 0' retort doctor
for line in processor kernels memory 'large pages' programs 'Open MPI' HTTP \
    libedit OpenBLAS energy; do
    like "doctor has a line on $line" "^$line  *[^ ]" out
done
equal 'doctor names the kernels that programs use' \
    "$(sed -n 's/^kernels *\([a-z0-9]*\).*/\1/p' out)" \
    "$(if grep -q avx512vl /proc/cpuinfo; then echo avx512; else echo avx2; fi)"
# On Intel's processors VDPBF16PS is no faster than fp32.
by=$(awk -F : '/^vendor_id/ { intel = /Intel/ }
    /^flags/ { flags = $2 " " }
    END {
        if (flags ~ / amx_bf16 /) print "AMX"
        else if (flags ~ / avx512_bf16 / && !intel) print "AVX512-BF16"
        else if (flags != "") print "multiply-adds"
    }' /proc/cpuinfo)
env -u RETORT_KERNELS retort doctor >out 2>&1
like 'doctor names the instruction that multiplies bfloat16 fast' \
    "^kernels .*bfloat16: $by" out
env RETORT_KERNELS=ref retort doctor >out 2>&1
like 'doctor says that kernels in plain C are slow' 'slower' out
unlike 'kernels in plain C have no such instruction' 'bfloat16: A' out
ok 'doctor measures' retort doctor --bench 0
for line in fp32 bf16 q8_0 dots copy; do
    like "doctor has a figure on $line" "^$line  *[1-9][0-9.]* G[A-Z]" out
done
status 2 'a time that is no number ends with status 2' retort doctor --bench x

# --- installed elsewhere, with a prefix ---
mkdir bin
cp "$BUILD/bin/retort" bin/r-retort
cp "$BUILD/bin/shard" bin/r-shard
ok 'a program with a prefix runs' bin/r-retort shard -V
like 'the program with the prefix runs' '^r-shard ' out
ln -s ../bin/r-retort empty/r-retort
ok 'a link finds the programs beside its target' empty/r-retort shard -V
status 1 'a program that is not installed ends with status 1' \
    bin/r-retort stream data
like 'the missing file is named' 'r-stream' err
status 1 'doctor ends with status 1 if programs are missing' bin/r-retort doctor
like 'doctor names a missing program' 'missing: .*stream' out
done_testing
