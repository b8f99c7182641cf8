/* Weights of sources; see weights.h. */
#include "weights.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THOUSAND 1000u /* weights have three decimals at most */
#define MOST 1000000u
#define BALANCE (1u << 20)

static const char digits[] = "0123456789";

/* Parse a decimal number, and return it in thousandths; 0: it is not valid. */
static uint64_t
thousandths(const char *text)
{
    const size_t whole = strspn(text, digits);
    const char *point = text + whole;
    const size_t part = *point == '.' ? strspn(point + 1, digits) : 0;
    double v;

    if (whole == 0 || part > 3 || (*point != '\0' && part == 0) ||
        number_real(text, 0.001, MOST, &v) < 0)
        return 0;
    return (uint64_t)(v * THOUSAND + 0.5);
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

/* Set w's factors by the list. */
static int
set_factors(struct weights *w, char *list, const struct inputs *in,
    struct err *e)
{
    const char **number = xcalloc(w->n + 1, sizeof *number);
    int r = weights_split(number, (const char *const *)in->source, w->n, list,
        "equal", e);

    w->equal = r > 0;
    for (size_t k = 0; r >= 0 && k < w->n; k++)
        if (number[k] != NULL && (w->factor[k] = thousandths(number[k])) == 0)
            r = err_set(e, EX_USAGE,
                "--weights: %s: not a number of 0.001 to %u with three "
                "decimals at most",
                in->source[k], MOST);
    free(number);
    return r < 0 ? -1 : 0;
}

int
weights_parse(struct weights *w, const char *list, const struct inputs *in,
    struct err *e)
{
    char *copy = list != NULL ? xstrdup(list) : NULL;
    int r;

    *w =
        (struct weights){ .factor = xcalloc(in->nsource + 1, sizeof *w->factor),
            .unit = THOUSAND,
            .n = in->nsource };
    for (size_t i = 0; i < w->n; i++)
        w->factor[i] = THOUSAND;
    r = copy != NULL ? set_factors(w, copy, in, e) : 0;
    free(copy);
    reduce_factors(w);
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
