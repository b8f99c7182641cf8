/* serve: many clients at once, full queues, clients that leave, are slow or
 * silent, and the end of the server. */
#include "client.h"

#include <limits.h>
#include <math.h>

enum { MANY = 256 };

#define ENDED(reason)                                                \
    "vllm:request_success_total{model_name=\"f32-hf\",engine=\"0\"," \
    "finished_reason=\"" reason "\""

/* A request that differs from the others by prompt, seed and parameters. */
static char *
body_of(size_t i)
{
    struct buf b = { 0 };

    buf_addf(&b, "{\"prompt\": [%zu,%zu", 1 + i % 250, 2 + i / 250);
    for (size_t k = 0; k < 50 + i % 20; k++)
        buf_addf(&b, ",%zu", 10 + (k * k + i / 8) % 280);
    buf_addf(&b,
        "], \"seed\": %zu, \"max_tokens\": %zu, "
        "\"temperature\": %g, \"ignore_eos\": true, \"logprobs\": 2, "
        "\"return_tokens_as_token_ids\": true%s}",
        i * i, 30 + i % 25, 0.3 + 0.01 * (double)(i % 100),
        i % 5 == 0 ? ", \"echo\": true" : "");
    return b.p;
}

/* The choices, as text: they must not depend on other requests. */
static char *
choices_of(const struct answer *a)
{
    return json_dumps(member(a->json, "choices"), JSON_COMPACT);
}

static void
many_at_once(void)
{
    static const char *const args[] = { "--slice", "64", NULL };
    struct server s;
    int fd[MANY];
    char *together[MANY];
    size_t same = 0, good = 0;

    server_start(&s, args);
    for (size_t i = 0; i < MANY; i++) {
        char *body = body_of(i);

        fd[i] = dial(s.port);
        put_request(fd[i], "/v1/completions", "", body);
        free(body);
    }
    for (size_t i = 0; i < MANY; i++) {
        struct answer a;

        get_answer(fd[i], &a);
        close(fd[i]);
        good += a.status == 200 &&
            number_of(a.json, "usage.completion_tokens") ==
                (long long)(30 + i % 25);
        together[i] = choices_of(&a);
        answer_release(&a);
    }
    ok(good == MANY, "256 requests at once are answered");
    ok(metric_of(s.port, "vllm:iteration_tokens_total_sum") >
            4 * metric_of(s.port, "vllm:iteration_tokens_total_count"),
        "several texts run at a time");
    for (size_t i = 0; i < MANY; i++) {
        char *body = body_of(i), *alone;
        struct answer a;

        ask(s.port, "/v1/completions", body, &a);
        alone = choices_of(&a);
        same += strcmp(alone, together[i]) == 0;
        answer_release(&a);
        free(alone);
        free(together[i]);
        free(body);
    }
    ok(same == MANY, "each of 256 texts is the same at once and alone");
    if (same < MANY)
        printf("# %zu of %d\n", same, MANY);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after 256 at once");
}

/* Connections that all become ready at one time: 128, as many as libmicrohttpd
 * 0.9.75 asks the system for at once, and 256. */
static void
bursts(void)
{
    static const char *const args[] = { "--idle", "30", "--queue", "600",
        NULL };
    struct server s;
    int fd[MANY];

    for (size_t n = MANY / 2; n <= MANY; n *= 2) {
        size_t good = 0;
        double begin;

        server_start(&s, args);
        for (size_t i = 0; i < n; i++)
            fd[i] = dial(s.port);
        nap(0.3); /* until all are accepted */
        kill(s.pid, SIGSTOP);
        for (size_t i = 0; i < n; i++)
            put_request(fd[i], "/v1/completions", "",
                "{\"prompt\": \"The river\", \"max_tokens\": 2}");
        kill(s.pid, SIGCONT);
        begin = clock_now();
        for (size_t i = 0; i < n; i++) {
            struct answer a;

            get_answer(fd[i], &a);
            close(fd[i]);
            good += a.status == 200;
            answer_release(&a);
        }
        ok(good == n && clock_now() - begin < 20,
            "%zu requests that come at one time are answered at once", n);
        printf("# %zu in %.1f s\n", good, clock_now() - begin);
        ok(server_end(&s, SIGTERM) == 0, "the server ends after %zu", n);
    }
}

