/* serve: response_format, whole and streamed, beside free requests; what is
 * refused. */
#include "client.h"

#include <math.h>

static int port;

#define SCHEMA                                                           \
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": "      \
    "\"string\", \"maxLength\": 5}, \"size\": {\"anyOf\": [{\"$ref\": "  \
    "\"#/$defs/n\"}, {\"type\": \"null\"}]}}, \"required\": [\"name\", " \
    "\"size\"], \"additionalProperties\": false, \"$defs\": {\"n\": "    \
    "{\"type\": \"integer\"}}}"
#define JSON_SCHEMA(schema)                                     \
    "\"response_format\": {\"type\": \"json_schema\", "         \
    "\"json_schema\": {\"name\": \"thing\", \"strict\": true, " \
    "\"schema\": " schema "}}"
#define DRAWN "\"prompt\": \"The\", \"max_tokens\": 60, \"seed\": %d"
#define FREE                                                     \
    "{\"prompt\": \"of and\", \"max_tokens\": 20, \"seed\": 3, " \
    "\"ignore_eos\": true, \"logprobs\": 1, " NO_NUL "}"

/* Is the text a document of SCHEMA? */
static int
is_thing(const char *text)
{
    json_t *j = json_loads(text, 0, NULL);
    const json_t *name = json_object_get(j, "name");
    const json_t *size = json_object_get(j, "size");
    const int r = json_object_size(j) == 2 && json_is_string(name) &&
        (json_is_integer(size) || json_is_null(size));

    json_decref(j);
    return r;
}

static void
documents(void)
{
    size_t stopped = 0, good = 0, cut = 0, begun = 0;

    for (int seed = 0; seed < 12; seed++) {
        struct answer a;
        char body[1000];

        snprintf(body, sizeof body, "{" DRAWN ", " JSON_SCHEMA(SCHEMA) "}",
            seed);
        ask(port, "/v1/completions", body, &a);
        if (strcmp(text_of(a.json, "choices.0.finish_reason"), "stop") == 0) {
            stopped++;
            good += (size_t)is_thing(text_of(a.json, "choices.0.text"));
        } else {
            cut++;
            begun += *text_of(a.json, "choices.0.text") == '{';
        }
        answer_release(&a);
    }
    ok(stopped > 4 && good == stopped,
        "all %zu answers that stopped are documents of the schema", stopped);
    ok(begun == cut, "the %zu others are beginnings of one", cut);
}

static void
chats(void)
{
    static const char chat[] =
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "
        "\"max_completion_tokens\": 50, \"seed\": 4, \"stream\": %s, "
        "\"response_format\": {\"type\": \"json_object\"}}";
    struct answer a;
    struct buf all = { 0 };
    char body[400];
    json_t *events, *v;
    size_t i;
    int done;

    snprintf(body, sizeof body, chat, "true");
    ask(port, "/v1/chat/completions", body, &a);
    events = events_of(&a, &done);
    json_array_foreach(events, i, v)
    {
        const char *text =
            json_string_value(member(v, "choices.0.delta.content"));

        buf_adds(&all, text != NULL ? text : "");
    }
    ok(done && all.n > 1 && all.p[0] == '{', "an object is streamed to a chat");
    json_decref(events);
    answer_release(&a);
    snprintf(body, sizeof body, chat, "false");
    ask(port, "/v1/chat/completions", body, &a);
    ok(all.n > 1 &&
            strcmp(text_of(a.json, "choices.0.message.content"), all.p) == 0,
        "the whole answer has the bytes of the stream");
    answer_release(&a);
    buf_release(&all);
}

/* The choices of an answer as text, which the caller frees. */
static char *
choices_text(const struct answer *a)
{
    return json_dumps(member(a->json, "choices"), JSON_ENCODE_ANY);
}

