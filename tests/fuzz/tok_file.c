/* Any bytes as a tokenizer.json, or as a GGUF that holds a tokenizer: they are
 * refused, or give a tokenizer that encodes and decodes without harm and always
 * alike. */
#include "tok/tok.h"
#include "format/gguf.h"
#include "format/gguf_tok.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "ab<s> a  b\n1 e\xcc\x81 \xe2\x96\x81"
                           "the \xf0\x9f"
                           "\x98\x80 <0x41>'s\xff A1b";

static struct tokenizer *
from_gguf(const uint8_t *data, size_t n, struct err *e)
{
    struct tokenizer *t = NULL;
    json_t *j = NULL;
    struct gguf g;
    char *s;

    if (gguf_parse(&g, data, n, e) < 0)
        return NULL;
    if ((j = gguf_tokenizer_json(&g, e)) != NULL) {
        s = json_dumps(j, 0);
        if (!s)
            abort();
        t = tok_parse(s, strlen(s), NULL, 0, e);
        free(s);
    }
    json_decref(j);
    gguf_release(&g);
    return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct tokenizer *t = n > 4 && memcmp(data, "GGUF", 4) == 0
        ? from_gguf(data, n, &e)
        : tok_parse((const char *)data, n, NULL, 0, &e);
    struct tok_scratch *s;
    struct tok_ids a = { 0 }, b = { 0 };
    struct buf out = { 0 };
    char hex[33];

    if (!t) {
        if (e.code == 0 || e.msg[0] == '\0')
            abort();
        return 0;
    }
    s = tok_scratch_new(t);
    tok_encode(t, s, text, sizeof text - 1, TOK_SPECIAL | TOK_BOS | TOK_EOS,
        &a);
    tok_encode(t, s, text, sizeof text - 1, TOK_SPECIAL | TOK_BOS | TOK_EOS,
        &b);
    if (a.n != b.n || (a.n && memcmp(a.v, b.v, a.n * sizeof *a.v) != 0))
        abort();
    for (size_t i = 0; i < a.n; i++)
        if (a.v[i] >= tok_vocab(t))
            abort();
    if (tok_decode(t, a.v, a.n, 0, &out, &e) < 0)
        abort();
    tok_hash(t, hex);
    tok_ids_release(&a);
    tok_ids_release(&b);
    buf_release(&out);
    tok_scratch_free(s);
    tok_free(t);
    return 0;
}
