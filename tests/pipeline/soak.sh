#!/bin/sh
# scripts/soak: one disturbed round, and faults that it must see
. "${0%/*}/../lib/lib.sh"
soak=$top/scripts/soak

if ! command -v setsid >/dev/null || ! command -v ps >/dev/null; then
    skip 'a soak of one round' 'no setsid or ps'
    done_testing
fi
ok 'a soak of one round finds no fault' "$soak" -m 0 -s 5 sound
like 'a round prints what disturbed it' '^round [0-9]+: ranks [124](x5)?, [a-z]+' out
like 'a table ends the output of a soak' '^[0-9]+ round\(s\) +[1-9][0-9]* +[0-9]+ +0$' out
status 2 'soak refuses a time that is no number' "$soak" -m soon odd
like 'soak says that it needs whole numbers' 'whole numbers' err

# evalppl that says something else from its second call on
mkdir -p false/bin
ln -s "$BUILD"/bin/* false/bin
rm false/bin/evalppl
cat >false/bin/evalppl <<END
#!/bin/sh
"$BUILD/bin/evalppl" "\$@" || exit
[ ! -e called ] || echo other >>disk/eval.tsv
: >called
END
chmod +x false/bin/evalppl
status 1 'a soak whose results differ ends with status 1' \
    env BUILD="$PWD/false" "$soak" -m 0 -s 5 differs
like 'a soak names a result that differs' 'OTHER BYTES' out

# shard that fails without a word from its second call on
rm false/bin/evalppl false/bin/shard
ln -s "$BUILD/bin/evalppl" false/bin
cat >false/bin/shard <<END
#!/bin/sh
case "\$*" in *disk/data*)
    [ ! -e called ] || exit 3
    : >called ;;
esac
exec "$BUILD/bin/shard" "\$@"
END
chmod +x false/bin/shard
status 1 'a soak whose program fails ends with status 1' \
    env BUILD="$PWD/false" "$soak" -m 0 -s 5 fails
like 'a soak names a failure without a message' 'NO MESSAGE' out
like 'a soak names a failure without a disturbance' 'FAILED undisturbed' out
done_testing
