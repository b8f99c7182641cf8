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
    [ "$p" != retort ] || subs='distil help doctor'
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

# --- the shells ---
if [ "$BUILD" = "$top/build" ]; then
    ok 'make install puts completions' make -s -C "$top" install \
        PREFIX="$PWD/usr" PROGPREFIX=r-
    bash=usr/share/bash-completion/completions/r-shard
    fish=usr/share/fish/vendor_completions.d/r-shard.fish
    zsh=usr/share/zsh/site-functions/_r-retort
else
    mkdir -p usr/bin
    ln -s "$BUILD/bin/shard" usr/bin/r-shard
    for shell in bash fish zsh; do
        sed -e "s,@COMPLETE@,$complete," -e "s/@NAMES@/r-shard/" \
            "$top/contrib/completion/$shell" >_$shell
    done
    bash=_bash fish=_fish zsh=_zsh
fi
if command -v bash >/dev/null && has_terminal; then
    cat >typed <<END
. ./$bash
PATH=\$PWD/usr/bin:\$PATH
r-shard wr	--cod	zs	-h
exit
END
    terminal 'bash --norc -i <typed'
    like 'bash completes a command, an option and its value' \
        'r-shard write --codec zstd' screen
else
    skip 'bash completes words' 'no bash, or no terminal'
fi
if command -v fish >/dev/null; then
    ok 'fish reads the file of completions' env HOME="$PWD" \
        PATH="$PWD/usr/bin:$PATH" \
        fish -c "source $fish; complete -C 'r-shard write --codec z'"
    like 'fish completes the value of an option' '^zstd' out
else
    skip 'fish completes words' 'no fish'
fi
if command -v zsh >/dev/null && has_terminal; then
    mkdir functions
    cp $zsh functions/_r-retort
    cat >typed <<END
fpath=(\$PWD/functions \$fpath); autoload -U compinit; compinit -u -D
PATH=\$PWD/usr/bin:\$PATH
r-shard wr	--cod	zs	-h >help
exit
END
    { sleep 1; while read -r line; do printf '%s\n' "$line"; sleep 1; done; } \
        <typed | timeout 60 script -qec 'zsh -f -i' tty.log >screen 2>&1
    like 'zsh completes a command, an option and its value' \
        '^usage: r-shard write' help
else
    skip 'zsh completes words' 'no zsh, or no terminal'
fi
done_testing
