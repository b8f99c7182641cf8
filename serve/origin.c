/* The headers Host and Origin; see origin.h. */
#include "origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

enum { NAME = 256 }; /* bytes of a host's name, with its end */

static int
is_loopback4(struct in_addr a)
{
    return ntohl(a.s_addr) >> 24 == 127;
}

static int
is_loopback6(const struct in6_addr *a)
{
    struct in_addr last;

    memcpy(&last, a->s6_addr + 12, sizeof last);
    return IN6_IS_ADDR_LOOPBACK(a) ||
        (IN6_IS_ADDR_V4MAPPED(a) && is_loopback4(last));
}

int
origin_is_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET)
        return is_loopback4(((const struct sockaddr_in *)at)->sin_addr);
    return at->sa_family == AF_INET6 &&
        is_loopback6(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

/* Copy the host of HOST:PORT, [HOST]:PORT or HOST, without a dot at its end.
 * Returns 1; 0: the text has another form. */
static int
copy_host(const char *text, char name[NAME])
{
    const int v6 = *text == '[';
    const char *begin = text + v6,
               *end = begin + strcspn(begin, v6 ? "]" : ":");
    const char *port = end + (v6 && *end == ']');
    size_t n = (size_t)(end - begin);

    if ((v6 && *end != ']') || (*port != '\0' && *port != ':') ||
        (*port == ':' && port[1 + strspn(port + 1, "0123456789")] != '\0'))
        return 0;
    n -= !v6 && n > 0 && begin[n - 1] == '.';
    if (n == 0 || n >= NAME)
        return 0;
    memcpy(name, begin, n);
    name[n] = '\0';
    return 1;
}

int
origin_takes_host(const char *host, const char *own)
{
    char name[NAME];
    struct in_addr v4;
    struct in6_addr v6;

    if (!copy_host(host, name))
        return 0;
    if (*host == '[')
        return inet_pton(AF_INET6, name, &v6) == 1 &&
            (is_loopback6(&v6) || strcasecmp(name, own) == 0);
    return strcasecmp(name, "localhost") == 0 || strcasecmp(name, own) == 0 ||
        (inet_pton(AF_INET, name, &v4) == 1 && is_loopback4(v4));
}

int
origin_takes(const char *origin, const char *own)
{
    const char *host = strstr(origin, "://");

    return host != NULL && origin_takes_host(host + 3, own);
}

int
origin_is_one(const char *text)
{
    const char *host = strstr(text, "://");
    char name[NAME];

    return host != NULL && host > text &&
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+-.") ==
        (size_t)(host - text) &&
        copy_host(host + 3, name) && strpbrk(name, "/?#@ \t") == NULL;
}

const char *
origin_listed(const char *origin, char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(origin, list[i]) == 0)
            return list[i];
    return NULL;
}
