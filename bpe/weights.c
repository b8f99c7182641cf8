/* Weights of sources; see weights.h. */
#include "weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THOUSAND 1000u /* weights have three decimals at most */
#define MOST 1000000u
#define BALANCE (1u << 20)

static const char digits[] = "0123456789";

/* Parse the decimal number text[n], and return it in thousandths; 0: it is not
 * valid. */
static uint64_t
thousandths(const char *text, size_t n)
{
    const size_t whole = strspn(text, digits);
    size_t part = 0;
    uint64_t v = 0;

    if (whole < n && text[whole] == '.')
        part = strspn(text + whole + 1, digits);
    if (whole == 0 || whole > 7 || part > 3 ||
        n != whole + (text[whole] == '.' ? 1 + part : 0) || text[n - 1] == '.')
        return 0;
    for (size_t i = 0; i < whole; i++)
        v = 10 * v + (uint64_t)(text[i] - '0');
    for (size_t i = 0; i < 3; i++)
        v = 10 * v + (i < part ? (uint64_t)(text[whole + 1 + i] - '0') : 0);
    return v <= (uint64_t)MOST * THOUSAND ? v : 0;
}

/* Parse item[n] of the list; set[source] is 1 for sources named before. */
static int
parse_item(struct weights *w, const char *item, size_t n, char *set,
    const struct inputs *in, struct err *e)
{
    size_t k = n, source;
    uint64_t v;

    while (k > 0 && item[k - 1] != '=')
        k--;
    if (k == 0 && n == 5 && memcmp(item, "equal", 5) == 0)
        return w->equal = 1, 0;
    if (k == 0)
        return err_set(e, EX_USAGE,
            "--weights: \"%.*s\" is neither equal nor name=weight",
            (int)(n < 60 ? n : 60), item);
    source = inputs_source(in, item, k - 1);
    if (source == in->nsource)
        return err_set(e, EX_USAGE,
            "--weights: no source of the input is \"%.*s\"",
            (int)(k - 1 < 60 ? k - 1 : 60), item);
    if (set[source])
        return err_set(e, EX_USAGE, "--weights: %s has two weights",
            in->source[source]);
    v = thousandths(item + k, n - k);
    if (v == 0)
        return err_set(e, EX_USAGE,
            "--weights: %s: not a number of 0.001 to %u with three decimals at "
            "most",
            in->source[source], MOST);
    set[source] = 1;
    w->factor[source] = v;
    return 0;
}

/* Divide factors and unit by their greatest common divisor. */
static void
reduce_factors(struct weights *w)
{
    uint64_t g = w->unit;

    for (size_t i = 0; i < w->n; i++)
        for (uint64_t a = w->factor[i], b; a > 0; a = b) {
            b = g % a;
            g = a;
        }
    for (size_t i = 0; i < w->n; i++)
        w->factor[i] /= g;
    w->unit /= g;
}

int
weights_parse(struct weights *w, const char *list, const struct inputs *in,
    struct err *e)
{
    char *set = xcalloc(in->nsource + 1, 1);
    int r = 0;

    w->n = in->nsource;
    w->factor = xcalloc(w->n + 1, sizeof *w->factor);
    w->unit = THOUSAND;
    w->equal = 0;
    for (size_t i = 0; i < w->n; i++)
        w->factor[i] = THOUSAND;
    while (list && r == 0) {
        const size_t n = strcspn(list, ",");

        r = parse_item(w, list, n, set, in, e);
        list = list[n] ? list + n + 1 : NULL;
    }
    reduce_factors(w);
    free(set);
    if (r < 0)
        weights_release(w);
    return r;
}

void
weights_balance(struct weights *w, const uint64_t *bytes)
{
    uint64_t most = 0;

    for (size_t i = 0; i < w->n; i++)
        most = bytes[i] > most ? bytes[i] : most;
    for (size_t i = 0; i < w->n; i++) {
        const double x = bytes[i] == 0
            ? 0
            : floor((double)w->factor[i] * BALANCE *
                      ((double)most / (double)bytes[i]) +
                  0.5);

        w->factor[i] = x < 0x1p63 ? (uint64_t)x : UINT64_MAX;
    }
    w->unit *= BALANCE;
}

void
weights_release(struct weights *w)
{
    free(w->factor);
    w->factor = NULL;
}
