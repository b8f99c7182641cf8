/* How texts are drawn and computed; see how.h. */
#include "how.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "model/config/delta_config.h"
#include "model/config/family.h"

#include <string.h>

void
how_begin(const struct how *h)
{
    struct err e;

    if (sampling_check(&h->sampling, SIZE_MAX, &e) < 0)
        die(EX_USAGE, "--%s", e.msg);
    setup_begin(&h->setup);
}

struct packed *
how_pack(const struct how *h, const struct model *m, struct pool *pool)
{
    struct packed *p;

    if (h->setup.exact)
        return NULL;
    if ((p = packed_new(m, pool)) != NULL)
        note("%s: %.1f MB of weights packed for products in 8-bit integers",
            m->path, (double)packed_bytes(p) * 1e-6);
    return p;
}

static void
check_goes_back(const struct model *m)
{
    if (config_has_delta(&m->c))
        die(EX_USAGE,
            "%s: has blocks with the gated delta rule, whose state cannot go "
            "back before a wrong guess: leave --draft out",
            m->path);
}

/* Die unless the draft in the file has the tokenizer of the model m. */
static void
check_draft(const char *path, const struct model *draft, const struct model *m,
    const struct tokenizer *tok)
{
    char own[33], other[33];
    struct tokenizer *t;
    struct err e;

    if ((t = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_fit(t, path, draft->c.V, NULL, &e) < 0)
        die_err(&e);
    tok_hash(t, own);
    tok_hash(tok, other);
    if (strcmp(own, other) != 0)
        die(EX_USAGE,
            "--draft %s: its tokenizer is not that of %s, so its tokens mean "
            "other texts: give a model with the same tokenizer",
            path, m->path);
    tok_free(t);
}

const struct model *
how_draft(const struct how *h, const struct model *m,
    const struct tokenizer *tok, struct pool *pool)
{
    static struct model draft;
    static struct packed *packed;

    if (h->draft == NULL)
        return NULL;
    setup_model(&draft, h->draft, NULL);
    check_goes_back(m);
    check_goes_back(&draft);
    if (family_of(&draft.c)->learned &&
        (m->c.max_pos == 0 || draft.c.max_pos < m->c.max_pos))
        die(EX_USAGE,
            "--draft %s: it has learned %zu positions, fewer than the model "
            "has: leave --draft out",
            h->draft, draft.c.max_pos);
    check_draft(h->draft, &draft, m, tok);
    packed = how_pack(h, &draft, pool);
    return packed != NULL ? packed_model(packed) : &draft;
}

void
how_guessed(const struct gen_stats *s)
{
    if (s->guessed > 0)
        prog_detail("%llu of %llu guesses were right",
            (unsigned long long)s->accepted, (unsigned long long)s->guessed);
}

void
how_compare(const struct packed *p, struct pool *pool, const uint32_t *ids,
    size_t n)
{
    struct packed_error e;

    if (p == NULL || n == 0 || verbosity < 1)
        return;
    n = n < COMPARED ? n : COMPARED;
    e = packed_compare(p, pool, ids, 0, n);
    vnote("8-bit integers against exact products, %zu tokens of the prompt: "
          "KL(exact || integer) %.3g nats, KL(integer || exact) %.3g, the same "
          "most probable token in %.1f %%",
        n, e.kl, e.back, 100.0 * e.agree);
}
