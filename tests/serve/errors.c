/* serve: requests that are refused, and keys. */
#include "client.h"

static int port;

struct request {
    const char *path, *body;
    int status;
    const char *param, *code; /* of the error; NULL: none */
};

static int
is_text(const json_t *v, const char *want)
{
    return want ? json_is_string(v) && strcmp(json_string_value(v), want) == 0
                : json_is_null(v);
}

/* Send requests, and compare the answers' status and error object. */
static void
check_answers(int to, const struct request *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct answer a;

        ask(to, all[i].path, all[i].body, &a);
        ok(a.status == all[i].status &&
                (a.status == 200 ||
                    (strlen(text_of(a.json, "error.message")) > 8 &&
                        strcmp(text_of(a.json, "error.type"),
                            "invalid_request_error") == 0 &&
                        is_text(member(a.json, "error.param"), all[i].param) &&
                        is_text(member(a.json, "error.code"), all[i].code))),
            "%s of %s answers %d", all[i].path, all[i].body, all[i].status);
        if (a.status != all[i].status)
            printf("# %d: %s\n", a.status, a.body.p ? a.body.p : "");
        answer_release(&a);
    }
}

static void
error_objects(void)
{
    static const struct request bad[] = {
        { "/v1/completions", "{\"prompt\": \"a\", \"temperature\": \"hot\"}",
            400, "temperature", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"max_tokens\": -1}", 400,
            "max_tokens", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"n\": 1.5}", 400, "n",
            NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"n\": 500}", 400, "n",
            NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"stop\": [3]}", 400, "stop",
            NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"stop\": \"\"}", 400, "stop",
            NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"stream\": 1}", 400,
            "stream", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"echo\": \"yes\"}", 400,
            "echo", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"logit_bias\": {\"x\": 1}}",
            400, "logit_bias", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"top_p\": 0}", 400, "top_p",
            NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"best_of\": 3}", 400,
            "best_of", NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"response_format\": {\"type\": \"json\"}}",
            400, "response_format", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"unknown\": 1}", 400,
            "unknown", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"bad_words\": [\"x\"]}", 400,
            "bad_words", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"bad_words\": []}", 200,
            NULL, NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"include_stop_str_in_output\": true}", 400,
            "include_stop_str_in_output", NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"truncate_prompt_tokens\": 2}", 400,
            "truncate_prompt_tokens", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"messages\": [1]}", 400,
            "messages", NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"logprobs\": 1, \"top_logprobs\": 3}", 400,
            "top_logprobs", NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"stream\": true, "
            "\"stream_options\": {\"continuous_usage_stats\": true}}",
            400, "continuous_usage_stats", NULL },
        { "/v1/completions",
            "{\"prompt\": \"a\", \"stream\": false, \"user\": \"me\", "
            "\"metadata\": {\"a\": \"b\"}, \"store\": true, "
            "\"service_tier\": \"auto\", \"length_penalty\": 1.0, "
            "\"request_id\": \"a\", \"cache_salt\": \"b\", "
            "\"num_beams\": 1, "
            "\"use_beam_search\": false, \"priority\": 0}",
            200, NULL, NULL },
        { "/v1/completions", "{\"max_tokens\": 3}", 400, "prompt", NULL },
        { "/v1/completions", "{\"prompt\": []}", 400, "prompt", NULL },
        { "/v1/completions", "{\"prompt\": [\"a\", 3]}", 400, "prompt", NULL },
        { "/v1/completions", "{\"prompt\": [5, 1000]}", 400, "prompt", NULL },
        { "/v1/completions", "{\"prompt\": \"\"}", 400, "prompt", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"max_tokens\": 127}", 200,
            NULL, NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"max_tokens\": 128}", 400,
            "prompt", "context_length_exceeded" },
        { "/v1/completions", "{\"prompt\": \"a\", \"max_tokens\": 0}", 400,
            "max_tokens", NULL },
        { "/v1/completions", "{\"prompt\": \"a\", \"model\": \"gpt-4\"}", 404,
            "model", "model_not_found" },
        { "/v1/completions", "{\"prompt\": \"a\"", 400, NULL, NULL },
        { "/v1/completions", "[1]", 400, NULL, NULL },
        { "/v1/chat/completions", "{\"messages\": []}", 400, "messages", NULL },
        { "/tokenize", "{\"prompt\": \"a\", \"max_tokens\": 3}", 200, NULL,
            NULL },
        { "/tokenize", "{\"prompt\": \"a\", \"tools\": [{}]}", 400, "tools",
            NULL },
        { "/tokenize", "{\"prompt\": \"a\", \"messages\": null}", 200, NULL,
            NULL },
        { "/detokenize", "{\"tokens\": \"a\"}", 400, "tokens", NULL },
        { "/detokenize", "{\"tokens\": [1], \"prompt\": \"a\"}", 400, "prompt",
            NULL },
        { "/v1/embeddings", "{}", 404, NULL, NULL },
    };

    check_answers(port, bad, sizeof bad / sizeof *bad);
}

