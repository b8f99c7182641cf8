/* serve --origin: web pages that may ask, by the headers of CORS. */
#include "client.h"

#define PAGE "Origin: https://page.example\r\n"
#define OTHER "Origin: https://other.example\r\n"
#define KEY "Authorization: Bearer secret\r\n"
#define BODY "{\"prompt\": \"a\", \"max_tokens\": 1}"

/* Send a request without a body. */
static void
put_bare(int port, const char *method, const char *path, const char *more,
    struct answer *a)
{
    const int fd = dial(port);
    char *text = xasprintf("%s %s HTTP/1.1\r\nHost: localhost\r\n"
                           "Connection: close\r\n%s\r\n",
        method, path, more);

    put_all(fd, text, strlen(text));
    get_answer(fd, a);
    close(fd);
    free(text);
}

/* Does the answer have this header with this value?  NULL: it has no such
 * header. */
static int
has_header(const struct answer *a, const char *name, const char *value)
{
    const char *got = header_of(a, name);

    if (got != NULL && value != NULL && strcmp(got, value) == 0)
        return 1;
    if (got == NULL && value == NULL)
        return 1;
    printf("# %s: %s\n", name, got != NULL ? got : "(none)");
    return 0;
}

#define ALLOWED "Access-Control-Allow-Origin"
#define HEADERS "Access-Control-Allow-Headers"

static void
test_options(int port, int keys)
{
    const char *who = keys ? "a server with keys" : "a local server";
    struct answer a;

    put_bare(port, "OPTIONS", "/v1/chat/completions", "", &a);
    ok(a.status == 204 && has_header(&a, "Allow", "POST, OPTIONS") &&
            has_header(&a, ALLOWED, NULL),
        "%s answers OPTIONS of a program", who);
    answer_release(&a);
    put_bare(port, "OPTIONS", "/v1/models", "", &a);
    ok(a.status == 204 && has_header(&a, "Allow", "GET, HEAD, OPTIONS"),
        "%s names the methods of a path that is read", who);
    answer_release(&a);
    put_bare(port, "OPTIONS", "/nowhere", "", &a);
    ok(a.status == 404, "%s has no OPTIONS of nothing", who);
    answer_release(&a);
    put_bare(port, "OPTIONS", "/v1/chat/completions",
        PAGE "Access-Control-Request-Method: POST\r\n"
             "Access-Control-Request-Headers: authorization,x-a\r\n",
        &a);
    ok(a.status == 204 && has_header(&a, ALLOWED, "https://page.example") &&
            has_header(&a, HEADERS, "authorization,x-a") &&
            has_header(&a, "Access-Control-Allow-Methods", "POST, OPTIONS") &&
            has_header(&a, "Vary", "Origin"),
        "%s lets the browser of a listed page ask", who);
    answer_release(&a);
    put_bare(port, "OPTIONS", "/v1/chat/completions", OTHER, &a);
    ok(a.status == (keys ? 204 : 403) && has_header(&a, ALLOWED, NULL) &&
            has_header(&a, HEADERS, NULL),
        "%s does not let that of another page", who);
    answer_release(&a);
}

static void
test_posts(int port, int keys)
{
    const char *who = keys ? "a server with keys" : "a local server";
    struct answer a;

    ask_with(port, "/v1/completions", keys ? PAGE KEY : PAGE, BODY, &a);
    ok(a.status == 200 && has_header(&a, ALLOWED, "https://page.example"),
        "%s answers a listed page", who);
    answer_release(&a);
    ask_with(port, "/v1/completions", keys ? PAGE KEY : PAGE, "{", &a);
    ok(a.status == 400 && has_header(&a, ALLOWED, "https://page.example"),
        "%s lets a listed page read an error", who);
    answer_release(&a);
    ask_with(port, "/v1/completions", keys ? OTHER KEY : OTHER, BODY, &a);
    ok(a.status == (keys ? 200 : 403) && has_header(&a, ALLOWED, NULL),
        "%s lets no other page read", who);
    answer_release(&a);
    ask_with(port, "/v1/completions",
        keys ? "Origin: http://localhost:3000\r\n" KEY
             : "Origin: http://localhost:3000\r\n",
        BODY, &a);
    ok(a.status == 200 && has_header(&a, ALLOWED, NULL),
        "%s lets a local page that is not listed ask, but not read", who);
    answer_release(&a);
}

int
main(void)
{
    const char *const listed[] = { "--origin", "http://localhost:9", "--origin",
        "https://page.example", NULL };
    const char *const keys[] = { "--key-file", "key.origin", "--origin",
        "https://page.example", NULL };
    FILE *f = fopen("key.origin", "w");
    struct server s;
    struct answer a;

    if (f == NULL)
        return 1;
    fputs("secret\n", f);
    fclose(f);
    server_start(&s, listed);
    test_options(s.port, 0);
    test_posts(s.port, 0);
    server_end(&s, SIGTERM);
    server_start(&s, keys);
    test_options(s.port, 1);
    test_posts(s.port, 1);
    ask_with(s.port, "/v1/completions", PAGE, BODY, &a);
    ok(a.status == 401 && has_header(&a, ALLOWED, "https://page.example"),
        "a listed page needs the key too");
    answer_release(&a);
    server_end(&s, SIGTERM);
    return done_testing();
}
