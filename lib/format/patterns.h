/*
 * The patterns of pre-tokenizers, literally as in a tokenizer.json; names in
 * tokenizer.ggml.pre of a GGUF stand for them.
 */
#ifndef FORMAT_PATTERNS_H
#define FORMAT_PATTERNS_H

#define RX_SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define RX_BEFORE "[^\\r\\n\\p{L}\\p{N}]?"
#define RX_TAIL "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RX_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RX_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define RX_OTHERS "| ?[^\\s\\p{L}\\p{N}]+"

/* GPT-2's pattern, which ByteLevel(use_regex) has too. */
#define RX_GPT2                                                             \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+" RX_OTHERS "|\\s+(?!\\S)|" \
    "\\s+"
/* Llama 3's pattern, which cuts as tiktoken's cl100k_base. */
#define RX_LLAMA3 \
    RX_SHORT "|" RX_BEFORE "\\p{L}+|\\p{N}{1,3}" RX_OTHERS "[\\r\\n]*" RX_TAIL
/* tiktoken's cl100k_base: RX_LLAMA3 in other words, with the same pieces. */
#define RX_CL100K                                                       \
    "'(?i:[sdmt]|ll|ve|re)|" RX_BEFORE "+\\p{L}+|\\p{N}{1,3}" RX_OTHERS \
    "+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"
/* Qwen 2: numbers digit by digit; Qwen 3.5: marks count as letters, too. */
#define RX_QWEN2 \
    RX_SHORT "|" RX_BEFORE "\\p{L}+|\\p{N}" RX_OTHERS "[\\r\\n]*" RX_TAIL
#define RX_QWEN35                                   \
    RX_SHORT "|" RX_BEFORE "[\\p{L}\\p{M}]+|\\p{N}" \
             "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" RX_TAIL
/* Mistral's Tekken: a word ends before an upper-case letter that follows a
 * lower-case one. */
#define RX_TEKKEN                                                        \
    RX_BEFORE RX_UPPER "*" RX_LOWER "+|" RX_BEFORE RX_UPPER "+" RX_LOWER \
                       "*|\\p{N}" RX_OTHERS "[\\r\\n/]*" RX_TAIL
/* tiktoken's o200k_base, GPT-4o and Llama 4: Tekken's pattern with
 * contractions, and numbers of at most 3 digits. */
#define RX_O200K                                                           \
    RX_BEFORE RX_UPPER "*" RX_LOWER "+" RX_SHORT "?|" RX_BEFORE RX_UPPER   \
                       "+" RX_LOWER "*" RX_SHORT "?|\\p{N}{1,3}" RX_OTHERS \
                       "[\\r\\n/]*" RX_TAIL

/* DeepSeek-V3 and R1: three patterns, used one after another.  Each cuts the
 * pieces that the pattern before has made. */
#define RX_DEEPSEEK_NUMBERS "\\p{N}{1,3}"
#define RX_DEEPSEEK_HAN                                   \
    "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f" \
    "\xe3\x82\xa0-\xe3\x83\xbf]+"
#define RX_DEEPSEEK                                         \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+" \
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "          \
    "?[\\p{P}\\p{S}]+[\r\n]*"                               \
    "|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

#endif
