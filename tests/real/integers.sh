#!/bin/sh
# Products in 8-bit integers against exact ones on real models: the mean KL is
# at most that of llama.cpp's logits of the file to those of the file in F32
# (tests/golden/README.md).  make check-real MODELS=DIR, where DIR holds
# smollm2-135m.gguf (Q4_1) or gemma3-270m.gguf (Q4_K_M).
if [ -z "${RETORT_MODELS:-}" ]; then
    echo '1..0 # SKIP no models: make check-real MODELS=DIR'
    exit 0
fi
. "${0%/*}/../lib/lib.sh"

# near NAME KL
near() {
    [ -f "$RETORT_MODELS/$1.gguf" ] || return 0
    ok "$1 in integers is as near to exact products as in llama.cpp" \
        "$BUILD/tests/real-integers" "$RETORT_MODELS/$1.gguf" \
        "$top/tests/golden/integers/text.txt" "$2"
    sed 's/^/# /' out
}
near smollm2-135m 0.002620
near gemma3-270m 0.005196
done_testing
