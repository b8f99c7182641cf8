/* Numbers in text: see number.h */
#include "base/number.h"
#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
number_size(const char *s, double lo, double hi, size_t *r)
{
    static const char suffix[] = "KMGT";
    const char *p = s;
    size_t v = 0;

    if (!isdigit((unsigned char)*p))
        return -1;
    for (; isdigit((unsigned char)*p); p++)
        if (size_mul(v, 10, &v) < 0 || size_add(v, (size_t)(*p - '0'), &v) < 0)
            return -1;
    if (*p != '\0') {
        const char *k = strchr(suffix, toupper((unsigned char)*p));

        if (k == NULL || p[1] != '\0')
            return -1;
        for (; k >= suffix; k--)
            if (size_mul(v, 1024, &v) < 0)
                return -1;
    }
    if (!((double)v >= lo && (double)v <= hi))
        return -1;
    *r = v;
    return 0;
}

int
number_real(const char *s, double lo, double hi, double *r)
{
    char *end;
    double v;

    if (*s == '\0' || isspace((unsigned char)*s))
        return -1;
    v = strtod(s, &end);
    /* A number too small for a double counts as 0; one too large is refused. */
    if (*end != '\0' || !isfinite(v) || !(v >= lo && v <= hi))
        return -1;
    *r = v;
    return 0;
}

int
number_count(const char *s, double lo, double hi, double *r)
{
    static const char suffix[] = "KMGT";
    char digits[64];
    const size_t n = strlen(s);
    const char last = n > 0 ? s[n - 1] : '0';
    const char *k = strchr(suffix, last == 'k' ? 'K' : last);
    const int power = k != NULL ? (int)(k - suffix) + 1 : 0;
    double v;

    if (n >= sizeof digits)
        return -1;
    memcpy(digits, s, n + 1);
    if (power > 0)
        digits[n - 1] = '\0';
    if (number_real(digits, 0.0, hi, &v) < 0)
        return -1;
    for (int i = 0; i < power; i++)
        v *= 1000.0;
    v = floor(v);
    if (!(v >= lo && v <= hi))
        return -1;
    *r = v;
    return 0;
}

int
number_time(const char *s, double lo, double hi, double *r)
{
    static const char unit[] = "smhd";
    static const double seconds[] = { 1, 60, 3600, 86400 };
    const size_t n = strspn(s, "0123456789.");
    const char *u = s[n] != '\0' ? strchr(unit, s[n]) : unit;
    char *end;
    double v;

    if (n == 0 || u == NULL || (s[n] != '\0' && s[n + 1] != '\0'))
        return -1;
    v = strtod(s, &end) * seconds[u - unit];
    if (end != s + n || !(v >= lo && v <= hi))
        return -1;
    *r = v;
    return 0;
}
