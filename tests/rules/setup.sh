#!/bin/sh
# scripts/setup on a machine where things are missing; nothing is installed
. "${0%/*}/../lib/lib.sh"
setup=$top/scripts/setup
RETORT_SETUP=no
export RETORT_SETUP

ok 'setup without names ends with status 0' "$setup"
ok 'a library that is there is found' "$setup" libzstd
equal 'nothing is printed where all is found' "$(cat out err)" ''

mkdir bin
for t in sh id sed cat make ar cc; do
    ln -s "$(command -v $t)" bin/$t
done
cat >bin/pkg-config <<'EOF'
#!/bin/sh
[ "$2" = libzstd ]
EOF
chmod +x bin/pkg-config
status 1 'a library that is missing fails with status 1' env PATH="$PWD/bin" CC=cc \
    "$setup" libzstd jansson icu-uc
like 'libraries that are missing are named' '^setup: not found: jansson icu-uc$' err
like 'the message has the line of apt-get to type' 'apt-get install libjansson-dev libicu-dev' err
like 'the message names what is optional' 'need them: perl zstd mandoc' err
ok 'programs that tests alone need stop nothing' env PATH="$PWD/bin" CC=cc "$setup" libzstd
rm bin/pkg-config bin/cc
status 1 'setup fails without compiler and pkg-config' env PATH="$PWD/bin" CC=cc "$setup" libzstd
like 'both are named' '^setup: not found: cc pkg-config libzstd$' err
like 'the message names the packages of both' 'apt-get install gcc libc6-dev pkg-config' err

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
equal 'programs are built without MPI where it is not there' "$(libs)" ''
touch mpi
equal 'programs are built with MPI when it is installed later' "$(libs)" '-lmpi-there'
done_testing
