#!/bin/sh
# make dist: the same bytes whoever makes it, and all that a build needs
. "${0%/*}/../lib/lib.sh"

if ! git -C "$top" rev-parse HEAD >commit 2>/dev/null; then
    skip 'make dist' 'no repository of git'
    done_testing
fi
git clone -q --no-hardlinks "$top" a && git clone -q --no-hardlinks "$top" b ||
    fail 'the tree can be cloned'
# The Makefile of today, which may not be committed yet
cp "$top/Makefile" a
cp "$top/Makefile" b
mkdir home
cat >home/.gitconfig <<'END'
[tar]
    umask = 0077
[core]
    autocrlf = true
[tar "tar.gz"]
    command = gzip -1
END
ok 'make dist ends with status 0' make -s -C a BUILD=build dist
sleep 1
ok 'make dist of another user ends with status 0' env HOME="$PWD/home" \
    TZ=Asia/Tokyo LC_ALL=C.UTF-8 sh -c 'umask 077; make -s -C b BUILD=build dist'
file=$(cd a/build && echo retort-*.tar.gz)
same 'make dist writes the same bytes for another user, in another place' \
    "a/build/$file" "b/build/$file"
tar tzf "a/build/$file" >list
sed "s,^${file%.tar.gz}/,,; /\/\$/d; /^\$/d" list | sort >got
git -C a ls-files | sort >want
same 'the archive has every file of the commit' want got
done_testing