static void
free_requests(void)
{
    char body[1000], *alone, *beside;
    struct answer a, b;
    int fd;

    ask(port, "/v1/completions", FREE, &a);
    alone = choices_text(&a);
    answer_release(&a);
    snprintf(body, sizeof body,
        "{" DRAWN ", \"n\": 6, " JSON_SCHEMA(SCHEMA) "}", 7);
    fd = dial(port);
    put_request(fd, "/v1/completions", "", body);
    ask(port, "/v1/completions", FREE, &a);
    beside = choices_text(&a);
    ok(a.status == 200 && strcmp(alone, beside) == 0,
        "a free request beside bound ones keeps its bits");
    get_answer(fd, &b);
    ok(json_array_size(member(b.json, "choices")) == 6,
        "a bound request may ask for several texts");
    close(fd);
    answer_release(&a);
    answer_release(&b);
    free(alone);
    free(beside);
}

static void
refusals(void)
{
    static const struct {
        const char *members, *param, *why;
    } bad[] = {
        { "\"response_format\": 3", "response_format", "object" },
        { "\"response_format\": {\"type\": \"xml\"}", "response_format",
            "xml" },
        { "\"response_format\": {\"type\": \"json_schema\"}", "response_format",
            "json_schema" },
        { "\"response_format\": {\"type\": \"json_object\", \"schema\": {}}",
            "response_format", "schema" },
        { JSON_SCHEMA("{\"pattern\": \"a\"}"), "response_format",
            "#: the keyword pattern is not supported" },
        { JSON_SCHEMA("{\"minItems\": 3, \"maxItems\": 2}"), "response_format",
            "no value has minItems 3 and maxItems 2" },
        { JSON_SCHEMA("{}") ", \"stop\": \"x\"", "stop", "schema" },
        { JSON_SCHEMA("{}") ", \"min_tokens\": 3", "min_tokens", "schema" },
        { JSON_SCHEMA("{}") ", \"ignore_eos\": true", "ignore_eos", "schema" },
        { JSON_SCHEMA("{}") ", \"stop_token_ids\": [3]", "stop_token_ids",
            "schema" },
        { JSON_SCHEMA("{}") ", \"echo\": true", "echo", "response_format" },
        { "\"tools\": [{\"type\": \"function\"}]", "tools", "not supported" },
        { "\"guided_json\": {\"type\": \"object\"}", "guided_json",
            "not supported" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char body[1000];
        struct answer a;

        snprintf(body, sizeof body, "{\"prompt\": \"a\", %s}", bad[i].members);
        ask(port, "/v1/completions", body, &a);
        ok(a.status == 400 &&
                strcmp(text_of(a.json, "error.param"), bad[i].param) == 0 &&
                strstr(text_of(a.json, "error.message"), bad[i].why) != NULL,
            "a request with %s is refused", bad[i].members);
        if (a.status != 400)
            printf("# %d: %s\n", a.status, a.body.p ? a.body.p : "");
        answer_release(&a);
    }
}

static void
lost_paths(void)
{
    struct answer a;

    ask(port, "/v1/embeddings", "{\"input\": \"a\"}", &a);
    ok(a.status == 404 &&
            strstr(text_of(a.json, "error.message"), "/v1/embeddings") != NULL,
        "embeddings are refused with words");
    answer_release(&a);
    ask(port, "/v1/responses", "{\"input\": \"a\"}", &a);
    ok(a.status == 404 &&
            strstr(text_of(a.json, "error.message"), "/v1/responses") != NULL,
        "responses are refused with words");
    answer_release(&a);
}

int
main(void)
{
    static const char *const args[] = { NULL };
    struct server s;

    tap_scratch();
    server_start(&s, args);
    port = s.port;
    documents();
    free_requests();
    refusals();
    lost_paths();
    ok(server_end(&s, SIGTERM) == 0, "the server ends with status 0");
    {
        static const char *const chat[] = { "-m", "tests/golden/gguf/chat.gguf",
            NULL };

        server_start(&s, chat);
        port = s.port;
        chats();
        ok(server_end(&s, SIGTERM) == 0, "so does that of chats");
    }
    return done_testing();
}
