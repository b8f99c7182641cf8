/* Answers of HTTP servers, decoded in any pieces. */
#include "base/err.h"
#include "msg/http_answer.h"
#include "../lib/tap.h"

#include <string.h>

/* Decode text in pieces of n bytes, then the end of the connection.  -1: it is
 * refused. */
static int
decode(struct http_answer *a, const char *text, size_t n, struct err *e)
{
    const size_t all = strlen(text);

    *a = (struct http_answer){ .most = 100 };
    for (size_t i = 0; i < all; i += n)
        if (http_answer_take(a, text + i, all - i < n ? all - i : n, e) < 0)
            return -1;
    return a->whole ? 0 : http_answer_take(a, "", 0, e);
}

static void
test_answer(const char *what, const char *text, int status, const char *body)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 1000 };
    size_t good = 0;

    for (size_t i = 0; i < 5; i++) {
        struct http_answer a;
        struct err e;

        good += decode(&a, text, pieces[i], &e) == 0 && a.whole &&
            a.status == status && a.body.n == strlen(body) &&
            strcmp(a.body.n > 0 ? a.body.p : "", body) == 0;
        http_answer_release(&a);
    }
    ok(good == 5, "%s is read in pieces of any size", what);
}

static void
test_refused(const char *what, const char *text, const char *why)
{
    struct http_answer a;
    struct err e = { 0 };
    const int r = decode(&a, text, 5, &e);

    ok(r < 0 && strstr(e.msg, why) && a.over == (strstr(why, "longer") != NULL),
        "%s is refused: %s", what, e.msg);
    http_answer_release(&a);
}

int
main(void)
{
    test_answer("an answer in chunks",
        "HTTP/1.1 200 OK\r\nX: y\r\ntransfer-encoding:  Chunked\r\n\r\n"
        "5\r\ndata:\r\n1B;ext=1\r\n 12345678901234567890\n\r\n123\r\n"
        "0\r\n\r\n",
        200, "data: 12345678901234567890\n\r\n123");
    test_answer("an answer until the end of the connection",
        "HTTP/1.0 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno\r\n", 404,
        "no\r\n");
    test_answer("an answer without a body",
        "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", 204, "");
    test_answer("an answer of known length",
        "HTTP/1.1 200 OK\r\ncontent-length: 5 \r\n\r\nabcde", 200, "abcde");
    test_answer("an answer of length 0",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "");
    test_answer("an answer in chunks that has a length too",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        200, "abc");
    test_refused("an answer that ends before its length",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcde", "broken off");
    test_refused("an answer that goes on after its length",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdefgh", "longer");
    test_refused("a length of more than is right",
        "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", "longer");
    test_refused("a chunk of more than is right",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
        "longer");
    test_refused("chunks of more than is right",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nab\r\n63\r\n",
        "longer");
    test_refused("an endless answer",
        "HTTP/1.1 200 OK\r\n\r\n"
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "0123456789012345678901234567890",
        "longer");
    test_refused("a length that is no number",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP");
    test_refused("a length beyond all numbers",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "not HTTP");
    test_refused("a length with a list",
        "HTTP/1.1 200 OK\r\nContent-Length: 3, 4\r\n\r\nabc", "not HTTP");
    test_refused("what is not HTTP", "SSH-2.0-x\r\n\r\n", "not HTTP");
    test_refused("a chunk that is broken off",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "broken off");
    test_refused("a chunk without a size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nab",
        "no size");
    test_refused("a head that is broken off", "HTTP/1.1 200 OK\r\nA",
        "broken off");
    return done_testing();
}
