#!/bin/sh
# Files for packages ask for the libraries that scripts/setup finds
. "${0%/*}/../lib/lib.sh"
packages=contrib/packaging
files="debian/control $packages/Containerfile $packages/retort.def
    $packages/spack/package.py $packages/retort-0.1.0-foss-2023b.eb"

# Names of each library, and of what is optional, in pkg-config, Debian, Spack
# and EasyBuild; -: a name that is not needed there.
cat >libraries <<'END'
libzstd libzstd-dev zstd zstd
liblz4 liblz4-dev lz4 lz4
libarchive libarchive-dev libarchive libarchive
jansson libjansson-dev jansson Jansson
libxxhash libxxhash-dev xxhash xxHash
icu-uc libicu-dev icu4c ICU
hwloc libhwloc-dev hwloc foss
nettle nettle-dev nettle nettle
ompi-c libopenmpi-dev mpi foss
libmicrohttpd libmicrohttpd-dev libmicrohttpd libmicrohttpd
libedit libedit-dev libedit libedit
openblas libopenblas-dev openblas foss
cld2 libcld2-dev - -
END

# --- the table is that of scripts/setup and of the Makefile ---
grep -oE '(lib[a-z0-9]+|nettle)-dev' "$top/scripts/setup" |
    grep -vx libc6-dev | sort -u >want
cut -d ' ' -f 2 libraries | sort >got
same 'the table has the libraries of scripts/setup, and no others' want got
equal 'the table has every library of the Makefile' "$(
    sed -n 's/^PKGS *= *//p' "$top/Makefile" | tr ' ' '\n' |
        while read -r name; do
            grep -q "^$name " libraries || echo "$name"
        done)" ''

# asks FILE: the libraries that it names, in the words of its column, sorted
asks() {
    case $1 in
    */package.py) sed -n 's/.*depends_on("\([^"@]*\).*/\1/p' "$top/$1" |
        grep -vxE 'c|gmake|pkgconfig' ;;
    *.eb) sed -n "/^dependencies/,/^]/s/^ *('\([^']*\)'.*/\1/p
        s/^toolchain.*'name': '\([a-z]*\)'.*/\1/p" "$top/$1" ;;
    *) sed '/^#/d' "$top/$1" | tr -s ' ,' '[\n*]' |
        grep -xE '(lib.*|nettle)-dev' | grep -vx libc6-dev ;;
    esac | sort -u
}
for f in $files; do
    case $f in
    */package.py) column=3 ;;
    *.eb) column=4 ;;
    *) column=2 ;;
    esac
    cut -d ' ' -f $column libraries | grep -vx -e - | sort -u >want
    asks "$f" >got
    # the package of the programs recommends the library without its headers
    [ "$f" != debian/control ] || sed -i '/^libopenblas-dev$/d' want
    same "$f asks for the libraries of scripts/setup, and no others" want got
done
like 'the Debian package recommends OpenBLAS' '^Recommends:.* libopenblas0' \
    "$top/debian/control"

# --- files that nobody has tried say so; versions agree ---
for f in $files; do
    [ "$f" = debian/control ] && continue
    head -n 1 "$top/$f" >first
    like "$f says first whether it was tried" '^# Untried|[(]tried with' first
done
version=$(sed -n 's/^VERSION = //p' "$top/Makefile")
like 'debian/changelog begins with the version of the Makefile' \
    "^retort \\($version\\) " "$top/debian/changelog"
like 'the Spack package has the version of the Makefile' \
    "version\\(\"$version\"" "$top/$packages/spack/package.py"
like 'the EasyBuild file has the version of the Makefile' \
    "^version = '$version'" "$top/$packages/retort-$version-foss-2023b.eb"
done_testing