/* Members of a chat.  The template reads reasoning_effort, not documents. */
static void
chat_members(void)
{
    static const char *const args[] = { "-m", "tests/golden/gguf/chat.gguf",
        "--template", "effort.jinja", NULL };
#define HI "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
#define CHATS "/v1/chat/completions"
    static const struct request all[] = {
        { CHATS, HI "\"max_tokens\": 1, \"reasoning_effort\": \"low\"}", 200,
            NULL, NULL },
        { CHATS, HI "\"reasoning_effort\": 1}", 400, "reasoning_effort", NULL },
        { CHATS, HI "\"documents\": [{\"text\": \"a\"}]}", 400, "documents",
            NULL },
        { CHATS, HI "\"documents\": [], \"max_tokens\": 1}", 200, NULL, NULL },
        { CHATS, HI "\"chat_template\": \"x\"}", 400, "chat_template", NULL },
        { CHATS, HI "\"echo\": true}", 400, "echo", NULL },
        { CHATS, HI "\"chat_template_kwargs\": {\"tools\": [1]}}", 400,
            "chat_template_kwargs", NULL },
        { CHATS, HI "\"continue_final_message\": true}", 400,
            "continue_final_message", NULL },
        { CHATS, HI "\"top_logprobs\": 2}", 400, "top_logprobs", NULL },
        { CHATS,
            HI "\"top_logprobs\": 0, \"tools\": [], \"tool_choice\": \"none\", "
               "\"parallel_tool_calls\": true, \"modalities\": [\"text\"], "
               "\"verbosity\": \"medium\", \"max_tokens\": 1}",
            200, NULL, NULL },
        { CHATS, HI "\"verbosity\": \"low\"}", 400, "verbosity", NULL },
        { CHATS,
            "{\"messages\": [{\"role\": \"user\", \"content\": "
            "[{\"type\": \"image_url\"}]}]}",
            400, "messages", NULL },
        { CHATS,
            "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": "
            "\"text\", \"text\": \"a\", \"image_url\": {\"url\": \"b\"}}]}]}",
            400, "messages", NULL },
    };
    struct server s;
    struct answer a;
    FILE *f = fopen("effort.jinja", "w");

    fputs("{{ messages[0].content }}{{ reasoning_effort }}", f);
    fclose(f);
    server_start(&s, args);
    check_answers(s.port, all, sizeof all / sizeof *all);
    ask(s.port, "/tokenize", HI "\"reasoning_effort\": \"high\"}", &a);
    ok(number_of(a.json, "count") == 6, "the template gets reasoning_effort");
    answer_release(&a);
    ask(s.port, "/tokenize",
        HI "\"continue_final_message\": true, "
           "\"add_generation_prompt\": false}",
        &a);
    ok(number_of(a.json, "count") == 2,
        "a message that is continued ends the prompt");
    answer_release(&a);
    ok(server_end(&s, SIGTERM) == 0, "a server of chats ends with status 0");
}

static void
methods_and_sizes(void)
{
    struct answer a;
    static const char *const head =
        "POST /v1/completions HTTP/1.1\r\n"
        "Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    struct buf big = { 0 };
    int fd;

    ask(port, "/v1/completions", NULL, &a);
    ok(a.status == 405 && strcmp(header_of(&a, "Allow"), "POST, OPTIONS") == 0,
        "GET of a path that needs POST answers 405 and says so");
    answer_release(&a);
    buf_adds(&big, "{\"prompt\": \"");
    while (big.n < 70000)
        buf_adds(&big, "a");
    buf_adds(&big, "\"}");
    ask(port, "/v1/completions", big.p, &a);
    ok(a.status == 413, "a body of more than --max-body bytes answers 413");
    answer_release(&a);
    /* in chunks, so that no header says how long it is */
    fd = dial(port);
    put_all(fd, head, strlen(head));
    for (size_t i = 0; i < 70; i++) {
        put_all(fd, "400\r\n", 5);
        put_all(fd, big.p, 1024);
        put_all(fd, "\r\n", 2);
    }
    put_all(fd, "0\r\n\r\n", 5);
    get_answer(fd, &a);
    close(fd);
    ok(a.status == 413, "a long body in chunks answers 413");
    answer_release(&a);
    buf_release(&big);
}

/* Send a GET of /v1/models with these header lines; returns the status. */
static int
status_of(int to, const char *version, const char *lines)
{
    const int fd = dial(to);
    struct answer a;
    char head[300];
    int status;

    snprintf(head, sizeof head, "GET /v1/models HTTP/%s\r\n%s\r\n", version,
        lines);
    put_all(fd, head, strlen(head));
    get_answer(fd, &a);
    status = a.status;
    answer_release(&a);
    close(fd);
    return status;
}