static void
full_queue(void)
{
    static const char *const args[] = { "--at-once", "2", "--queue", "6",
        NULL };
    struct server s;
    int fd[100];
    size_t done = 0, full = 0, told = 0, other = 0;

    server_start(&s, args);
    for (size_t i = 0; i < 100; i++) {
        fd[i] = dial(s.port);
        put_request(fd[i], "/v1/completions", "",
            "{\"prompt\": \"The river\", \"max_tokens\": 100, "
            "\"ignore_eos\": true}");
    }
    for (size_t i = 0; i < 100; i++) {
        struct answer a;

        get_answer(fd[i], &a);
        close(fd[i]);
        if (a.status == 200)
            done += a.whole;
        else if (a.status == 429)
            full++;
        else
            other++;
        if (a.status == 429)
            told += strcmp(header_of(&a, "Retry-After"), "1") == 0 &&
                strcmp(header_of(&a, "x-should-retry"), "false") == 0 &&
                strcmp(text_of(a.json, "error.code"), "queue_full") == 0;
        answer_release(&a);
    }
    ok(done >= 8 && other == 0 && done + full == 100,
        "each request is answered with 200 or 429");
    ok(full > 0 && told == full, "429 says when to try again");
    printf("# %zu answered, %zu refused\n", done, full);
    ok(metric_of(s.port,
           "retort:http_answers_total{model_name=\"f32-hf\","
           "engine=\"0\",status=\"200\"") >= (double)done &&
            metric_of(s.port,
                "retort:http_answers_total{"
                "model_name=\"f32-hf\",engine=\"0\",status=\"429\"") ==
                (double)full,
        "/metrics counts both kinds of answers");
    ok(server_end(&s, SIGTERM) == 0, "the server ends after a full queue");
}

/* A request that takes long: 1000 texts of 120 tokens. */
#define LONG_BODY                                                    \
    "{\"prompt\": \"The river\", \"n\": 1000, \"max_tokens\": 120, " \
    "\"ignore_eos\": true"

/* Leave while texts of a long request run.  Returns whether one more text is
 * counted as aborted.  If the client leaves just between two texts, no text is,
 * so up to 10 requests are tried. */
static int
leaving_aborts(int port, double before)
{
    for (int i = 0; i < 10 && metric_of(port, ENDED("abort")) <= before; i++) {
        const int fd = dial(port);

        put_request(fd, "/v1/completions", "", LONG_BODY "}");
        comes_to(port, "vllm:num_requests_running", 1, 1);
        close(fd);
        comes_to(port, "vllm:num_requests_waiting", 0, 0);
        comes_to(port, "vllm:num_requests_running", 0, 0);
    }
    return metric_of(port, ENDED("abort")) > before;
}

static void
clients_that_leave(void)
{
    static const char *const args[] = { "--at-once", "1", "--queue", "5000",
        "--max-texts", "1000", NULL };
    const struct linger now = { 1, 0 };
    struct server s;
    struct answer a;
    char byte[2000];
    int fd;

    server_start(&s, args);
    /* in mid-stream, as a client does that is killed */
    fd = dial(s.port);
    put_request(fd, "/v1/completions", "", LONG_BODY ", \"stream\": true}");
    ok(recv(fd, byte, sizeof byte, 0) > 0, "a long stream begins");
    ok(comes_to(s.port, "vllm:num_requests_waiting", 900, 1000),
        "its other texts wait");
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
    ok(comes_to(s.port, "vllm:num_requests_waiting", 0, 0) &&
            comes_to(s.port, "vllm:num_requests_running", 0, 0),
        "a client that leaves in mid-stream takes its texts away");
    /* while it waits for a whole answer */
    fd = dial(s.port);
    put_request(fd, "/v1/completions", "", LONG_BODY "}");
    ok(comes_to(s.port, "vllm:num_requests_running", 1, 1),
        "a long request for a whole answer begins");
    close(fd);
    ok(comes_to(s.port, "vllm:num_requests_waiting", 0, 0) &&
            comes_to(s.port, "vllm:num_requests_running", 0, 0),
        "a client that leaves before its answer takes its texts away");
    ok(leaving_aborts(s.port, metric_of(s.port, ENDED("abort"))),
        "a text whose client has left is counted as aborted");
    /* a body that never comes */
    fd = dial(s.port);
    put_all(fd, "POST /v1/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
        54);
    nap(0.1);
    close(fd);
    ask(s.port, "/v1/completions", "{\"prompt\": \"The\"}", &a);
    ok(a.status == 200, "the server answers after clients have left");
    answer_release(&a);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after clients have left");
}

