/*
 * Any bytes as text to small tokenizers of every family.  The first byte
 * chooses the tokenizer, the second flags.  A cache that was used before must
 * not matter, ids must be in the vocabulary, and a byte-level tokenizer without
 * normalizer and without missing bytes must give the text back.
 */
#include "tok/tok.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int exact; /* decode(encode(x)) = x */
} kind[] = {
    { "gpt2", 1 },
    { "digits", 1 },
    { "flags", 0 },
    { "holes", 0 },
    { "family/llama3", 1 },
    { "family/llama3merges", 1 },
    { "family/nemo", 1 },
    { "family/qwen", 0 },
    { "family/qwenflags", 0 },
    { "family/llama2", 0 },
    { "family/llama2flags", 0 },
    { "family/llama2norm", 0 },
    { "family/mistral3", 0 },
    { "family/gemma", 0 },
    { "family/gemma3", 0 },
    { "family/spbytes", 0 },
    { "family/spunk", 0 },
    { "family/spdrop", 0 },
};
enum { KINDS = sizeof kind / sizeof *kind };

static struct tokenizer *tok[KINDS];
static struct tok_scratch *worn[KINDS];

static void
open_all(void)
{
    const char *top = getenv("RETORT_TOP");
    size_t n = 0;

    for (size_t i = 0; i < KINDS; i++) {
        char path[500];
        struct err e;

        snprintf(path, sizeof path, "%s/tests/golden/tok/%s.json",
            top ? top : ".", kind[i].name);
        tok[i] = tok_open(path, &e);
        if (tok[i])
            worn[i] = tok_scratch_new(tok[i]);
        n += tok[i] != NULL;
    }
    if (n < 4) {
        fprintf(stderr, "set RETORT_TOP to the source tree\n");
        exit(1);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tok_ids a = { 0 }, b = { 0 };
    struct buf out = { 0 };
    struct tok_scratch *s;
    struct err e;
    size_t k;
    int flags;

    if (!tok[0])
        open_all();
    if (n < 2)
        return 0;
    k = data[0] % KINDS;
    flags = data[1] & (TOK_SPECIAL | TOK_BOS | TOK_EOS);
    data += 2;
    n -= 2;
    if (!tok[k])
        return 0;
    s = tok_scratch_new(tok[k]);
    tok_encode(tok[k], worn[k], (const char *)data, n, flags, &a);
    tok_encode(tok[k], s, (const char *)data, n, flags, &b);
    if (a.n != b.n || (a.n && memcmp(a.v, b.v, a.n * sizeof *a.v) != 0))
        abort();
    for (size_t i = 0; i < a.n; i++)
        if (a.v[i] >= tok_vocab(tok[k]))
            abort();
    if (tok_decode(tok[k], a.v, a.n, 0, &out, &e) < 0)
        abort();
    if (kind[k].exact && !(flags & (TOK_BOS | TOK_EOS)) &&
        (out.n != n || (n && memcmp(out.p, data, n) != 0)))
        abort();
    tok_ids_release(&a);
    tok_ids_release(&b);
    buf_release(&out);
    tok_scratch_free(s);
    return 0;
}
