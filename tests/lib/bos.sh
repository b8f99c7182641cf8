# shellcheck shell=sh
# with_bos MODEL COPY: copy a golden model folder, with a tokenizer that puts
# BOS before every text
with_bos() {
    mkdir "$2"
    cp "$1"/* "$2"
    grep -v '"add_bos_token"' "$1/tokenizer_config.json" >"$2"/tokenizer_config.json
    one='{"SpecialToken":{"id":"<|im_start|>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}'
    sed "s/^\"post_processor\": null/\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[$one],\"pair\":[$one,{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{\"<|im_start|>\":{\"id\":\"<|im_start|>\",\"ids\":[1],\"tokens\":[\"<|im_start|>\"]}}}/" \
        "$1/tokenizer.json" >"$2"/tokenizer.json
}