static void
slow_and_silent(void)
{
    static const char *const args[] = { "--idle", "1", "--connections", "8",
        NULL };
    struct server s;
    struct answer a;
    char byte;
    int slow, silent, half, done;
    double begin;
    json_t *events;

    server_start(&s, args);
    silent = dial(s.port);
    half = dial(s.port);
    put_all(half, "POST /v1/comp", 13);
    slow = dial(s.port);
    put_request(slow, "/v1/completions", "",
        "{\"prompt\": \"The river\", "
        "\"n\": 8, \"max_tokens\": 100, \"stream\": true, \"logprobs\": 20, "
        "\"return_tokens_as_token_ids\": true, \"ignore_eos\": true}");
    ask(s.port, "/v1/completions", "{\"prompt\": \"The\"}", &a);
    ok(a.status == 200, "others are answered beside slow and silent clients");
    answer_release(&a);
    begin = clock_now();
    ok(recv(silent, &byte, 1, 0) == 0, "a silent connection is closed");
    ok(recv(half, &byte, 1, 0) <= 0, "half a request is given up");
    ok(clock_now() - begin < 8, "--idle says when");
    get_answer(slow, &a);
    events = events_of(&a, &done);
    ok(a.whole && done && json_array_size(events) > 700,
        "a slow reader gets its whole stream");
    json_decref(events);
    answer_release(&a);
    close(silent);
    close(half);
    close(slow);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after slow clients");
}

static void
bounds(void)
{
    static const char *const args[] = { "--buffers", "64K", "--timeout", "0.5",
        "--at-once", "1", "--max-texts", "1000", "--queue", "1000", NULL };
    struct server s;
    struct answer a;

    server_start(&s, args);
    ask(s.port, "/v1/completions",
        "{\"prompt\": \"The\", \"n\": 64, "
        "\"max_tokens\": 100, \"logprobs\": 20, \"ignore_eos\": true}",
        &a);
    ok(a.status == 503 &&
            strcmp(text_of(a.json, "error.code"), "no_memory") == 0,
        "an answer that exceeds --buffers is given up with 503");
    answer_release(&a);
    ask(s.port, "/v1/completions", LONG_BODY "}", &a);
    ok(a.status == 429 &&
            strcmp(text_of(a.json, "error.code"), "no_memory") == 0,
        "a request that exceeds --buffers is refused with 429");
    answer_release(&a);
    comes_to(s.port, "vllm:num_requests_running", 0, 0);
    ask(s.port, "/v1/completions", "{\"prompt\": \"The\"}", &a);
    ok(a.status == 200, "a smaller request is answered after them");
    answer_release(&a);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after large requests");
}

/* Bytes that have come and can be read without waiting; they are dropped. */
static size_t
drop_ready(int fd)
{
    static char bytes[65536];
    const ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    return n > 0 ? (size_t)n : 0;
}

/* A request that takes long to be read: other connections go on meanwhile. */
static void
slow_reading(void)
{
    static const char *const args[] = { "--max-body", "40M", "--max-texts",
        "1000", "--queue", "1000", "--at-once", "1", "-j", "1", NULL };
    const size_t n = (size_t)30 << 20;
    struct server s;
    struct answer a;
    struct pollfd p = { .events = POLLIN };
    struct buf body = { 0 };
    size_t healthy = 0, streamed = 0;
    int stream;

    server_start(&s, args);
    stream = dial(s.port);
    put_request(stream, "/v1/completions", "", LONG_BODY ", \"stream\": true}");
    comes_to(s.port, "vllm:num_requests_running", 1, 1);
    buf_adds(&body, "{\"prompt\": \"");
    for (size_t i = 0; i < n; i += 16)
        buf_adds(&body, "The river and a ");
    buf_adds(&body, "\"}");
    p.fd = dial(s.port);
    put_request(p.fd, "/tokenize", "", body.p);
    nap(0.5); /* until the body has come */
    drop_ready(stream);
    while (poll(&p, 1, 0) == 0) {
        ask(s.port, "/health", NULL, &a);
        healthy += a.status == 200;
        answer_release(&a);
        streamed += drop_ready(stream) > 0;
    }
    get_answer(p.fd, &a);
    ok(a.status == 200 && number_of(a.json, "count") > 1000000,
        "a long text is encoded");
    ok(healthy > 20, "/health answers while a request is read");
    ok(streamed > 20, "a stream goes on while a request is read");
    printf("# %zu answers, %zu pieces\n", healthy, streamed);
    answer_release(&a);
    buf_release(&body);
    close(p.fd);
    close(stream);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after a long text");
}

