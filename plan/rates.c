/* Tables of shares by size: see rates.h */
#include "rates.h"

#include <math.h>
#include <string.h>

static const char *const rates_names[RATES] = { "bf16_products", "f32_products",
    "bf16_attention", "f32_attention", "link_messages", "net_messages" };

enum rates_of
rates_named(const char *name)
{
    int i = 0;

    while (i < RATES && strcmp(name, rates_names[i]) != 0)
        i++;
    return (enum rates_of)i;
}

/* Name of an axis; NULL: messages have only the second axis. */
static const char *
axis_name(enum rates_of which, int axis)
{
    static const char *const names[][2] = { { "rows", "width" },
        { "length", "head" }, { NULL, "bytes" } };

    return names[which / 2][axis];
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

void
rates_scale(struct rates *r, double by)
{
    for (size_t i = 0; i < r->n[0] * r->n[1]; i++)
        r->share[i] *= by;
}

/* Read a list of n numbers from lo to hi; rising 1: each above the one before
 * it.  -1: it is no such list. */
static int
read_numbers(double *v, size_t n, double lo, double hi, int rising,
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
        const char *name = axis_name(which, i);
        const json_t *list = name != NULL ? json_object_get(j, name) : NULL;

        if (name == NULL)
            continue;
        r->n[i] = json_array_size(list);
        if (r->n[i] > RATES_SIZES ||
            read_numbers(r->size[i], r->n[i], 1.0, 1e12, 1, list) < 0)
            return err_set(e, EX_INPUT, "%s.%s: give up to %d rising sizes",
                rates_names[which], name, RATES_SIZES);
    }
    if (read_numbers(r->share, r->n[0] * r->n[1], 1e-6, 10.0, 0,
            json_object_get(j, "share")) < 0)
        return err_set(e, EX_INPUT,
            "%s.share: give %zu numbers from 1e-6 to 10, one for each size",
            rates_names[which], r->n[0] * r->n[1]);
    return source != NULL && *source != '\0'
        ? 0
        : err_set(e, EX_INPUT, "%s.source: is missing", rates_names[which]);
}

static void
put_numbers(struct buf *b, const char *name, const double *v, size_t n)
{
    buf_addf(b, "    \"%s\": [", name);
    for (size_t i = 0; i < n; i++)
        buf_addf(b, i > 0 ? ", %.4g" : "%.4g", v[i]);
    buf_adds(b, "],\n");
}

void
rates_put(struct buf *b, const struct rates *r, enum rates_of which,
    const char *source)
{
    if (r->n[1] == 0)
        return;
    buf_addf(b, ",\n  \"%s\": {\n", rates_names[which]);
    for (int i = 0; i < 2; i++)
        if (axis_name(which, i) != NULL)
            put_numbers(b, axis_name(which, i), r->size[i], r->n[i]);
    put_numbers(b, "share", r->share, r->n[0] * r->n[1]);
    buf_addf(b, "    \"source\": \"%s\"\n  }", source);
}
