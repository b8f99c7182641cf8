/* Addresses of streams: see addr.h */
#include "msg/addr.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/stop.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const prefix[] = { "", "shm:", "unix:", "tcp:" };

static enum addr_kind
address_kind(const char *text)
{
    for (int k = ADDR_SHM; text && k <= ADDR_TCP; k++)
        if (strncmp(text, prefix[k], strlen(prefix[k])) == 0)
            return (enum addr_kind)k;
    return ADDR_FILE;
}

int
addr_is_special(const char *text)
{
    return address_kind(text) != ADDR_FILE;
}

int
addr_same(const char *a, const char *b)
{
    const char *const stop = addr_is_special(a) ? "?" : "";
    const size_t n = a ? strcspn(a, stop) : 1;

    if (!a)
        a = "-";
    if (!b)
        b = "-";
    return address_kind(a) == address_kind(b) && strcspn(b, stop) == n &&
        strncmp(a, b, n) == 0;
}

/* Parse an option p[n], such as wait=30. */
static int
parse_option(struct addr *a, const char *p, size_t n, struct err *e)
{
    char value[32] = "";
    size_t size;

    if (n > 5 && n - 5 < sizeof value) {
        memcpy(value, p + 5, n - 5);
        value[n - 5] = '\0';
    }
    if (strncmp(p, "size=", 5) == 0 && a->kind != ADDR_TCP) {
        if (number_size(value, 1 << 16, 1e12, &size) < 0)
            return err_set(e, EX_USAGE,
                "%s: size \"%s\" is not a number of bytes: give 64K to 1e12",
                a->text, value);
        a->size = size;
        return 0;
    }
    if (strncmp(p, "wait=", 5) == 0) {
        if (number_real(value, 0.0, 1e9, &a->wait) < 0)
            return err_set(e, EX_USAGE,
                "%s: wait \"%s\" is not a number of seconds: give wait=30, say",
                a->text, value);
        return 0;
    }
    return err_set(e, EX_USAGE,
        "%s: \"%.*s\" is no option: give %swait=SECONDS", a->text,
        n < 40 ? (int)n : 40, p, a->kind == ADDR_TCP ? "" : "size=BYTES or ");
}

/* Parse p[n], what stands between the prefix and the '?'. */
static int
parse_name(struct addr *a, const char *p, size_t n, struct err *e)
{
    static const char good[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t longest = a->kind == ADDR_SHM ? 200 : sizeof a->name - 1;
    const char *colon;
    size_t port;

    if (a->kind == ADDR_TCP) {
        for (colon = p + n; colon > p && *colon != ':'; colon--)
            ;
        if (colon == p || p + n - colon > 6)
            return err_set(e, EX_USAGE,
                "%s: is not tcp:HOST:PORT; give a port from 1 to 65535",
                a->text);
        memcpy(a->port, colon + 1, (size_t)(p + n - colon - 1));
        if (number_size(a->port, 1, 65535, &port) < 0 ||
            strspn(a->port, "0123456789") != strlen(a->port))
            return err_set(e, EX_USAGE,
                "%s: the port is none; give one from 1 to 65535", a->text);
        n = (size_t)(colon - p);
        if (n > 2 && *p == '[' && p[n - 1] == ']') {
            p++;
            n -= 2;
        }
    }
    if (n == 0 || n > longest)
        return err_set(e, EX_USAGE,
            "%s: the name has %zu bytes; 1 to %zu are allowed", a->text, n,
            longest);
    memcpy(a->name, p, n);
    a->name[n] = '\0';
    if (a->kind == ADDR_SHM && (strspn(a->name, good) != n || *p == '.'))
        return err_set(e, EX_USAGE,
            "%s: the name may hold letters, digits, '.', '_' and '-', and not "
            "begin with '.'",
            a->text);
    return 0;
}

int
addr_parse(struct addr *a, const char *text, struct err *e)
{
    const char *p, *q;

    memset(a, 0, sizeof *a);
    a->kind = address_kind(text);
    a->text = text;
    a->size = ADDR_SIZE;
    if (a->kind == ADDR_FILE)
        return 0;
    p = text + strlen(prefix[a->kind]);
    q = p + strcspn(p, "?");
    if (parse_name(a, p, (size_t)(q - p), e) < 0)
        return -1;
    while (*q) {
        p = q + 1;
        q = p + strcspn(p, "&?");
        if (parse_option(a, p, (size_t)(q - p), e) < 0)
            return -1;
    }
    return 0;
}

char *
addr_of_rank(const char *text, size_t rank)
{
    struct buf b = { 0 };

    if (text == NULL)
        return NULL;
    buf_adds(&b, "");
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 'r') {
            buf_addf(&b, "%zu", rank);
            p++;
        } else {
            buf_addc(&b, *p);
        }
    }
    return b.p;
}

int
addr_has_rank(const char *text)
{
    return text != NULL && strstr(text, "%r") != NULL;
}

int
addr_wait(const struct addr *a, double began, const char *whom, int *told,
    struct err *e)
{
    const double gone = clock_now() - began;
    const struct timespec nap = { .tv_nsec = gone < 0.1 ? 1000000 : 20000000 };

    if (stop_asked)
        return err_set(e, EX_STOP, "%s: interrupted", a->text);
    if (a->wait > 0.0 && gone >= a->wait)
        return err_set(e, EX_SYS, "%s: no %s has come in %g s", a->text, whom,
            a->wait);
    if (!*told && gone > 2.0) {
        note("%s: waiting for a %s", a->text, whom);
        *told = 1;
    }
    nanosleep(&nap, NULL);
    return 0;
}