/* Stop a server that reads a long request while two others wait to be read.
 * Returns how many of the three are answered with 200. */
static size_t
stop_while_reading(const char *long_body, size_t attempt)
{
    static const char *const args[] = { "--max-body", "40M", NULL };
    struct server s;
    struct answer a;
    size_t good = 0, whole = 0;
    int fd[3], status;

    server_start(&s, args);
    for (size_t i = 0; i < 3; i++) {
        fd[i] = dial(s.port);
        put_request(fd[i], i == 0 ? "/tokenize" : "/v1/completions", "",
            i == 0 ? long_body : "{\"prompt\": \"The\", \"max_tokens\": 2}");
        /* time for the server to receive the request; the first is long */
        nap(i == 0 ? 0.3 : 0.05);
    }
    kill(s.pid, SIGTERM);
    for (size_t i = 0; i < 3; i++) {
        get_answer(fd[i], &a);
        good += a.status == 200;
        whole += a.whole && (a.status == 200 || a.status == 503);
        answer_release(&a);
        close(fd[i]);
    }
    ok(waitpid(s.pid, &status, 0) == s.pid && WIFEXITED(status) &&
            WEXITSTATUS(status) == 0 && whole == 3,
        "a server that stops while it reads ends with status 0, attempt %zu",
        attempt);
    return good;
}

static void
unread_requests(void)
{
    struct buf body = { 0 };
    size_t good = 0;

    buf_adds(&body, "{\"prompt\": \"");
    for (size_t i = 0; i < (size_t)38 << 20; i += 16)
        buf_adds(&body, "The river and a ");
    buf_adds(&body, "\"}");
    /* on a busy machine requests may come after the signal: try again */
    for (size_t i = 0; i < 4 && good < 3; i++)
        good = stop_while_reading(body.p, i);
    ok(good == 3,
        "requests that wait to be read when the server stops are answered");
    buf_release(&body);
}

static void
time_limit(void)
{
    static const char *const args[] = { "--timeout", "0.5", "--at-once", "1",
        "--max-texts", "1000", "--queue", "1000", "-j", "1", NULL };
    struct server s;
    struct answer a;

    server_start(&s, args);
    ask(s.port, "/v1/completions", LONG_BODY "}", &a);
    ok(a.status == 503 && strcmp(text_of(a.json, "error.code"), "timeout") == 0,
        "a request that exceeds --timeout is given up with 503");
    answer_release(&a);
    comes_to(s.port, "vllm:num_requests_running", 0, 0);
    ask(s.port, "/v1/completions", LONG_BODY ", \"stream\": true}", &a);
    ok(a.status == 200 && a.whole && strstr(a.body.p, "\ndata: {\"error\":"),
        "a stream that exceeds --timeout ends with an error event");
    answer_release(&a);
    ok(comes_to(s.port, "vllm:num_requests_running", 0, 0),
        "a request that was given up takes no more time");
    ok(server_end(&s, SIGTERM) == 0, "the server ends after late requests");
}

/* Wait until the server has noticed a signal. */
static void
await_stopping(void)
{
    const double until = clock_now() + 60;
    char line[1000];

    for (int seen = 0; !seen && clock_now() < until; nap(0.01)) {
        FILE *f = fopen("serve.err", "r");

        while (f && fgets(line, sizeof line, f))
            seen |= strstr(line, "serve: stopping") != NULL;
        if (f)
            fclose(f);
    }
}

