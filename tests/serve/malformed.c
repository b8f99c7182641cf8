/* serve: malformed bodies, by the fuzz target on mutations of its corpus (5,000
 * of them, 10^6 in make check-long), and malformed HTTP. */
#include "client.h"
#include "../fuzz/request.c"
#include "base/io.h"
#include "base/rng.h"
#include "cli/prog.h"

#include <dirent.h>

enum { SEEDS = 64, LONGEST = 4096 };

static struct buf seed[SEEDS];
static size_t seeds;

static void
read_corpus(void)
{
    DIR *d = opendir("tests/fuzz/corpus-request");
    struct dirent *f;
    char path[600];

    while (d && (f = readdir(d)) && seeds < SEEDS) {
        struct io_map m;
        struct err e;

        snprintf(path, sizeof path, "tests/fuzz/corpus-request/%s", f->d_name);
        if (f->d_name[0] == '.' || io_map(&m, path, &e) < 0)
            continue;
        buf_add(&seed[seeds++], m.p, m.n);
        io_unmap(&m);
    }
    if (d)
        closedir(d);
}

/* Pieces that a mutation puts in. */
static const char *const pieces[] = { "null", "true", "[]", "{}", "-1", "0",
    "1e308", "\"\"", "\\ud800", "\\u0000", "{\"", "[[", "]]", "}", ",", ":",
    "99999999999", "0.5", "\"a\"", "\xff\xfe", "\"stream\":true,",
    "\"logprobs\":1,", "\"echo\":true," };

/* Change a body in up to 8 places: number i of the mutations. */
static void
mutate(struct buf *b, uint64_t i)
{
    const uint64_t key = rng_key(17, i);
    const struct buf *s = &seed[rng_u64(key, 0) % seeds];
    const size_t changes = 1 + rng_u64(key, 1) % 8;

    buf_clear(b);
    buf_add(b, s->p, s->n);
    for (size_t k = 0; k < changes; k++) {
        const uint64_t r = rng_u64(key, 2 + k);
        const size_t at = 1 + (r >> 8) % b->n, left = b->n - at;
        const char *p = pieces[(r >> 40) % (sizeof pieces / sizeof *pieces)];
        struct buf tail = { 0 };

        buf_add(&tail, b->p + at, left);
        switch (r % 4) {
        case 0: /* put a piece in */
        case 1: /* put it in place of some bytes */
            b->n = at;
            buf_adds(b, p);
            if (r % 4 == 0)
                buf_add(b, tail.p, tail.n);
            else if (tail.n > strlen(p))
                buf_add(b, tail.p + strlen(p), tail.n - strlen(p));
            break;
        case 2: /* cut the end off, now and then */
            b->n = r % 64 < 4 && at > 1 ? at : b->n;
            break;
        default: /* change a byte */
            if (left > 0)
                b->p[at] = (char)(r >> 48);
        }
        buf_release(&tail);
        if (b->n > LONGEST)
            b->n = LONGEST;
    }
}

static void
malformed_bodies(void)
{
    const size_t n = getenv("RETORT_LONG") ? 1000000 : 5000;
    struct buf b = { 0 };
    size_t before = 0;

    setenv("RETORT_TOP", ".", 1);
    read_corpus();
    ok(seeds >= 15, "the corpus of bodies has %zu files", seeds);
    for (size_t i = 0; i < n; i++) {
        uint8_t *exact;

        mutate(&b, i);
        /* an exact copy, so that a sanitizer sees one byte too many */
        exact = xmalloc(b.n);
        memcpy(exact, b.p, b.n);
        LLVMFuzzerTestOneInput(exact, b.n);
        free(exact);
        if (i == n / 5)
            before = prog_resident();
    }
    ok(api.queue != NULL, "%zu malformed bodies are answered or refused", n);
    printf("# %zu accepted\n", accepted);
    ok(accepted > n / 200 && accepted < n / 2,
        "both accepted and refused bodies are among them");
    ok(prog_resident() <= before + (4 << 20),
        "memory does not grow by malformed bodies");
    buf_release(&b);
}

/* Lines that are no HTTP, or end too early; after each of them the connection
 * is closed by the client. */
static void
malformed_http(void)
{
    static const char *const args[] = { NULL };
    static const char *const heads[] = { "GET\r\n\r\n", "\r\n\r\n\r\n",
        "POST /v1/completions HTTP/9.9\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "-5\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "99999999999999999999999\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: "
        "localhost\r\nTransfer-Encoding: "
        "chunked\r\n\r\nzzz\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: "
        "localhost\r\nTransfer-Encoding: "
        "chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "50\r\n\r\n"
        "{\"prompt\"",
        "GET /%00%ff/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "DELETE /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" };
    struct server s;
    struct answer a;

    server_start(&s, args);
    for (size_t i = 0; i < 300; i++) {
        const int fd = dial(s.port);
        const uint64_t key = rng_key(18, i);
        char line[400];
        size_t n = (size_t)snprintf(line, sizeof line, "%s",
            heads[i % (sizeof heads / sizeof *heads)]);

        /* the first time whole, then with bytes changed */
        for (size_t k = 0; i >= 10 && k < 3; k++)
            line[rng_u64(key, k) % n] = (char)rng_u64(key, 10 + k);
        put_all(fd, line, n);
        if (i % 3 == 0)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
    ask(s.port, "/v1/completions", "{\"prompt\": \"The\"}", &a);
    ok(a.status == 200, "the server answers after 300 malformed requests");
    answer_release(&a);
    ok(server_end(&s, SIGTERM) == 0,
        "the server ends with status 0 after malformed requests");
}

int
main(void)
{
    tap_scratch();
    malformed_bodies();
    malformed_http();
    return done_testing();
}
