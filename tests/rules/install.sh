#!/bin/sh
# make install and uninstall: names with a prefix, pages, nothing left
. "${0%/*}/../lib/lib.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

if [ "$BUILD" != "$top/build" ]; then
    skip 'install' 'tested for the plain build only'
    done_testing
fi
stage=$PWD/stage
run() {
    make -s -C "$top" "$@" DESTDIR="$stage" PREFIX=/opt PROGPREFIX=r-
}
ok 'make install' run install
for p in $(names); do
    [ -x "stage/opt/bin/r-$p" ] || fail "r-$p is not installed"
    [ ! -e "$top/man/$p.1" ] || [ -s "stage/opt/share/man/man1/r-$p.1" ] ||
        fail "r-$p.1 is not installed"
done
[ ! -e "$BUILD/lib/libretort-pmpi.so" ] ||
    same 'the log of MPI' "$BUILD/lib/libretort-pmpi.so" \
        stage/opt/lib/libretort-pmpi.so
ok 'an installed program runs' stage/opt/bin/r-shard -V
like 'under its name' '^r-shard \(retort\) ' out
if [ -e "$top/man/stream.1" ]; then
    unlike 'pages use the installed names' '^\.(Nm|Xr) stream( |$)' \
        stage/opt/share/man/man1/r-stream.1
fi
ok 'make uninstall' run uninstall
equal 'leaves nothing' "$(find stage -mindepth 1)" ''
done_testing