static void
drains(void)
{
    static const char *const args[] = { "--at-once", "4", "--max-texts", "1024",
        "--queue", "2048", NULL };
    struct server s;
    struct answer a, b;
    int stream, whole, idle, status;

    server_start(&s, args);
    idle = dial(s.port);
    put_request(idle, "/health", "", NULL);
    get_answer(idle, &a);
    answer_release(&a);
    stream = dial(s.port);
    put_request(stream, "/v1/completions", "",
        "{\"prompt\": \"The river\", "
        "\"n\": 512, \"max_tokens\": 100, \"stream\": true, "
        "\"ignore_eos\": true}");
    whole = dial(s.port);
    put_request(whole, "/v1/completions", "",
        "{\"prompt\": \"The river\", "
        "\"n\": 512, \"max_tokens\": 100, \"ignore_eos\": true}");
    comes_to(s.port, "vllm:num_requests_running", 4, 4);
    kill(s.pid, SIGTERM);
    await_stopping();
    put_request(idle, "/v1/completions", "", "{\"prompt\": \"The\"}");
    get_answer(idle, &b);
    ok(b.status == 503 || b.status == 0,
        "a server that stops refuses new requests");
    answer_release(&b);
    get_answer(stream, &a);
    ok(a.status == 200 && a.whole && strstr(a.body.p, "data: [DONE]"),
        "a stream is finished after SIGTERM");
    answer_release(&a);
    get_answer(whole, &a);
    ok(a.status == 200 && json_array_size(member(a.json, "choices")) == 512,
        "a waiting answer is finished after SIGTERM");
    answer_release(&a);
    close(idle);
    close(stream);
    close(whole);
    ok(waitpid(s.pid, &status, 0) == s.pid && WIFEXITED(status) &&
            WEXITSTATUS(status) == 0,
        "the server then ends with status 0");
}

static void
second_signal(void)
{
    static const char *const args[] = { "--at-once", "1", "--max-texts",
        "10000", "--queue", "10000", "-j", "1", NULL };
    struct server s;
    struct answer a;
    int fd;

    server_start(&s, args);
    fd = dial(s.port);
    put_request(fd, "/v1/completions", "",
        "{\"prompt\": [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", "
        "\"h\"], "
        "\"n\": 1024, \"max_tokens\": 120, \"ignore_eos\": true}");
    comes_to(s.port, "vllm:num_requests_running", 1, 1);
    kill(s.pid, SIGTERM);
    nap(2.2);
    ok(server_end(&s, SIGTERM) == 5,
        "a second SIGTERM ends the server with status 5");
    get_answer(fd, &a);
    ok(!a.whole, "the answer of a server that was ended is not whole");
    answer_release(&a);
    close(fd);
}

/* Kilobytes of memory that a process has now. */
static long
resident(pid_t pid)
{
    char path[50], line[200];
    long kb = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb;
}

static void
memory_stays(void)
{
    static const char *const args[] = { NULL };
    struct server s;
    long held[4], least = LONG_MAX;
    size_t good = 0;

    server_start(&s, args);
    for (size_t i = 0; i < 1200; i++) {
        char *body = body_of(i % 300);
        struct answer a;

        ask(s.port, "/v1/completions", body, &a);
        good += a.status == 200;
        answer_release(&a);
        free(body);
        if (i % 300 == 299)
            held[i / 300] = resident(s.pid);
    }
    for (size_t i = 1; i < 4; i++)
        if (held[i] - held[i - 1] < least)
            least = held[i] - held[i - 1];
    ok(good == 1200, "1200 requests in a row are answered");
    printf("# %ld, %ld, %ld, %ld KB after 300 requests each\n", held[0],
        held[1], held[2], held[3]);
    /* Memory that requests leak grows in every 300 of them; a page touched for
     * the first time does not. */
    ok(held[0] > 0 && least < 100, "memory does not grow by requests");
    ok(server_end(&s, SIGTERM) == 0, "the server ends after 1200 requests");
}

int
main(void)
{
    tap_scratch();
    many_at_once();
    bursts();
    full_queue();
    clients_that_leave();
    slow_and_silent();
    bounds();
    slow_reading();
    unread_requests();
    time_limit();
    drains();
    second_signal();
    memory_stays();
    return done_testing();
}
