#!/bin/sh
# Foreign files and the wrong kind of input, to every program
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"
. "$top/tests/lib/damage.sh"

# --- foreign files in every role ---
mkdir foreign
: >foreign/empty
head -c 70000 /dev/zero >foreign/zeros
cp "$top/LICENSE" foreign/text
cp "$BUILD/bin/plan" foreign/program
head -c 3000 "$BUILD/bin/plan" | tail -c 1000 >foreign/binary
cp "$gguf" foreign/gguf
cp teacher/model.safetensors foreign/safetensors
cp data/00000.shard.zst foreign/shard
cp teacher/config.json foreign/json
cp docs foreign/docs
cp kd foreign/kd
for what in empty zeros text program binary gguf safetensors shard json; do
    cp foreign/$what x
    as_docs 3
    as_batches 3
done
verdict 'foreign files are no streams'
what='documents as batches'
cp docs x
refused 3 x teacher -q -m teacher -o r x
refused 3 x student -q -m s -o r x
refused 3 x prune -q -m teacher -o r --ratio 0.3 x
what='batches to be decoded'
cp batches x
refused 3 x tokenize -q -t tok --decode x
verdict 'the wrong kind of stream'
for what in empty zeros text program binary safetensors shard docs; do
    cp foreign/$what x.gguf
    as_model 3 x.gguf x.gguf
    as_tokenizer 3 x.gguf x.gguf
done
verdict 'foreign files are no GGUF'
for what in empty zeros text program binary gguf shard docs; do
    cp foreign/$what m/model.safetensors
    as_model 3 m model.safetensors
done
cp teacher/model.safetensors m
verdict 'foreign files are no weights'
for what in empty zeros text binary gguf safetensors shard docs; do
    cp foreign/$what m/config.json
    as_model 3 m config.json
done
cp teacher/config.json m
verdict 'foreign files are no config.json'
for what in empty zeros text binary gguf safetensors shard docs json; do
    cp foreign/$what t/tokenizer.json
    as_tokenizer 3 t tokenizer.json
done
verdict 'foreign files are no tokenizer.json'

# --- fifos and devices, which never end ---
for what in fifo /dev/zero; do
    for f in m/model.safetensors m/config.json t/tokenizer.json x.gguf; do
        rm -f $f
        if [ $what = fifo ]; then mkfifo $f; else ln -s $what $f; fi
    done
    as_model 1 x.gguf x.gguf
    as_tokenizer 1 x.gguf x.gguf
    as_tokenizer 1 t tokenizer.json
    as_model 1 m config.json
    rm m/config.json
    ln -s ../teacher/config.json m
    as_model 1 m model.safetensors
    for f in manifest.json 00000.index 00000.shard.zst; do
        rm -rf sd
        cp -r data sd
        rm sd/$f
        if [ $what = fifo ]; then mkfifo sd/$f; else ln -s $what sd/$f; fi
        refused 1 $f stream -q -B 2 -T 64 --batches 2 -o r sd
        refused 1 $f shard check -q sd
        refused 1 $f shard dump -q sd
    done
done
verdict 'fifos and devices are no files'
rm m/* t/* x.gguf
cp teacher/*.* m
cp tok/* t

# --- text ---
text() {
    refused "$1" "$2" tokenize -q -t tok -o r "$2"
    refused "$1" "$2" tokenize -q -t tok --ids "$2"
    refused "$1" "$2" bpe -q -o r --vocab 300 "$2"
}
for what in '{"text": "a"' '{"text": 1}' '{"t": "a"}' '[]' 'a' '{"text": "\q"}'; do
    printf '%s\n' '{"text": "good"}' "$what" >x.jsonl
    text 3 x.jsonl
    expr "$(cat err)" : '.*[0-9]' >/dev/null || wrong="$wrong no line number"
done
what='not UTF-8'
printf 'abc\377def\n' >x.txt
refused 3 x.txt tokenize -q --strict -t tok -o r x.txt
for f in gzip:gz zstd:zst bzip2:bz2 xz:xz; do
    command -v ${f%:*} >/dev/null || continue
    ${f%:*} -c <"$top/corpus/en.jsonl" >whole
    for n in 0 3 $(($(wc -c <whole) / 2)) $(($(wc -c <whole) - 5)); do
        what="$n bytes of ${f%:*}"
        head -c "$n" whole >x.jsonl.${f#*:}
        text 3 x.jsonl.${f#*:}
    done
done
verdict 'text that is none'
done_testing
