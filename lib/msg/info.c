/* The fields of the `stream` message: see info.h */
#include "msg/info.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
number_at(const struct st *s, const char *key, uint64_t lo, uint64_t hi,
    uint64_t *r, struct err *e)
{
    const char *v = st_meta(s, key);

    if (!v)
        return err_set(e, EX_INPUT, "stream message: %s is missing", key);
    if (msg_number(v, r) < 0 || *r < lo || *r > hi)
        return err_set(e, EX_INPUT, "stream message: %s is \"%.40s\"", key, v);
    return 0;
}

static int
by_source_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Split the names in mem at their newlines; no name may occur twice. */
static int
read_source_names(struct stream_info *i, struct err *e)
{
    const char **sorted;
    size_t n = 1, twice = 0;
    char *p = i->mem.p;

    for (const char *q = p; *q; q++)
        n += *q == '\n';
    if (n > 65536)
        return err_set(e, EX_INPUT, "stream message: more than 65536 sources");
    i->source = xreallocarray(NULL, n, sizeof *i->source);
    for (i->nsource = 0; i->nsource < n; i->nsource++) {
        char *nl = strchr(p, '\n');

        if (nl)
            *nl = '\0';
        for (const char *q = p; *q; q++)
            if ((unsigned char)*q < 0x20)
                return err_set(e, EX_INPUT,
                    "stream message: control byte in the name of source %zu",
                    i->nsource);
        if (*p == '\0')
            return err_set(e, EX_INPUT,
                "stream message: source %zu has no name", i->nsource);
        i->source[i->nsource] = p;
        p = nl ? nl + 1 : p;
    }
    sorted = xreallocarray(NULL, n, sizeof *sorted);
    memcpy(sorted, i->source, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_source_name);
    for (size_t k = 1; k < n; k++)
        if (strcmp(sorted[k - 1], sorted[k]) == 0)
            twice = k;
    if (twice)
        err_set(e, EX_INPUT, "stream message: source %.100s is named twice",
            sorted[twice]);
    free(sorted);
    return twice ? -1 : 0;
}

static int
read_special_id(const struct st *s, const char *key, size_t vocab, int64_t *id,
    struct err *e)
{
    const char *v = st_meta(s, key);
    uint64_t u;

    *id = -1;
    if (v && strcmp(v, "none") == 0)
        return 0;
    if (number_at(s, key, 0, vocab - 1, &u, e) < 0)
        return -1;
    *id = (int64_t)u;
    return 0;
}

static int
read_resume(struct stream_info *i, const struct st *s, struct err *e)
{
    const char *chain = st_meta(s, "chain"), *down = st_meta(s, "chain_down");

    if (!st_meta(s, "next_seq"))
        return 0;
    /* limited, so that adding messages cannot overflow */
    if (number_at(s, "next_seq", 1, UINT64_MAX / 4, &i->next_seq, e) < 0 ||
        number_at(s, "next_tokens", 0, UINT64_MAX / 4, &i->next_tokens, e) < 0)
        return -1;
    if (!chain || chain_parse(&i->chain, chain) < 0)
        return err_set(e, EX_INPUT,
            "stream message: next_seq without a good chain");
    i->down = i->chain;
    if (down && chain_parse(&i->down, down) < 0)
        return err_set(e, EX_INPUT, "stream message: bad chain_down");
    i->resumed = 1;
    return 0;
}

static int
read_info_fields(struct stream_info *i, const struct st *s, struct err *e)
{
    const char *names = st_meta(s, "sources");
    struct chain c;
    uint64_t v;

    if (number_at(s, "version", 0, UINT64_MAX, &v, e) < 0)
        return -1;
    if (v != 1)
        return err_set(e, EX_INPUT,
            "stream of version %" PRIu64 ", but this program reads version 1",
            v);
    i->content = st_meta(s, "content");
    if (!i->content ||
        (strcmp(i->content, "docs") != 0 && strcmp(i->content, "batch") != 0))
        return err_set(e, EX_INPUT,
            "stream message: content is neither docs nor batch");
    i->content = *i->content == 'd' ? "docs" : "batch";
    i->tokenizer = st_meta(s, "tokenizer");
    if (!i->tokenizer || chain_parse(&c, i->tokenizer) < 0)
        return err_set(e, EX_INPUT, "stream message: no hash of a tokenizer");
    if (number_at(s, "vocab", 1, (uint64_t)1 << 32, &v, e) < 0)
        return -1;
    i->vocab = (size_t)v;
    if (!names)
        return err_set(e, EX_INPUT, "stream message: sources is missing");
    i->T = 0;
    if (*i->content == 'b') {
        if (number_at(s, "T", 1, UINT32_MAX, &v, e) < 0)
            return -1;
        i->T = (size_t)v;
        i->algorithm = st_meta(s, "algorithm");
        if (!i->algorithm)
            return err_set(e, EX_INPUT, "stream message: algorithm is missing");
    }
    /* Set pointers into mem only after the last string is in mem, which moves
     * when it grows. */
    buf_adds(&i->mem, names);
    buf_addc(&i->mem, '\0');
    buf_adds(&i->mem, i->tokenizer);
    buf_addc(&i->mem, '\0');
    buf_adds(&i->mem, i->algorithm ? i->algorithm : "");
    i->tokenizer = i->mem.p + strlen(names) + 1;
    if (i->algorithm)
        i->algorithm = i->tokenizer + strlen(i->tokenizer) + 1;
    if (read_special_id(s, "bos", i->vocab, &i->bos, e) < 0 ||
        read_special_id(s, "eos", i->vocab, &i->eos, e) < 0 ||
        read_resume(i, s, e) < 0)
        return -1;
    return read_source_names(i, e);
}

