/* Any bytes as a tokenizer.json: refused, or a tokenizer that encodes and
 * decodes without harm and always the same. */
#include "data/tokenizer.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "ab<s> a  b\n1 e\xcc\x81 \xe2\x96\x81" "the \xf0\x9f"
    "\x98\x80 <0x41>'s\xff A1b";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = { 0 };
    struct tokenizer *t = tok_parse((const char *)data, n, NULL, 0, &e);
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
