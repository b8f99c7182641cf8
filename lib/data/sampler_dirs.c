/* Several shard directories as one: see sampler_dirs.h */
#include "data/sampler_dirs.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char *
dirs_name(const struct dirs *d, size_t i)
{
    return shardset_dir(d->set[i]);
}

/* Directory i goes with the first one? */
static int
compare(const struct dirs *d, size_t i, struct err *e)
{
    const struct stream_info *a = &d->own[0], *b = &d->own[i];
    const char *const x = dirs_name(d, 0), *const y = dirs_name(d, i);

    if (strcmp(a->content, b->content) != 0)
        return err_set(e, EX_INPUT, "%s: holds %s, but %s holds %s", y,
            b->content, x, a->content);
    if (strcmp(a->tokenizer, b->tokenizer) != 0 || a->vocab != b->vocab)
        return err_set(e, EX_INPUT, "%s: made with tokenizer %.8s of %zu ids, "
            "but %s with %.8s of %zu", y, b->tokenizer, b->vocab, x,
            a->tokenizer, a->vocab);
    if (a->bos != b->bos || a->eos != b->eos)
        return err_set(e, EX_INPUT, "%s: documents begin and end with ids "
            "%" PRId64 " and %" PRId64 ", but in %s with %" PRId64 " and %"
            PRId64, y, b->bos, b->eos, x, a->bos, a->eos);
    if (a->T != b->T)
        return err_set(e, EX_INPUT, "%s: rows of %zu tokens, but %s has rows "
            "of %zu", y, b->T, x, a->T);
    for (size_t k = 0; k < i; k++)
        if (strcmp(dirs_name(d, k), y) == 0)
            return err_set(e, EX_USAGE, "%s: given twice", y);
    return 0;
}

/* Number of a name among the merged ones, added when it is new. */
static int
merge_name(struct stream_info *m, size_t *cap, const char *name, uint16_t *r,
    struct err *e)
{
    size_t k = 0;

    while (k < m->nsource && strcmp(m->source[k], name) != 0)
        k++;
    if (k == m->nsource) {
        if (k == 65536)
            return err_set(e, EX_INPUT, "more than 65536 sources in all");
        if (k == *cap) {
            *cap = *cap ? 2 * *cap : 32;
            m->source = xreallocarray(m->source, *cap, sizeof *m->source);
        }
        m->source[m->nsource++] = name;
    }
    *r = (uint16_t)k;
    return 0;
}

static int
merge(struct dirs *d, struct err *e)
{
    size_t cap = 0;

    d->info = d->own[0];
    d->info.mem = (struct buf){ 0 };
    d->info.source = NULL;
    d->info.nsource = 0;
    d->info.resumed = 0;
    for (size_t i = 0; i < d->n; i++) {
        d->nsource[i] = d->own[i].nsource;
        d->source[i] = xreallocarray(NULL, d->nsource[i],
            sizeof *d->source[i]);
        for (size_t k = 0; k < d->nsource[i]; k++)
            if (merge_name(&d->info, &cap, d->own[i].source[k],
                &d->source[i][k], e) < 0)
                return err_prefix(e, "%s", dirs_name(d, i));
    }
    return 0;
}

static void
hash(struct dirs *d)
{
    struct buf b = { 0 };
    XXH128_canonical_t c;

    for (size_t i = 0; i < d->n; i++)
        buf_add(&b, shardset_manifest(d->set[i])->hash.h, 16);
    XXH128_canonicalFromHash(&c, XXH3_128bits(b.p, b.n));
    memcpy(d->hash.h, c.digest, sizeof d->hash.h);
    buf_release(&b);
}

int
dirs_open(struct dirs *d, char *const *dir, size_t n, int partial,
    struct err *e)
{
    memset(d, 0, sizeof *d);
    d->set = xcalloc(n, sizeof *d->set);
    d->own = xcalloc(n, sizeof *d->own);
    d->source = xcalloc(n, sizeof *d->source);
    d->nsource = xcalloc(n, sizeof *d->nsource);
    for (; d->n < n; d->n++) {
        const struct msg *head;
        const size_t i = d->n;

        if (!(d->set[i] = shardset_open(dir[i], partial, e)))
            return -1;
        if (!(head = shardset_head(d->set[i], e)) ||
            stream_info_read(&d->own[i], &head->st, e) < 0) {
            shardset_close(d->set[i]);
            return -1;
        }
        if (compare(d, i, e) < 0) {
            d->n++;
            return -1;
        }
    }
    hash(d);
    return merge(d, e);
}

void
dirs_release(struct dirs *d)
{
    for (size_t i = 0; i < d->n; i++) {
        stream_info_release(&d->own[i]);
        shardset_close(d->set[i]);
        free(d->source[i]);
    }
    free(d->info.source);
    free(d->set);
    free(d->own);
    free(d->source);
    free(d->nsource);
    memset(d, 0, sizeof *d);
}
