#!/bin/sh
# convert keeps chat templates, wherever transformers or a GGUF has them
. "${0%/*}/../lib/lib.sh"
golden=$top/tests/golden/gguf
hf=$golden/f32-hf

# plain NAME: a copy of the model whose configuration has no template
plain() {
    cp -r "$hf" "$1"
    sed '/"chat_template"/d' "$hf/tokenizer_config.json" \
        >"$1/tokenizer_config.json"
}
list='"chat_template": [{"name": "default", "template": "the default"},'
list="$list {\"name\": \"rag\", \"template\": \"with documents\"}],"

plain list
sed "s/\"eos_token\"/$list &/" list/tokenizer_config.json >t
mv t list/tokenizer_config.json
plain files
mkdir files/additional_chat_templates
printf 'the default' >files/chat_template.jinja
printf 'with documents' >files/additional_chat_templates/rag.jinja
echo 'no template' >files/additional_chat_templates/README
plain file
printf 'the default' >file/chat_template.jinja
plain json
echo '{"chat_template": "the default"}' >json/chat_template.json
for m in list files; do
    ok "$m: to GGUF" convert -q $m $m.gguf
    ok "$m: and back" convert -q $m.gguf $m.back
    like "$m: the default is kept by a GGUF" '"the default"' \
        $m.back/tokenizer_config.json
    like "$m: a named template is kept by a GGUF" '"with documents"' \
        $m.back/tokenizer_config.json
    ok "$m: GGUF to GGUF" convert -q $m.gguf $m.2.gguf
    ok "$m: from that" convert -q $m.2.gguf $m.2
    same "$m: the same templates" $m.back/tokenizer_config.json \
        $m.2/tokenizer_config.json
    ok "$m: to a directory" convert -q $m $m.dir
    like "$m: a directory has the default" '"the default"' \
        $m.dir/tokenizer_config.json
    like "$m: a directory has the named template" '"with documents"' \
        $m.dir/tokenizer_config.json
    like "$m: a directory has the other keys" '"bos_token"' \
        $m.dir/tokenizer_config.json
done
same 'a list is one file, as it was' list/tokenizer_config.json \
    list.dir/tokenizer_config.json
[ ! -e files.dir/chat_template.jinja ] && a=no || a=yes
equal 'no file of one template hides the list' "$a" no
for m in file json; do
    ok "$m: one template to GGUF" convert -q $m $m.gguf
    ok "$m: and back" convert -q $m.gguf $m.back
    like "$m: one template stays a text" '"chat_template": "the default"' \
        $m.back/tokenizer_config.json
done
ok 'a file of one template, to a directory' convert -q file file.dir
same '... is kept as it is' file/chat_template.jinja \
    file.dir/chat_template.jinja
plain both
echo '{"chat_template": "of the processor"}' >both/chat_template.json
printf 'the default' >both/chat_template.jinja
ok 'a .jinja and a .json' convert -q both both.gguf
ok 'both templates come back' convert -q both.gguf both.back
like 'the .jinja comes first' '"chat_template": "the default"' \
    both.back/tokenizer_config.json

tokenize -q -t files -o docs "$top/tests/golden/smollm2/text.txt" &&
    shard write -q -o data docs &&
    stream -q -B 1 -T 16 --batches 1 -o one data || exit 1
ok 'a student of a model with named templates' student -q -m files -o run one
n=$(grep -l '"with documents"' run/tokenizer_config.json \
    run/*/tokenizer_config.json | wc -l)
equal 'its run and its checkpoint have them' "$n" 2
ok 'prune vocab cuts the files' prune vocab -q -m files -o cut docs
like 'the cut model has the named template' '"with documents"' \
    cut/tokenizer_config.json

printf '\377' >files/additional_chat_templates/rag.jinja
status 3 'a template that is not UTF-8 is refused' convert -q files x.gguf
like 'its file is named' 'rag.jinja.*UTF-8' err
rm -r files/additional_chat_templates
printf '\377' >files/chat_template.jinja
status 3 'a default that is not UTF-8 is refused' convert -q files x.gguf
like 'its file is named too' 'chat_template.jinja.*UTF-8' err
done_testing
