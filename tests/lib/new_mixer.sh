# shellcheck shell=sh
# For tests of a model whose blocks have another mixer than attention: it is
# trained, teaches, becomes files and writes text.  Needs train.sh.

# learns CONFIG RUN: train CONFIG to RUN; RUN is taught and teaches
learns() {
    batches >b
    status 0 'the model is trained' student -q -m "$1" -t tok -o "$2" --lr 3e-3 \
        --warmup 0 -s 3 b
    falls 'the loss of the model falls' "$2"
    status 0 'the model is trained a row at a time, by one thread' student -q \
        -m "$1" -t tok -o one1 --lr 3e-3 --warmup 0 -s 3 --micro 1 --recompute \
        -j 1 b
    same_model 'the weights do not depend on how rows are grouped' "$2" one1
    status 0 'the model learns from a dense teacher' sh -c 'teacher -q -m teacher \
        --final b | student -q -m '"$2"' -o taught --lr 1e-3'
    status 0 'the model teaches a dense student' sh -c 'teacher -q -m '"$2"' \
        --final b | student -q -m new.json -t tok -o s --lr 3e-3 --warmup 0'
    falls 'the loss of the dense student falls' s
}

# becomes_files RUN: RUN.gguf, again (that GGUF as a folder), q8.gguf
becomes_files() {
    status 0 'the model becomes a GGUF' convert -q "$1" "$1.gguf"
    status 0 'the GGUF becomes a folder' convert -q "$1.gguf" again
    evalppl -q -m again --base "$1" --format tsv one >kl.tsv
    equal 'the folder has the model that became the GGUF' "$(awk -F '\t' '
        $1 == "model" && !c { for (i = 1; i <= NF; i++) if ($i == "kl") c = i }
        $1 == "again" { x = sprintf("%.6f", $c); sub(/^-/, "", x); print x
            exit }' kl.tsv)" 0.000000
    status 0 'the model becomes a GGUF of 8 bits' convert -q --dtype q8_0 "$1" q8.gguf
}

# writes_texts RUN: by RUN and q8.gguf, for `prompts`, to the file all
writes_texts() {
    tap_prompt=$(head -c 400 "$top/README.md" | tr -cd 'a-z ')
    printf '%s\n' "$tap_prompt" "$tap_prompt" "$tap_prompt" >prompts
    status 0 'the model writes three texts of a long prompt' generate run -q \
        -m "$1" -n 40 --logprobs 2 --prompts prompts
    cp out all
    sed 's/"index": [0-9]*//' out >three
    equal 'the texts of one prompt are the same' "$(sort -u three | wc -l)" 1
    status 0 'the model writes one text' generate run -q -m "$1" -n 40 \
        --logprobs 2 --prompts prompts --count 1
    equal 'a text alone is the same as beside others' \
        "$(sed 's/"index": [0-9]*//' out)" "$(sed 1q three)"
    status 0 'the GGUF of 8 bits writes text' generate run -q -m q8.gguf -n 8 'The'
}