/* A page of somebody else, by a name that leads here or by our address. */
static void
foreign_pages(int open)
{
    static const struct {
        const char *lines;
        int guarded, not ; /* status at a loopback address without keys, else */
    } cases[] = {
        { "Host: evil.example\r\n", 403, 200 },
        { "Host: localhost.evil.example\r\n", 403, 200 },
        { "Host: 127.0.0.1.evil.example:80\r\n", 403, 200 },
        { "Host: 0.0.0.0\r\n", 403, 200 },
        { "Host: 10.0.0.1:8000\r\n", 403, 200 },
        { "Host: [::2]\r\n", 403, 200 },
        { "Host: [::1\r\n", 403, 200 },
        { "Host: localhost:x\r\n", 403, 200 },
        { "Host: \r\n", 403, 200 },
        { "Host: LocalHost\r\n", 200, 200 },
        { "Host: localhost.:8000\r\n", 200, 200 },
        { "Host: 127.0.0.1\r\n", 200, 200 },
        { "Host: 127.0.0.2:1\r\n", 200, 200 },
        { "Host: [::1]:80\r\n", 200, 200 },
        { "Host: [0:0:0:0:0:0:0:1]\r\n", 200, 200 },
        { "Host: [::ffff:127.0.0.1]\r\n", 200, 200 },
        { "Host: localhost\r\nOrigin: http://evil.example\r\n", 403, 200 },
        { "Host: localhost\r\nOrigin: null\r\n", 403, 200 },
        { "Host: localhost\r\nOrigin: http://localhost.evil.example\r\n", 403,
            200 },
        { "Host: localhost\r\nOrigin: http://evil.example/://localhost\r\n",
            403, 200 },
        { "Host: localhost\r\nOrigin: http://localhost:3000\r\n", 200, 200 },
        { "Host: localhost\r\nOrigin: https://[::1]\r\n", 200, 200 },
        { "Host: localhost\r\nHost: evil.example\r\n", 400, 400 },
        { "", 400, 400 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int want = open ? cases[i].not : cases[i].guarded;
        const int got = status_of(open ? open : port, "1.1", cases[i].lines);
        char shown[100];

        snprintf(shown, sizeof shown, "%s", cases[i].lines);
        for (char *p; (p = strpbrk(shown, "\r\n"));)
            *p = ' ';
        ok(got == want, "%s\"%s\" answers %d",
            open ? "a server with keys or for other machines: " : "", shown,
            want);
        if (got != want)
            printf("# %d\n", got);
    }
    ok(status_of(open ? open : port, "1.0", "") == 200,
        "HTTP/1.0 needs no Host%s", open ? " there" : "");
    ok(status_of(open ? open : port, "1.0", "Host: evil.example\r\n") ==
            (open ? 200 : 403),
        "HTTP/1.0 with a foreign Host answers %d", open ? 200 : 403);
}

static void
other_machines(void)
{
    static const char *const args[] = { "--host", "0.0.0.0", NULL };
    struct server s;

    server_start(&s, args);
    foreign_pages(s.port);
    ok(server_end(&s, SIGTERM) == 0, "a server for all ends with status 0");
}

static void
keys_of_clients(void)
{
    static const char *const args[] = { "--key-file", "key", "-m", "plain",
        NULL };
    struct server s;
    struct answer a;
    FILE *f = fopen("key", "w");

    fputs("sesame\nsecond line\n", f);
    fclose(f);
    /* a model without a chat template */
    ok(system("mkdir plain && cd plain && ln -s ../" SMALL_MODEL
              "/config.json ../" SMALL_MODEL "/tokenizer.json ../" SMALL_MODEL
              "/*.safetensors .") == 0,
        "a model without a template is made");
    server_start(&s, args);
    ask(s.port, "/v1/models", NULL, &a);
    ok(a.status == 401 &&
            strcmp(text_of(a.json, "error.code"), "invalid_api_key") == 0,
        "a request without the key answers 401");
    answer_release(&a);
    ask_with(s.port, "/v1/models", "Authorization: Bearer sesam\r\n", NULL, &a);
    ok(a.status == 401, "a request with another key answers 401");
    answer_release(&a);
    ask_with(s.port, "/v1/models", "Authorization: Bearer sesame\r\n", NULL,
        &a);
    ok(a.status == 200, "a request with the key is answered");
    answer_release(&a);
    ask_with(s.port, "/v1/chat/completions", "Authorization: Bearer sesame\r\n",
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}", &a);
    ok(a.status == 400 &&
            strstr(text_of(a.json, "error.message"), "no chat template"),
        "a chat with a model without a template answers 400");
    answer_release(&a);
    ask(s.port, "/health", NULL, &a);
    ok(a.status == 200, "/health needs no key");
    answer_release(&a);
    ok(server_end(&s, SIGINT) == 0, "SIGINT ends an idle server with status 0");
}

int
main(void)
{
    static const char *const args[] = { "--max-body", "64K", NULL };
    struct server s;

    tap_scratch();
    server_start(&s, args);
    port = s.port;
    error_objects();
    methods_and_sizes();
    foreign_pages(0);
    ok(server_end(&s, SIGTERM) == 0, "the server ends after refusals");
    chat_members();
    other_machines();
    keys_of_clients();
    return done_testing();
}
