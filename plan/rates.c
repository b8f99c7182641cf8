/* Tables of shares by size: see rates.h */
#include "rates.h"

#include <math.h>
#include <string.h>

/* Names of tables and of their axes; NULL: messages have only the second axis.
 */
static const char *const names[RATES][3] = { { "bf16_products", "rows",
                                                 "width" },
    { "f32_products", "rows", "width" }, { "bf16_attention", "length", "head" },
    { "f32_attention", "length", "head" }, { "link_messages", NULL, "bytes" },
    { "net_messages", NULL, "bytes" } };

enum rates_of
rates_named(const char *name)
{
    int i = 0;

    while (i < RATES && strcmp(name, names[i][0]) != 0)
        i++;
    return (enum rates_of)i;
}

/* Index of the largest of n sizes up to x, or 0.  *t: how far x is on the way
 * to the next size, 0..1, on a logarithmic scale. */
static size_t
find_size(const double *size, size_t n, double x, double *t)
{
    size_t i = 0;

    while (i + 1 < n && size[i + 1] <= x)
        i++;
    *t = i + 1 < n && x > size[i]
        ? log(x / size[i]) / log(size[i + 1] / size[i])
        : 0.0;
    return i;
}

double
rates_at(const struct rates *r, double a, double b)
{
    double t[2], sum = 0.0;
    size_t i, k;

    if (r->n[1] == 0)
        return 1.0;
    i = find_size(r->size[0], r->n[0], a, &t[0]);
    k = find_size(r->size[1], r->n[1], b, &t[1]);
    for (size_t y = 0; y < 2; y++)
        for (size_t x = 0; x < 2; x++) {
            const double w =
                (y > 0 ? t[0] : 1.0 - t[0]) * (x > 0 ? t[1] : 1.0 - t[1]);

            if (w > 0.0)
                sum += w * log(r->share[(i + y) * r->n[1] + k + x]);
        }
    return exp(sum);
}

/* Read a list of n numbers from lo to hi; rising 1: each above the one before
 * it.  -1: it is no such list. */
static int
read_table_numbers(double *v, size_t n, double lo, double hi, int rising,
    const json_t *list)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = json_number_value(json_array_get(list, i));
        if (!(v[i] >= lo && v[i] <= hi) ||
            (rising && i > 0 && v[i] <= v[i - 1]))
            return -1;
    }
    return n > 0 && json_array_size(list) == n ? 0 : -1;
}

int
rates_read(struct rates *r, enum rates_of which, const json_t *j, struct err *e)
{
    const char *source = json_string_value(json_object_get(j, "source"));

    *r = (struct rates){ .n = { 1, 1 }, .size = { { 1.0 } } };
    for (int i = 0; i < 2; i++) {
        const char *axis = names[which][1 + i];
        const json_t *list = axis != NULL ? json_object_get(j, axis) : NULL;

        if (axis == NULL)
            continue;
        r->n[i] = json_array_size(list);
        if (r->n[i] > RATES_SIZES ||
            read_table_numbers(r->size[i], r->n[i], 1.0, 1e12, 1, list) < 0)
            return err_set(e, EX_INPUT, "%s.%s: give up to %d rising sizes",
                names[which][0], axis, RATES_SIZES);
    }
    if (read_table_numbers(r->share, r->n[0] * r->n[1], 1e-6, 1e3, 0,
            json_object_get(j, "share")) < 0)
        return err_set(e, EX_INPUT,
            "%s.share: give %zu numbers from 1e-6 to 1000, one for each size",
            names[which][0], r->n[0] * r->n[1]);
    return source != NULL && *source != '\0'
        ? 0
        : err_set(e, EX_INPUT, "%s.source: is missing", names[which][0]);
}

static void
put_numbers(struct buf *b, const char *name, const double *v, size_t n,
    double whole)
{
    buf_addf(b, "    \"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        buf_addf(b, i > 0 ? ", %.4g" : "%.4g", v[i] / whole);
    buf_adds(b, "],\n");
}

void
rates_put(struct buf *b, const struct rates *r, enum rates_of which,
    double whole, const char *source)
{
    if (r->n[1] == 0)
        return;
    buf_addf(b, ",\n  \"%s\": {\n", names[which][0]);
    for (int i = 0; i < 2; i++)
        if (names[which][1 + i] != NULL)
            put_numbers(b, names[which][1 + i], r->size[i], r->n[i], 1.0);
    put_numbers(b, "share", r->share, r->n[0] * r->n[1], whole);
    buf_addf(b, "    \"source\": \"%s\"\n  }", source);
}
