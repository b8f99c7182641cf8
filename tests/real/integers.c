/*
 * How far products in 8-bit integers are from exact ones on a real model:
 * argument 1 is its GGUF, 2 a text file, 3 the most that the mean KL(exact ||
 * integer) may be.  As llama-perplexity does, the text is cut into chunks of
 * 512 tokens, of which the second half is judged.  Run by
 * tests/real/integers.sh.
 */
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/decode/packed.h"
#include "../lib/tap.h"
#include "../lib/tok_open.h"

#include <stdlib.h>

enum { CHUNK = 512, CHUNKS = 4 };

static void
read_ids(const char *model, const char *file, struct tok_ids *ids)
{
    struct tokenizer *t = must_tok(model);
    struct tok_scratch *s = tok_scratch_new(t);
    struct err e;
    size_t n;
    char *text;

    if (io_slurp(file, 1 << 20, &text, &n, &e) < 0)
        die_err(&e);
    tok_encode(t, s, text, n, TOK_SPECIAL | TOK_BOS, ids);
    free(text);
    tok_scratch_free(s);
    tok_free(t);
}

int
main(int argc, char **argv)
{
    struct tok_ids ids = { 0 };
    struct packed_error sum = { 0.0, 0.0, 0.0 };
    struct pool *pool = pool_new(0, NULL);
    struct packed *p;
    struct model m;
    struct err e;

    if (argc != 4 || kern_init() != NULL)
        return 2;
    read_ids(argv[1], argv[2], &ids);
    if (model_open(&m, argv[1], &e) < 0)
        die_err(&e);
    p = packed_new(&m, pool);
    ok(ids.n >= CHUNK * CHUNKS, "the text has %d tokens", CHUNK * CHUNKS);
    for (size_t i = 0; i < CHUNKS && (i + 1) * CHUNK <= ids.n; i++) {
        struct packed_error c;

        if (ids.v[0] == (uint32_t)m.c.bos)
            ids.v[i * CHUNK] = ids.v[0];
        c = packed_compare(p, pool, ids.v + i * CHUNK, CHUNK / 2, CHUNK - 1);
        sum.kl += c.kl / CHUNKS;
        sum.back += c.back / CHUNKS;
        sum.agree += c.agree / CHUNKS;
    }
    printf("# KL(exact || integer) %.6f, KL(integer || exact) %.6f, agree "
           "%.3f %%\n",
        sum.kl, sum.back, 100.0 * sum.agree);
    ok(sum.kl > 0.0 && sum.kl <= atof(argv[3]),
        "integers are no farther from exact products than llama.cpp's (%.6f, "
        "%s)",
        sum.kl, argv[3]);
    packed_free(p);
    model_close(&m);
    tok_ids_release(&ids);
    pool_free(pool);
    return done_testing();
}
