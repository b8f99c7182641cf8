/* Encoding texts; see lmeval.h. */
#include "eval/lmeval.h"
#include "base/mem.h"
#include "base/note.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNKNOWN_MOST = 2048
}; /* most tokens that a model takes if its configuration does not say; as
    * in lm-eval */

int
lmeval_open(struct lmeval *s, const struct eval_model *j, size_t V,
    struct err *e)
{
    struct buf text = { 0 };
    int64_t id;

    memset(s, 0, sizeof(*s));
    if ((s->tok = tok_open(j->path, e)) == NULL)
        return -1;
    if (tok_warning(s->tok))
        warn("%s: %s", j->path, tok_warning(s->tok));
    if (tok_fit(s->tok, j->path, V, NULL, e) < 0)
        return -1;
    s->V = V;
    if ((id = tok_prefix(s->tok)) >= 0 &&
        tok_decode(s->tok, &(uint32_t){ (uint32_t)id }, 1, TOK_MIDDLE, &text,
            e) < 0)
        return -1;
    s->prefix = text.p;
    s->scratch = tok_scratch_new(s->tok);
    s->label = j->label;
    s->most = j->m.c.max_pos > 0 ? j->m.c.max_pos : UNKNOWN_MOST;
    return 0;
}

void
lmeval_close(struct lmeval *s)
{
    tok_scratch_free(s->scratch);
    tok_free(s->tok);
    free(s->prefix);
}

void
lmeval_encode(struct lmeval *s, const char *text, size_t n, struct tok_ids *out)
{
    const size_t np = s->prefix != NULL ? strlen(s->prefix) : 0;
    const int has = np > 0 && n >= np && memcmp(text, s->prefix, np) == 0;

    tok_encode(s->tok, s->scratch, text, n, TOK_SPECIAL | (has ? 0 : TOK_BOS),
        out);
}
