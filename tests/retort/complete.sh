#!/bin/sh
# Completion: what may follow on a command line, and bash that asks for it
. "${0%/*}/../lib/lib.sh"
complete=$top/scripts/complete

# follows WORD ...: words that may stand in place of the last one, in a line
follows() {
    "$complete" "$@" | cut -f 1 | tr '\n' ' '
}
equal 'options that begin so are found' "$(follows shard write --co)" '--codec '
equal 'words of an option are found' "$(follows shard write --codec '')" \
    'zstd lz4 '
equal 'words that begin so are found' "$(follows shard write --codec z)" 'zstd '
equal 'nothing follows an option that takes a number' "$(follows stream -B '')" ''
equal 'commands are found' "$(follows generate b)" 'bench '
equal 'no command is found after an option' "$(follows shard -q l)" ''
equal 'programs are found by the driver' "$(follows retort sha)" 'shard '
equal 'options of a program are found behind the driver' \
    "$(follows retort shard write --co)" '--codec '
"$complete" shard write --codec >line
like 'the meaning of an option is printed after a tab' \
    "^--codec$(printf '\t')[a-z]" line

# every option of every program and command is found
for p in $(names); do
    subs=$("$p" -h | awk '/^commands/ { on = 1; next } /^$/ { on = 0 }
        on { print $1 }')
    [ "$p" != retort ] || subs='help doctor'
    for s in '' $subs; do
        # shellcheck disable=SC2086 # no word, or one
        "$p" $s -h | sed -nE 's/^  (-.|  )(, |  )(--[a-z0-9-]+).*/\3/p' |
            sort >want
        # shellcheck disable=SC2086
        "$complete" "$p" $s -- | cut -f 1 | sort >got
        cmp -s want got || fail "$p $s: options are not those of -h"
    done
done
pass 'every option of every program is found'

if ! command -v bash >/dev/null || ! has_terminal; then
    skip 'bash completes words' 'no bash, or no terminal'
    done_testing
fi
if [ "$BUILD" = "$top/build" ]; then
    ok 'make install puts completions' make -s -C "$top" install \
        PREFIX="$PWD/usr" PROGPREFIX=r-
    file=usr/share/bash-completion/completions/r-shard
else
    sed -e "s,@COMPLETE@,$complete," -e "s/@NAMES@/r-shard/" \
        "$top/completion/bash" >r-shard
    mkdir -p usr/bin
    ln -s "$BUILD/bin/shard" usr/bin/r-shard
    file=r-shard
fi
cat >typed <<END
. ./$file
PATH=\$PWD/usr/bin:\$PATH
r-shard wr	--cod	zs	-h
exit
END
terminal 'bash --norc -i <typed'
like 'bash completes a command, an option and its value' \
    'r-shard write --codec zstd' screen
done_testing
