#!/bin/sh
# scripts/setup on a machine where things are missing; nothing is installed
. "${0%/*}/../lib/lib.sh"
setup=$top/scripts/setup
RETORT_SETUP=no
export RETORT_SETUP

ok 'nothing to find' "$setup"
ok 'what is there' "$setup" libzstd
equal 'without a word' "$(cat out err)" ''

mkdir bin
for t in sh id sed cat make ar cc; do
    ln -s "$(command -v $t)" bin/$t
done
cat >bin/pkg-config <<'EOF'
#!/bin/sh
[ "$2" = libzstd ]
EOF
chmod +x bin/pkg-config
status 1 'a library is missing' env PATH="$PWD/bin" CC=cc \
    "$setup" libzstd jansson icu-uc
like 'it is named' '^setup: not found: jansson icu-uc$' err
like 'with the line to type' 'apt-get install libjansson-dev libicu-dev' err
like 'and what is optional' 'need them: perl zstd mandoc' err
ok 'tests alone stop nothing' env PATH="$PWD/bin" CC=cc "$setup" libzstd
rm bin/pkg-config bin/cc
status 1 'no compiler, no pkg-config' env PATH="$PWD/bin" CC=cc "$setup" libzstd
like 'both are named' '^setup: not found: cc pkg-config libzstd$' err
like 'with their packages' 'apt-get install gcc libc6-dev pkg-config' err

# --- an Open MPI that is installed between two builds ---
cat >bin/pkg-config <<EOF
#!/bin/sh
case "\$*" in *ompi-c) [ ! -e "$PWD/mpi" ] || echo -lmpi-there; exit ;; esac
exec $(command -v pkg-config) "\$@"
EOF
chmod +x bin/pkg-config
libs() {
    PATH="$PWD/bin:$PATH" make -pn -C "$top" BUILD="$PWD/build" all 2>/dev/null |
        sed -n 's/^MPI_LIBS :*= *//p'
}
equal 'without' "$(libs)" ''
touch mpi
equal 'with' "$(libs)" '-lmpi-there'
done_testing
