/* Duplicates; see duplicates.h. */
#include "duplicates.h"
#include "keys.h"
#include "minhash.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define BANDS 14
#define ROWS 8

struct duplicates {
    struct dup_opts o;
    struct minhash minhash;
    struct keys *exacts, *nears;
};

static int
parse_form(struct dup_opts *o, const char *s, struct err *e)
{
    const char *x = strchr(s, 'x');
    char *bands = x ? xasprintf("%.*s", (int)(x - s), s) : NULL;
    const int bad = !x || number_size(bands, 1, MINHASH_MOST, &o->bands) < 0 ||
        number_size(x + 1, 1, MINHASH_MOST, &o->rows) < 0 ||
        o->bands * o->rows > MINHASH_MOST;

    free(bands);
    return bad ? err_set(e, EX_USAGE,
                     "--dedup minhash:%s: must be BANDSxROWS with a product of "
                     "at most %d",
                     s, MINHASH_MOST)
               : 0;
}

int
dup_parse(struct dup_opts *o, const struct opt_list *how, struct err *e)
{
    *o = (struct dup_opts){ .bands = BANDS, .rows = ROWS };
    for (size_t i = 0; i < how->n; i++) {
        const char *s = how->v[i];
        const int form = strncmp(s, "minhash:", 8) == 0;

        if (strcmp(s, "exact") == 0)
            o->exact = 1;
        else if (form || strcmp(s, "minhash") == 0)
            o->near = 1;
        else
            return err_set(e, EX_USAGE,
                "--dedup: \"%s\" is none of exact, minhash, minhash:BANDSxROWS",
                s);
        if (form && parse_form(o, s + 8, e) < 0)
            return -1;
    }
    return 0;
}

struct duplicates *
duplicates_new(const struct dup_opts *o, size_t mem)
{
    struct duplicates *d = xcalloc(1, sizeof *d);

    d->o = *o;
    d->exacts = o->exact ? keys_new(mem) : NULL;
    d->nears = o->near ? keys_new(mem) : NULL;
    if (o->near)
        minhash_init(&d->minhash, o->bands * o->rows);
    return d;
}

void
duplicates_free(struct duplicates *d)
{
    if (!d)
        return;
    keys_free(d->exacts);
    keys_free(d->nears);
    free(d);
}

size_t
duplicates_spills(const struct duplicates *d)
{
    return (d->exacts ? keys_spills(d->exacts) : 0) +
        (d->nears ? keys_spills(d->nears) : 0);
}

static void
add_dup_key(struct buf *b, XXH128_hash_t h)
{
    const struct key key = { h.high64, h.low64 };

    buf_add(b, &key, sizeof key);
}

/* Append the key for exact duplicates: a hash of all words, or of the text
 * itself if it has no words. */
static void
add_exact_key(struct words *w, const struct fold *f, const char *text, size_t n,
    struct buf *keys)
{
    XXH3_state_t *state = XXH3_createState();
    uint64_t hash;
    size_t words = 0;

    if (!state)
        mem_exhausted("hashing words");
    XXH3_128bits_reset(state);
    words_begin(w, f, text, n);
    for (; words_next(w, &hash); words++)
        XXH3_128bits_update(state, &hash, sizeof hash);
    add_dup_key(keys,
        words ? XXH3_128bits_digest(state) : XXH3_128bits(text, n));
    XXH3_freeState(state);
}

/* Append the keys for near duplicates: a hash for each band; none if the text
 * has no words. */
static void
add_band_keys(const struct duplicates *d, struct words *w, const struct fold *f,
    const char *text, size_t n, struct buf *keys)
{
    uint64_t value[MINHASH_MOST];
    const size_t row = d->o.rows * sizeof *value;

    words_begin_each(w, f, text, n);
    if (minhash_text(&d->minhash, w, value) == 0)
        return;
    for (size_t i = 0; i < d->o.bands; i++)
        add_dup_key(keys, XXH3_128bits_withSeed(value + i * d->o.rows, row, i));
}

void
duplicates_scan(const struct duplicates *d, struct words *w,
    const struct fold *f, const char *text, size_t n, struct buf *keys)
{
    if (d->o.exact)
        add_exact_key(w, f, text, n, keys);
    if (d->o.near)
        add_band_keys(d, w, f, text, n, keys);
}

int
duplicates_judge(struct duplicates *d, const struct buf *keys, struct err *e)
{
    const struct key *key = (const void *)keys->p;
    const size_t n = keys->n / sizeof *key;
    const size_t exact = d->o.exact && n > 0;
    int bad = 0;

    if (exact && keys_count(d->exacts, key[0]) > 0)
        return R_EXACT;
    for (size_t i = exact; i < n; i++)
        if (keys_count(d->nears, key[i]) > 0)
            return R_NEAR;
    for (size_t i = 0; i < n && bad == 0; i++)
        bad = keys_put(i < exact ? d->exacts : d->nears, key[i], e);
    return bad ? -1 : R_NONE;
}