int
stream_info_read(struct stream_info *i, const struct st *head, struct err *e)
{
    memset(i, 0, sizeof *i);
    if (read_info_fields(i, head, e) == 0)
        return 0;
    stream_info_release(i);
    return -1;
}

void
stream_info_release(struct stream_info *i)
{
    buf_release(&i->mem);
    free(i->source);
    memset(i, 0, sizeof *i);
}

/* Are two ids given, and not the same? */
static int
ids_differ(int64_t a, int64_t b)
{
    return a >= 0 && b >= 0 && a != b;
}

int
stream_info_fits(const struct stream_info *a, const char *x,
    const struct stream_info *b, const char *y, struct err *e)
{
    if (strcmp(a->content, b->content) != 0)
        return err_set(e, EX_INPUT, "%s: holds %s, but %s holds %s", y,
            b->content, x, a->content);
    if (strcmp(a->tokenizer, b->tokenizer) != 0 || a->vocab != b->vocab)
        return err_set(e, EX_INPUT,
            "%s: made with tokenizer %.8s of %zu ids, but %s with %.8s of %zu",
            y, b->tokenizer, b->vocab, x, a->tokenizer, a->vocab);
    if (ids_differ(a->bos, b->bos) || ids_differ(a->eos, b->eos))
        return err_set(e, EX_INPUT,
            "%s: documents begin and end with ids %" PRId64 " and %" PRId64
            ", but in %s with %" PRId64 " and %" PRId64,
            y, b->bos, b->eos, x, a->bos, a->eos);
    if (a->T != b->T)
        return err_set(e, EX_INPUT,
            "%s: rows of %zu tokens, but %s has rows of %zu", y, b->T, x, a->T);
    return 0;
}

struct named {
    const char *name;
    size_t number;
};

static int
named_order(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name,
        ((const struct named *)b)->name);
}

int
stream_info_merge(struct stream_info *all, const struct stream_info *i,
    uint16_t *map, struct err *e)
{
    const size_t had = all->nsource;
    struct named *known = xcalloc(had, sizeof *known);
    int r = 0;

    all->bos = all->bos >= 0 ? all->bos : i->bos;
    all->eos = all->eos >= 0 ? all->eos : i->eos;
    for (size_t k = 0; k < had; k++)
        known[k] = (struct named){ all->source[k], k };
    qsort(known, had, sizeof *known, named_order);
    for (size_t j = 0; r == 0 && j < i->nsource; j++) {
        const struct named one = { i->source[j], 0 };
        const struct named *k =
            bsearch(&one, known, had, sizeof *known, named_order);

        if (!k && all->nsource == 65536) {
            r = err_set(e, EX_INPUT, "more than 65536 sources in all");
        } else if (!k) {
            all->source =
                xgrow_pow2(all->source, all->nsource, sizeof *all->source);
            all->source[all->nsource++] = i->source[j];
        }
        map[j] = (uint16_t)(k ? k->number : all->nsource - 1);
    }
    free(known);
    return r;
}

static void
put_id(struct st_out *o, const char *key, int64_t id)
{
    if (id < 0)
        st_out_meta(o, key, "none");
    else
        st_out_number(o, key, (uint64_t)id);
}

void
stream_info_put(struct st_out *o, const struct stream_info *i)
{
    struct buf b = { 0 };

    st_out_meta(o, "version", "1");
    st_out_meta(o, "content", i->content);
    st_out_meta(o, "tokenizer", i->tokenizer);
    st_out_number(o, "vocab", i->vocab);
    put_id(o, "bos", i->bos);
    put_id(o, "eos", i->eos);
    for (size_t k = 0; k < i->nsource; k++)
        buf_addf(&b, "%s%s", k ? "\n" : "", i->source[k]);
    st_out_meta(o, "sources", b.p ? b.p : "");
    buf_release(&b);
    if (*i->content == 'b') {
        st_out_number(o, "T", i->T);
        st_out_meta(o, "algorithm", i->algorithm);
    }
}
