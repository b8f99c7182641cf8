#!/bin/sh
# make install and uninstall: names with a prefix, pages, nothing left
. "${0%/*}/../lib/lib.sh"

if [ "$BUILD" != "$top/build" ]; then
    skip 'install' 'tested for the plain build only'
    done_testing
fi
stage=$PWD/stage
run() {
    make -s -C "$top" "$@" DESTDIR="$stage" PREFIX=/opt PROGPREFIX=r-
}
ok 'make install ends with status 0' run install
unlike 'make install into DESTDIR says nothing at its end' '^The programs' out
for p in $(names); do
    [ -x "stage/opt/bin/r-$p" ] || fail "r-$p is not installed"
    [ ! -e "$top/man/$p.1" ] || [ -s "stage/opt/share/man/man1/r-$p.1" ] ||
        fail "r-$p.1 is not installed"
done
[ ! -e "$BUILD/lib/libretort-pmpi.so" ] ||
    same 'the log of MPI is installed' "$BUILD/lib/libretort-pmpi.so" \
        stage/opt/lib/libretort-pmpi.so
ok 'an installed program runs' stage/opt/bin/r-shard -V
like 'an installed program prints its installed name' '^r-shard \(retort\) ' out
if [ -e "$top/man/stream.1" ]; then
    unlike 'pages use the installed names' '^\.(Nm|Xr) stream( |$)' \
        stage/opt/share/man/man1/r-stream.1
fi
# --- examples, recipes and scripts call what is installed ---
share=stage/opt/share/retort
programs=$(names | tr ' ' '|')
for f in "$top"/man/*.[157] "$top"/recipes/*.sh "$top/scripts/supervise"; do
    case $f in
    *.1) to=stage/opt/share/man/man1/r-${f##*/} ;;
    *.[57]) to=stage/opt/share/man/man${f##*.}/${f##*/} ;;
    *) to=$share/${f#"$top/"} ;;
    esac
    diff "$f" "$to" | sed -n 's/^> //p' |
        sed -E "s/\\br-($programs)\\b/\\1/g; s,/opt/share/retort/,,g" >got
    diff "$f" "$to" | sed -n 's/^< //p' >want
    same "${f##*/}: nothing but names is changed" want got
done
calls='(^|[|;&(] *|exec +|"\$@" +|-n [0-9]+ +)'
for f in stage/opt/share/man/man1/*.1; do
    awk '/^\.Bd -literal/ { on = 1 } /^\.Ed/ { on = 0 } on' "$f"
done >examples
cat $share/recipes/slurm.sh >>examples
unlike 'no example calls a program without its prefix' \
    "$calls($programs) +-" examples
like 'examples call programs with their prefix' '^ *r-student -m' examples
like 'slurm.sh calls programs with their prefix' 'exec r-stream --resume' $share/recipes/slurm.sh
for f in $(grep -ho '/opt/share/retort/docs/[a-z]*[.]md' -r stage/opt/share/man | sort -u); do
    same "pages name ${f##*/} where it is installed" "$top/docs/${f##*/}" "stage$f"
done
like 'examples call a script where it is installed' '^/opt/share/retort/scripts/make-cloze' examples
for f in scripts/supervise scripts/get-model recipes/slurm.sh \
    recipes/tasks/orders-reward; do
    if [ -x $share/$f ]; then pass "$f is installed"; else
        fail "$f is installed"; fi
done
ok 'an installed supervise runs a command' $share/scripts/supervise w true
. "$top/tests/lib/recipe.sh"
declaration
# The stage is no root: links lead to where programs would be.
for p in $(names); do
    equal "$p of recipes is r-$p" "$(readlink "$share/build/bin/$p")" "/opt/bin/r-$p"
    ln -sf "$PWD/stage/opt/bin/r-$p" "$share/build/bin/$p"
done
ok 'an installed recipe runs from another folder' env -u BUILD PATH=/usr/bin:/bin \
    make -s -f $share/recipes/smollm2.mk TEACHER="$gguf" UDHR="$PWD/udhr" \
    T=32 B=2 BATCHES=2 WARMUP=1 SAVE=3 CALIB_ROWS=2 CANDIDATES=0 PARAMS=30K \
    CONTEXT=32 PROMPTS="'en:a b'"
like 'an installed recipe goes on to its end' 'as a page: run/smollm2/full/report.html' out
ok 'make uninstall ends with status 0' run uninstall
equal 'make uninstall leaves nothing' "$(find stage -mindepth 1)" ''

# --- the prefix retort-, without DESTDIR, beside files of others ---
mkdir -p usr/bin usr/share/man/man1
echo other | tee usr/bin/stream >usr/share/man/man1/stream.1
alone() {
    make -s -C "$top" "$@" PREFIX="$PWD/usr" PROGPREFIX=retort-
}
umask 077
ok 'make install with the prefix retort- ends with status 0' alone install
like 'make install says what the programs are called' \
    "are in $PWD/usr/bin: clean is retort-clean" out
like 'make install says what PATH lacks' "export PATH=\"$PWD/usr/bin:.PATH\"" out
like 'make install says what to type first' 'Type "retort help" first' out
PATH=$PWD/usr/bin:$PATH alone install >out
unlike 'make install leaves out PATH if it has the folder' PATH out
umask 022
equal 'all that is installed can be read by others' \
    "$(find usr ! -path usr ! -perm -044 ! -type l ! -path usr/bin/stream)" ''
ok 'retort has no prefix beside retort-stream' usr/bin/retort stream -V
like 'the program that runs has the prefix' '^retort-stream ' out
like 'the page of retort has the name retort' '^\.Nm retort$' \
    usr/share/man/man1/retort.1
like 'retort(7) refers to the page of retort' '^\.It Xr retort 1$' usr/share/man/man7/retort.7
like 'bash completes the program retort' '_retort retort-clean .* retort$' \
    usr/share/bash-completion/completions/retort
equal 'nothing is called retort-retort' "$(grep -rlE 'retort-retort( |$)' usr;
    find usr -name '*retort-retort*')" ''
ok 'make uninstall without DESTDIR ends with status 0' alone uninstall
equal 'only the files of others are left' "$(find usr ! -type d | sort | tr '\n' ' ')" \
    'usr/bin/stream usr/share/man/man1/stream.1 '
done_testing
