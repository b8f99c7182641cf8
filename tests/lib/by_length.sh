# shellcheck shell=sh
# by_length MODEL KIND: copy a llama of 128 positions and heads of 16 dimensions
# to the folder KIND, with longrope or dynamic RoPE, for which a text of more
# than 24 tokens is a long one
by_length() {
    cp -R "$1" "$2" && chmod -R u+w "$2" || exit 1
    case $2 in
    longrope) sed 's/"rope_type": "default"/"rope_type": "longrope", \
"original_max_position_embeddings": 24, \
"short_factor": [1, 1, 1, 1, 1.1, 1.2, 1.3, 1.4], \
"long_factor": [1, 1.5, 2, 3, 5, 8, 13, 21]/' ;;
    dynamic) sed 's/"rope_type": "default"/"rope_type": "dynamic", "factor": 6/
s/"max_position_embeddings": 128/"max_position_embeddings": 24/' ;;
    esac <"$1/config.json" >"$2/config.json"
}
