/* JSON numbers and their bounds; see json_number.h. */
#include "gen/json_number.h"

#include <math.h>

/* The parts of a number, by the byte read last; a number may end at those from
 * NUMBER_ZERO on. */
enum {
    NUMBER_MINUS, /* or nothing is read yet */
    NUMBER_POINT,
    NUMBER_E,
    NUMBER_SIGN,
    NUMBER_ZERO,
    NUMBER_INTEGER,
    NUMBER_FRACTION,
    NUMBER_EXPONENT
};
/* Most digits of the integer, the fraction and the exponent. */
enum { INTEGER_DIGITS = 18, FRACTION_DIGITS = 18, EXPONENT_DIGITS = 2 };

/* ---- bounds ---- */

/* Bounds are multiples of 1, or of 10^-6 for numbers with a fraction, and no
 * larger than MOST of these units. */
enum { BOUNDED_DIGITS = 6 };
#define MOST INT64_C(1000000000000000)

static int64_t
power_of_10(uint32_t n)
{
    int64_t x = 1;

    while (n-- > 0)
        x *= 10;
    return x;
}

/* The units of 1. */
static int64_t
units_of(const struct schema_kind *k)
{
    return k->type == KIND_INTEGER ? 1 : power_of_10(BOUNDED_DIGITS);
}

/* The least number of units whose decimal text is a double of at least v, or
 * above v if `beyond`.  A quotient of exact integers is rounded as a reader
 * rounds the text. */
static int64_t
units_from(double v, int64_t units, int beyond)
{
    const double x = fmin(fmax(v, -2e15), 2e15) * (double)units;
    int64_t n = (int64_t)fmin(fmax(x, -2e15), 2e15) - 2;

    while ((double)n / (double)units < v ||
        (beyond && (double)n / (double)units == v)) {
        if (n > MOST)
            break;
        n++;
    }
    return n;
}

const char *
json_number_bounds(const json_t *schema, struct schema_kind *k)
{
    static const char *const names[] = { "minimum", "exclusiveMinimum",
        "maximum", "exclusiveMaximum" };
    const int64_t units = units_of(k);

    k->least = -MOST;
    k->most = MOST;
    for (int i = 0; i < 4; i++) {
        const json_t *v = json_object_get(schema, names[i]);

        if (v == NULL)
            continue;
        if (!json_is_number(v))
            return "a bound of a number is no number";
        k->bounded = 1;
        if (i < 2) {
            const int64_t n = units_from(json_number_value(v), units, i == 1);

            k->least = n > k->least ? n : k->least;
        } else {
            const int64_t n = -units_from(-json_number_value(v), units, i == 3);

            k->most = n < k->most ? n : k->most;
        }
    }
    return k->least > k->most
        ? "no number that can be written is within the bounds"
        : NULL;
}

/* The digits that are read, in units or, before a point, in ones. */
static int64_t
digits(const struct json_thread *t)
{
    return (int64_t)((uint64_t)t->to << 32 | t->from);
}

static void
set_digits(struct json_thread *t, int64_t v)
{
    t->from = (uint32_t)v;
    t->to = (uint32_t)((uint64_t)v >> 32);
}

/* Is a number of the thread's sign and of a units to b within the bounds? */
static int
meets(const struct schema_kind *k, const struct json_thread *t, int64_t a,
    int64_t b)
{
    return t->minus ? -b <= k->most && -a >= k->least
                    : b >= k->least && a <= k->most;
}

/* Can the number come to lie within the bounds? */
static int
can_meet(const struct schema_kind *k, const struct json_thread *t)
{
    const int64_t v = digits(t), units = units_of(k);

    if (t->sub == NUMBER_FRACTION)
        return meets(k, t, v, v + power_of_10(BOUNDED_DIGITS - t->n) - 1);
    if (t->sub == NUMBER_POINT)
        return meets(k, t, v, v + units - 1);
    for (int64_t ten = units; v * ten <= MOST; ten *= 10) {
        if (meets(k, t, v * ten, (v + 1) * ten - 1))
            return 1;
        if (v == 0)
            break;
    }
    return 0;
}

/* json_number_next with bounds. */
static int
next_bounded(const struct schema_kind *k, struct json_thread *t,
    unsigned char c)
{
    const int was = t->sub;

    if (c == '.' && k->type == KIND_NUMBER &&
        (was == NUMBER_ZERO || was == NUMBER_INTEGER)) {
        t->sub = NUMBER_POINT;
        t->n = 0;
        set_digits(t, digits(t) * units_of(k));
        return can_meet(k, t);
    }
    if (c < '0' || c > '9' || was == NUMBER_ZERO)
        return 0;
    if (was == NUMBER_POINT || was == NUMBER_FRACTION) {
        if (t->n == BOUNDED_DIGITS)
            return 0;
        t->n++;
        t->sub = NUMBER_FRACTION;
        set_digits(t,
            digits(t) + (c - '0') * power_of_10(BOUNDED_DIGITS - t->n));
    } else {
        t->sub = was == NUMBER_MINUS && c == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
        set_digits(t, digits(t) * 10 + (c - '0'));
    }
    return can_meet(k, t);
}

/* ---- all numbers ---- */

int
json_number_next(const struct schema_kind *k, struct json_thread *t,
    unsigned char c)
{
    const int digit = c >= '0' && c <= '9', was = t->sub;

    if (k->bounded)
        return next_bounded(k, t, c);
    if (digit && was != NUMBER_ZERO) {
        const uint32_t most = was == NUMBER_INTEGER ? INTEGER_DIGITS
            : was == NUMBER_FRACTION                ? FRACTION_DIGITS
                                                    : EXPONENT_DIGITS;
        const int more = was == NUMBER_INTEGER || was == NUMBER_FRACTION ||
            was == NUMBER_EXPONENT;

        t->n = more ? t->n + 1 : 1;
        t->sub = was == NUMBER_MINUS ? c == '0' ? NUMBER_ZERO : NUMBER_INTEGER
            : was == NUMBER_POINT    ? NUMBER_FRACTION
            : more                   ? was
                                     : NUMBER_EXPONENT;
        return !more || t->n <= most;
    }
    if (k->type == KIND_INTEGER)
        return 0;
    if (c == '.' && (was == NUMBER_ZERO || was == NUMBER_INTEGER)) {
        t->sub = NUMBER_POINT;
        return 1;
    }
    if ((c == 'e' || c == 'E') && was >= NUMBER_ZERO &&
        was != NUMBER_EXPONENT) {
        t->sub = NUMBER_E;
        return 1;
    }
    if ((c == '+' || c == '-') && was == NUMBER_E) {
        t->sub = NUMBER_SIGN;
        return 1;
    }
    return 0;
}

int
json_number_begin(const struct schema_kind *k, struct json_thread *t,
    unsigned char c)
{
    t->mode = READ_NUMBER;
    t->sub = NUMBER_MINUS;
    t->n = t->from = t->to = 0;
    t->minus = c == '-' && k->bounded;
    if (c == '-')
        return !k->bounded || k->least < 0;
    return c != '.' && json_number_next(k, t, c);
}

int
json_number_ends(const struct schema_kind *k, const struct json_thread *t)
{
    int64_t v = digits(t);

    if (t->sub < NUMBER_ZERO || !k->bounded)
        return t->sub >= NUMBER_ZERO;
    if (t->sub != NUMBER_FRACTION)
        v *= units_of(k);
    return meets(k, t, v, v);
}
