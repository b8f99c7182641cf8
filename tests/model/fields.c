/* The table of configuration fields holds together: see config_fields.h. */
#include "model/config/config_fields.h"
#include "../lib/tap.h"

#include <string.h>

enum { FAMILIES = 32, KINDS = ROPE_LONGROPE + 1 };

/* Is the row for this family and this kind of RoPE? */
static int
row_for(const struct field *r, int family, int kind)
{
    return r->families >> family & 1 && (r->kinds == 0 || r->kinds >> kind & 1);
}

/* Does a GGUF of the family get its key from the row? */
static int
is_put(const struct field *r, int family, int kind)
{
    return r->gguf && row_for(r, family, kind) && !(r->how & READ_ONLY) &&
        (r->how & PUT_ONLY || (r->type != IS_NONE && r->type != IS_ID));
}

/* How many rows put the key of row i in a GGUF of the family. */
static size_t
times_put(size_t i, int family, int kind)
{
    size_t n = 0;

    for (size_t k = 0; k < config_fields.n; k++)
        n += is_put(&config_fields.row[k], family, kind) &&
            strcmp(config_fields.row[k].gguf, config_fields.row[i].gguf) == 0;
    return n;
}

static void
test_gguf(void)
{
    size_t twice = 0, never = 0;

    for (size_t i = 0; i < config_fields.n; i++)
        for (int f = 0; config_fields.row[i].gguf && f < FAMILIES; f++)
            for (int k = 0; k < KINDS; k++) {
                const struct field *r = &config_fields.row[i];
                const size_t n = times_put(i, f, k);
                const int bad = row_for(r, f, k) && n == 0 && r->need >> f & 1;

                twice += n > 1;
                never += (size_t)bad;
                if (n > 1 || bad)
                    printf("# %s, family %d, RoPE %d: %zu times\n", r->gguf, f,
                        k, n);
            }
    ok(twice == 0, "no key is put in a GGUF twice");
    ok(never == 0, "a key that a GGUF needs is put there");
}

static void
test_rows(const struct field_table *t, const char *what)
{
    size_t bad = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct field *r = &t->row[i];
        json_t *v = r->only ? json_loads(r->only, JSON_DECODE_ANY, NULL) : NULL;

        if ((r->json || r->gguf) && r->families && (!r->only || v) &&
            ((r->type != IS_SIZE && r->type != IS_REAL) || r->low < r->high) &&
            r->at < sizeof(struct config_file)) {
            json_decref(v);
            continue;
        }
        printf("# row %zu: %s\n", i, r->json ? r->json : r->gguf);
        bad++;
    }
    ok(bad == 0,
        "each row of %s has a key, families, and limits that a number can "
        "meet",
        what);
}

int
main(void)
{
    test_gguf();
    test_rows(&config_fields, "config.json");
    test_rows(&rope_fields, "rope_parameters");
    return done_testing();
}
