/* Several shard directories read as one: see sampler_dirs.h */
#include "sampler_dirs.h"
#include "base/mem.h"
#include "base/note.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

const char *
dirs_name(const struct dirs *d, size_t i)
{
    return set_dir(d->set[i]);
}

/* Check that directory i can be read together with those before. */
static int
compare_to_others(const struct dirs *d, size_t i, struct err *e)
{
    const char *const y = dirs_name(d, i);
    const struct stream_info *a = &d->own[0], *b = &d->own[i];

    for (size_t k = 0; k < i; k++) {
        const char *const x = dirs_name(d, k);

        if (stream_info_fits(&d->own[k], x, b, y, e) < 0)
            return -1;
        if (strcmp(x, y) == 0)
            return err_set(e, EX_USAGE, "%s: is given twice: leave one out", y);
    }
    if (a->bos != b->bos || a->eos != b->eos)
        note("%s: its documents begin or end otherwise than those of %s; that "
             "is right for conversations, which have no BOS and EOS around "
             "them",
            y, dirs_name(d, 0));
    return 0;
}

static int
merge_sources(struct dirs *d, struct err *e)
{
    d->info = d->own[0];
    d->info.mem = (struct buf){ 0 };
    d->info.source = NULL;
    d->info.nsource = 0;
    d->info.resumed = 0;
    for (size_t i = 0; i < d->n; i++) {
        d->nsource[i] = d->own[i].nsource;
        d->source[i] = xreallocarray(NULL, d->nsource[i], sizeof *d->source[i]);
        if (stream_info_merge(&d->info, &d->own[i], d->source[i], e) < 0)
            return err_prefix(e, "%s", dirs_name(d, i));
    }
    return 0;
}

static void
hash_manifests(struct dirs *d)
{
    struct buf b = { 0 };
    XXH128_canonical_t c;

    for (size_t i = 0; i < d->n; i++)
        buf_add(&b, set_manifest(d->set[i])->hash.h, 16);
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

        if (!(d->set[i] = set_open(dir[i], partial, e)))
            return -1;
        set_scatter(d->set[i]);
        if (!(head = set_head(d->set[i], e)) ||
            stream_info_read(&d->own[i], &head->st, e) < 0) {
            set_close(d->set[i]);
            return -1;
        }
        if (compare_to_others(d, i, e) < 0) {
            d->n++;
            return -1;
        }
    }
    hash_manifests(d);
    return merge_sources(d, e);
}

void
dirs_release(struct dirs *d)
{
    for (size_t i = 0; i < d->n; i++) {
        stream_info_release(&d->own[i]);
        set_close(d->set[i]);
        free(d->source[i]);
    }
    free(d->info.source);
    free(d->set);
    free(d->own);
    free(d->source);
    free(d->nsource);
    memset(d, 0, sizeof *d);
}
