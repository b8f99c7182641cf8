/* Greedy text, for people to look at; serving comes by another program. */
#include "teacher.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "tok/tok.h"
#include "model/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Highest logit, the lowest id on ties; dies on NaN, which no order holds. */
static uint32_t
argmax(const float *z, size_t n)
{
    uint32_t best = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(z[i]))
            die(EX_NUM, "logit %zu is not finite", i);
        if (z[i] > z[best])
            best = (uint32_t)i;
    }
    return best;
}

void
generate(const struct model *m, struct pool *pool, const char *tokenizer,
    const char *prompt, size_t n)
{
    struct err e;
    struct tokenizer *t = tok_open(tokenizer, &e);
    struct tok_scratch *scratch;
    struct tok_ids ids = { 0 };
    struct buf text = { 0 };
    struct kvcache *kv;
    float *logits;
    /* On a terminal the text itself is the progress. */
    const int shows = !isatty(STDOUT_FILENO);
    const size_t slot = 0;
    size_t len;

    if (t == NULL)
        die_err(&e);
    if (tok_warning(t))
        warn("%s: %s", tokenizer, tok_warning(t));
    if (tok_vocab(t) > m->c.V)
        die(EX_INPUT, "%s: %zu tokens, the model has %zu", tokenizer,
            tok_vocab(t), m->c.V);
    scratch = tok_scratch_new(t);
    tok_encode(t, scratch, prompt, strlen(prompt), TOK_SPECIAL | TOK_BOS, &ids);
    if (ids.n == 0)
        die(EX_USAGE, "the prompt has no tokens");
    len = ids.n + n;
    kv = kv_new(m, pool, 1, len);
    logits = xreallocarray(NULL, m->c.V, sizeof(*logits));
    if (shows)
        progress_begin("generating", (double)n, "tokens");
    out_put(prompt, strlen(prompt));
    if (kv_feed(kv, 0, ids.v, ids.n, logits) < 0)
        die(EX_SYS, "the prompt does not fit the cache");
    for (size_t i = 0; i < n && !stop_asked; i++) {
        const uint32_t id = argmax(logits, tok_vocab(t));

        if ((int64_t)id == tok_eos(t) || config_is_eos(&m->c, id))
            break;
        buf_clear(&text);
        if (tok_decode(t, &id, 1, TOK_MIDDLE, &text, &e) < 0)
            die_err(&e);
        out_put(text.p, text.n);
        if (shows)
            progress_at((double)i + 1.0, NULL);
        if (i + 1 < n && kv_step(kv, &slot, &id, 1, logits) < 0)
            break;
    }
    if (shows)
        progress_end();
    out_put("\n", 1);
    free(logits);
    kv_free(kv);
    tok_ids_release(&ids);
    buf_release(&text);
    tok_scratch_free(scratch);
    tok_free(t);
}
