#!/bin/sh
# Parameters of each family, whole and cut: plan cluster and plan run count those
# that are trained; files of a cut model have more, zeros that pad its blocks
. "${0%/*}/../lib/lib.sh"

# parameters ARGUMENT ...: how many this prediction counts
parameters() {
    plan "$@" -q --format tsv >out 2>err || cat err
    awk -F '\t' '$1 == "parameters" { print $2 }' out
}
# tensors FOLDER: how many numbers its model.safetensors has, all in fp32
tensors() {
    echo $((($(wc -c <"$1/model.safetensors") - 8 - \
        $(od -An -t u8 -N 8 "$1/model.safetensors")) / 4))
}
# agree WHAT FOLDER: plan counts the parameters of the model that was written
agree() {
    n=$(parameters run -m "$2")
    equal "plan cluster counts of $1 what plan run counts" \
        "$(parameters cluster -m "$2" --machine h100 batch=8)" "$n"
    mkdir -p padded # the configuration without the shapes of cut blocks
    sed '/^  "retort": {/,/^  }/d' "$2/config.json" >padded/config.json
    equal "the tensors of $1 are written as blocks of one width" \
        "$(tensors "$2")" "$(parameters run -m padded)"
}

for model in "$top"/tests/golden/family/*/ "$top"/tests/golden/experts/*/ \
    "$top/tests/golden/gguf/f32-hf/"; do
    name=${model%/}
    name=${name##*/}
    rm -rf whole cut
    convert -q "$model" whole || exit 1
    sed -n 's/.*"model_type": "\(.*\)".*/\1/p' whole/config.json >>met
    agree "$name" whole
    case $name in *-cut) continue ;; esac # blocks of these have been cut

    # the first block keeps three channels, each other one its MLP alone
    awk 'BEGIN { print "# retort choice 1\nblock\tgroups\tchannels\n0\tall\t0-2" }
        /"num_hidden_layers"/ { gsub(/[^0-9]/, "")
            for (i = 1; i < $0 + 0; i++) print i "\t-\tall" }' \
        whole/config.json >choice
    if ! prune cut -q -m "$model" --no-repair --choice choice -o cut 2>err; then
        like "$name cannot be cut" \
            'mixture of experts|gated delta rule|latent attention' err
        continue
    fi
    agree "the cut $name" cut
    whole=$(parameters run -m whole)
    if [ "$n" -gt 0 ] && [ "$n" -lt "$whole" ]; then
        pass "plan counts fewer parameters of the cut $name"
    else
        fail "plan counts fewer parameters of the cut $name: $n of $whole"
    fi
done

# activations FOLDER: bytes of them
activations() {
    plan cluster -q -m "$1" --machine h100 batch=8 --format tsv |
        awk -F '\t' '$1 == "memory.activations" { print $2 }'
}
printf '# retort choice 1\nblock\tgroups\tchannels\n0\tall\tall\n1\tall\t0-2\n' >choice
rm -rf cut
prune cut -q -m "$top/tests/golden/gguf/f32-hf" --no-repair --choice choice \
    -o cut || exit 1
if awk "BEGIN { exit !($(activations cut) < \
    $(activations "$top/tests/golden/gguf/f32-hf")) }"; then
    pass 'a block with fewer channels takes less memory for activations'
else fail 'a block with fewer channels takes less memory for activations'; fi

# each family that the library reads has been met
sed -n 's/^| \([a-z0-9_]*\) |  |.*/\1/p' "$top/docs/families.md" | sort >known
sort -u met >tested
same 'each family is tested' known tested
done_testing
