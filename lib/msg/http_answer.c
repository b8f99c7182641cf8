/* An answer of an HTTP server; see http_answer.h. */
#include "msg/http_answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 65536 }; /* bytes of a head or a line, at most */

/* Find the value of the first header of this name in head [n]; NULL: the head
 * has no such header. */
static const char *
head_value(const char *head, size_t n, const char *name)
{
    const size_t length = strlen(name);

    for (const char *p = head; (p = memchr(p, '\n', n - (size_t)(p - head)));) {
        p++;
        if (strncasecmp(p, name, length) == 0 && p[length] == ':')
            return p + length + 1 + strspn(p + length + 1, " \t");
    }
    return NULL;
}

static int
refuse_over(struct http_answer *a, struct err *e)
{
    a->over = 1;
    return err_set(e, EX_INPUT, "the answer is longer than a valid one can be");
}

/* Would n more bytes make the body longer than `most`? */
static int
is_over(const struct http_answer *a, size_t n)
{
    return a->most > 0 && (a->body.n > a->most || n > a->most - a->body.n);
}

/* Find out how the end of the body is marked: by chunks, by its length, or by
 * the end of the connection. */
static int
take_length(struct http_answer *a, size_t head, struct err *e)
{
    const char *coding = head_value(a->raw.p, head, "Transfer-Encoding");
    const char *length = head_value(a->raw.p, head, "Content-Length");
    char *end;

    a->chunked = coding != NULL && strncasecmp(coding, "chunked", 7) == 0;
    if (a->chunked || length == NULL)
        return 0;
    a->sized = 1;
    errno = 0;
    a->left = strtoul(length, &end, 10);
    if (*length < '0' || *length > '9' || errno != 0 ||
        end[strspn(end, " \t")] != '\r')
        return err_set(e, EX_INPUT, "the answer is not HTTP");
    return is_over(a, a->left) ? refuse_over(a, e) : 0;
}

/* Returns 1; 0: the head is not complete; -1. */
static int
take_head(struct http_answer *a, struct err *e)
{
    const char *end = strstr(a->raw.p, "\r\n\r\n");

    if (end == NULL && a->raw.n < LINE)
        return 0;
    if (end == NULL || sscanf(a->raw.p, "HTTP/1.%*d %d", &a->status) != 1)
        return err_set(e, EX_INPUT, "the answer is not HTTP");
    if (take_length(a, (size_t)(end - a->raw.p), e) < 0)
        return -1;
    buf_drop(&a->raw, (size_t)(end - a->raw.p) + 4);
    return 1;
}

/* Move bytes of the current chunk to the body, or read the size of the next
 * chunk.  1; 0: more bytes are needed; -1. */
static int
take_chunk(struct http_answer *a, struct err *e)
{
    char *end;
    size_t n;

    if (a->left > 0 && a->raw.n > 0) {
        n = a->raw.n < a->left ? a->raw.n : a->left;
        /* a chunk ends with two more bytes, CR and LF */
        if (a->left > 2)
            buf_add(&a->body, a->raw.p, n < a->left - 2 ? n : a->left - 2);
        a->left -= n;
        buf_drop(&a->raw, n);
        return 1;
    }
    if (a->raw.n == 0 || (end = strstr(a->raw.p, "\r\n")) == NULL)
        return a->raw.n < LINE ? 0
                               : err_set(e, EX_INPUT, "a chunk has no size");
    n = strtoul(a->raw.p, NULL, 16);
    if (strspn(a->raw.p, "0123456789abcdefABCDEF") == 0 || n > SIZE_MAX - 2)
        return err_set(e, EX_INPUT, "a chunk has no size");
    if (is_over(a, n))
        return refuse_over(a, e);
    a->whole = n == 0;
    a->left = n + 2;
    buf_drop(&a->raw, (size_t)(end - a->raw.p) + 2);
    return !a->whole;
}

/* Move the bytes of a body without chunks from raw to body.  closed: 1: the
 * server has closed the connection. */
static int
take_plain(struct http_answer *a, int closed, struct err *e)
{
    if (a->sized ? a->raw.n > a->left : is_over(a, a->raw.n))
        return refuse_over(a, e);
    if (a->raw.n > 0)
        buf_add(&a->body, a->raw.p, a->raw.n);
    a->left -= a->sized ? a->raw.n : 0;
    buf_clear(&a->raw);
    a->whole = a->sized ? a->left == 0 : closed;
    return 0;
}

int
http_answer_take(struct http_answer *a, const char *p, size_t n, struct err *e)
{
    int r = 1;

    buf_add(&a->raw, p, n);
    if (a->status == 0 && (r = take_head(a, e)) < 0)
        return -1;
    if (r > 0 && !a->chunked)
        r = take_plain(a, n == 0, e);
    while (r > 0 && a->chunked && !a->whole)
        r = take_chunk(a, e);
    if (r < 0 || n > 0 || a->whole)
        return r < 0 ? -1 : 0;
    return err_set(e, EX_INPUT, "the answer is broken off");
}

void
http_answer_release(struct http_answer *a)
{
    buf_release(&a->raw);
    buf_release(&a->body);
    *a = (struct http_answer){ 0 };
}
