/* serve: fields, answers, streams, scores of prompts, chats, metrics. */
#include "client.h"
#include "../lib/golden.h"

#include <math.h>

static int port;

#define CHAT                                                            \
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], "      \
    "\"max_completion_tokens\": 8, \"seed\": 2, \"ignore_eos\": true, " \
    "\"logprobs\": true, \"top_logprobs\": 2, " NO_NUL

/* Send a request; returns the text of the answer's first choice, which the
 * caller frees. */
static char *
text_alone(const char *body)
{
    struct answer a;
    char *text;

    ask(port, "/v1/completions", body, &a);
    text = xstrdup(text_of(a.json, "choices.0.text"));
    answer_release(&a);
    return text;
}

static void
completion_object(void)
{
    struct answer a;

    ask(port, "/v1/completions",
        "{\"model\": \"f32-hf\", \"prompt\": \"The river\", \"max_tokens\": 7, "
        "\"temperature\": 0, \"unknown\": null, \"user\": \"me\", "
        "\"suffix\": \"\", \"response_format\": {\"type\": \"text\"}, "
        "\"logit_bias\": {}, \"n\": 1}",
        &a);
    ok(a.status == 200 && a.whole && a.json,
        "a completion with members that ask for nothing is answered");
    ok(strncmp(text_of(a.json, "id"), "cmpl-", 5) == 0 &&
            strcmp(text_of(a.json, "object"), "text_completion") == 0 &&
            number_of(a.json, "created") > 1700000000 &&
            strcmp(text_of(a.json, "model"), "f32-hf") == 0,
        "a completion has OpenAI's members");
    ok(number_of(a.json, "choices.0.index") == 0 &&
            strcmp(text_of(a.json, "choices.0.finish_reason"), "length") == 0 &&
            json_is_null(member(a.json, "choices.0.logprobs")),
        "a choice has an index, a reason and no log probabilities");
    ok(number_of(a.json, "usage.prompt_tokens") == 6 &&
            number_of(a.json, "usage.completion_tokens") == 7 &&
            number_of(a.json, "usage.total_tokens") == 13,
        "the usage counts the tokens of prompt and text");
    ok(strcmp(header_of(&a, "Content-Type"), "application/json") == 0,
        "a completion is of type application/json");
    answer_release(&a);
}

/* A prompt in each form that OpenAI allows. */
static void
prompt_forms(void)
{
    static const char *const forms[] = { "\"The river\"", "[\"The river\"]",
        "[54,263,272,75,88,266]", "[[54,263,272,75,88,266]]" };
    char body[300], *want = NULL;

    for (size_t i = 0; i < 4; i++) {
        char *text;

        snprintf(body, sizeof body,
            "{\"prompt\": %s, \"max_tokens\": 9, \"temperature\": 0.9, "
            "\"seed\": 5, " NO_NUL "}",
            forms[i]);
        text = text_alone(body);
        if (!want)
            want = xstrdup(text);
        ok(strlen(text) > 4 && strcmp(text, want) == 0,
            "the prompt %s has the text of the string", forms[i]);
        free(text);
    }
    free(want);
}

static void
several_texts(void)
{
    struct answer a;
    char *alone;
    int differ;

    ask(port, "/v1/completions",
        "{\"prompt\": [\"The river\", \"of and\"], \"n\": 3, "
        "\"max_tokens\": 12, \"seed\": 9, \"ignore_eos\": true, " NO_NUL "}",
        &a);
    ok(json_array_size(member(a.json, "choices")) == 6,
        "two prompts with n = 3 have six choices");
    for (size_t i = 0; i < 6; i++) {
        char path[40];

        snprintf(path, sizeof path, "choices.%zu.index", i);
        ok(number_of(a.json, path) == (long long)i,
            "choice %zu stands at its index", i);
    }
    ok(number_of(a.json, "usage.completion_tokens") == 72,
        "the usage counts the tokens of all choices");
    differ = strcmp(text_of(a.json, "choices.0.text"),
                 text_of(a.json, "choices.1.text")) != 0 &&
        strcmp(text_of(a.json, "choices.1.text"),
            text_of(a.json, "choices.2.text")) != 0;
    ok(differ, "the texts of one prompt and seed differ");
    alone = text_alone("{\"prompt\": \"of and\", \"max_tokens\": 12, "
                       "\"seed\": 9, \"ignore_eos\": true, " NO_NUL "}");
    ok(strcmp(alone, text_of(a.json, "choices.3.text")) == 0,
        "a text is the same beside others and alone");
    free(alone);
    answer_release(&a);
}

/* Collect the texts of a stream's choices; returns whether all events are as
 * they should be. */
static int
collect_stream(const struct answer *a, struct buf *text, size_t choices,
    size_t *usages, int *done)
{
    json_t *list = events_of(a, done);
    const char *id = text_of(json_array_get(list, 0), "id");
    size_t ends[8] = { 0 }, good = 1;

    *usages = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        const long long c = number_of(e, "choices.0.index");
        const char *t = json_string_value(member(e, "choices.0.text"));

        good &= strcmp(id, text_of(e, "id")) == 0;
        if (json_array_size(member(e, "choices")) == 0) {
            *usages += json_is_object(member(e, "usage"));
            good &= i + 1 == json_array_size(list);
            continue;
        }
        if (c < 0 || c >= (long long)choices)
            good = 0;
        else if (json_is_string(member(e, "choices.0.finish_reason")))
            good &= ends[c]++ == 0;
        if (good && t)
            buf_adds(&text[c], t);
    }
    for (size_t c = 0; c < choices; c++)
        good &= ends[c] == 1;
    json_decref(list);
    return (int)good;
}

static void
streams(void)
{
    struct buf text[4] = { { 0 } };
    struct answer a, whole;
    size_t usages, same = 0;
    int done, good;

    ask(port, "/v1/completions",
        "{\"prompt\": [\"The river\", \"of and\"], \"n\": 2, \"seed\": 3, "
        "\"max_tokens\": 40, " NO_NUL "}",
        &whole);
    ask(port, "/v1/completions",
        "{\"prompt\": [\"The river\", \"of and\"], \"n\": 2, \"seed\": 3, "
        "\"max_tokens\": 40, \"stream\": true, " NO_NUL ", "
        "\"stream_options\": {\"include_usage\": true}}",
        &a);
    good = collect_stream(&a, text, 4, &usages, &done);
    ok(a.status == 200 && a.whole && good && done,
        "a stream has each text's end once, and [DONE] after all");
    ok(usages == 1, "the usage comes once, after all texts");
    ok(a.chunks > 40 && a.broken == 0, "each chunk is a whole event");
    ok(strncmp(header_of(&a, "Content-Type"), "text/event-stream", 17) == 0,
        "a stream is of type text/event-stream");
    for (size_t i = 0; i < 4; i++) {
        char path[40];

        snprintf(path, sizeof path, "choices.%zu.text", i);
        same += text[i].p && strcmp(text[i].p, text_of(whole.json, path)) == 0;
        buf_release(&text[i]);
    }
    ok(same == 4, "the pieces of a stream are the text that comes whole");
    answer_release(&a);
    answer_release(&whole);
}

/* A client of HTTP/1.0 gets no chunks. */
static void
old_protocol(void)
{
    static const char *const body = "{\"prompt\": \"The\", \"max_tokens\": 3, "
                                    "\"stream\": true}";
    const int fd = dial(port);
    struct answer a;
    char line[300];

    snprintf(line, sizeof line,
        "POST /v1/completions HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s",
        strlen(body), body);
    put_all(fd, line, strlen(line));
    get_answer(fd, &a);
    close(fd);
    ok(a.status == 200 && !header_of(&a, "Transfer-Encoding") && a.whole &&
            strncmp(a.body.p, "data: {", 7) == 0 &&
            strcmp(a.body.p + a.body.n - 14, "data: [DONE]\n\n") == 0,
        "a stream for HTTP/1.0 is not cut into chunks");
    answer_release(&a);
}

static void
stops(void)
{
    char *text = text_alone("{\"prompt\": \"The river\", \"max_tokens\": 60, "
                            "\"temperature\": 1.3, \"seed\": 4, " NO_NUL "}");
    struct answer a;
    json_t *body = json_pack("{s:s, s:i, s:f, s:i, s:{s:i}, s:[s]}", "prompt",
        "The river", "max_tokens", 60, "temperature", 1.3, "seed", 4,
        "logit_bias", "191", -100, "stop", "zzz");
    char stop[4] = "", *dump, *at = NULL;

    /* three characters of the text, all in ASCII */
    for (char *p = text + strlen(text) / 2; *p && !at; p++)
        if (p[0] > 0 && p[1] > 0 && p[2] > 0)
            at = p;
    ok(at, "the text has three ASCII characters to stop at");
    if (at)
        memcpy(stop, at, 3);
    json_array_append_new(json_object_get(body, "stop"), json_string(stop));
    dump = json_dumps(body, 0);
    ask(port, "/v1/completions", dump, &a);
    if (strstr(text, stop))
        *strstr(text, stop) = '\0';
    ok(strcmp(text_of(a.json, "choices.0.finish_reason"), "stop") == 0 &&
            strcmp(text_of(a.json, "choices.0.text"), text) == 0,
        "a text ends before its stop string");
    answer_release(&a);
    free(dump);
    free(text);
    json_decref(body);
}

/* --- scores --- */

/* Logits of transformers for 8 positions of 48 ids: the answer's entry for the
 * token after a position must be their log softmax. */
static void
scores_of_prompts(void)
{
    struct golden g;
    float *z, *lse;
    int32_t at[8];
    uint16_t ids[48];
    struct buf body = { 0 };
    struct answer a;
    size_t good = 0, best = 0, first = 0;

    golden_open(&g, "tests/golden/gguf/logits.safetensors");
    z = golden_floats(&g, "f32.logits");
    lse = golden_floats(&g, "f32.lse");
    memcpy(at, golden_get(&g, "positions")->data, sizeof at);
    memcpy(ids, golden_get(&g, "ids")->data, sizeof ids);
    buf_adds(&body, "{\"prompt\": [[");
    for (size_t i = 0; i < 48; i++)
        buf_addf(&body, "%s%u", i ? "," : "", (unsigned)ids[i]);
    buf_adds(&body,
        "], [54,263]], \"echo\": true, \"logprobs\": 1, "
        "\"max_tokens\": 1, \"temperature\": 0, \"seed\": 1234, "
        "\"return_tokens_as_token_ids\": true}");
    ask(port, "/v1/completions", body.p, &a);
    for (size_t i = 0; i + 1 < 8; i++) {
        const unsigned next = ids[at[i] + 1];
        const float *row = z + 300 * i;
        unsigned top = 0;
        char path[80], name[40];
        double got;

        for (unsigned v = 1; v < 300; v++)
            top = row[v] > row[top] ? v : top;
        snprintf(path, sizeof path, "choices.0.logprobs.token_logprobs.%d",
            at[i] + 1);
        got = json_number_value(member(a.json, path));
        good += near(got, (double)row[next] - lse[at[i]], 3e-5, 0);
        snprintf(path, sizeof path, "choices.0.logprobs.top_logprobs.%d",
            at[i] + 1);
        snprintf(name, sizeof name, "token_id:%u", top);
        best +=
            near(json_number_value(json_object_get(member(a.json, path), name)),
                (double)row[top] - lse[at[i]], 3e-5, 0);
        snprintf(name, sizeof name, "token_id:%u", next);
        first += json_number_value(
                     json_object_get(member(a.json, path), name)) == got;
    }
    ok(good == 7, "a prompt's tokens have the scores that transformers gives");
    ok(best == 7, "the most probable tokens have transformers' scores");
    ok(first == 7, "a prompt's own token is among the top with equal digits");
    ok(json_array_size(member(a.json, "choices.0.logprobs.tokens")) == 49 &&
            json_array_size(
                member(a.json, "choices.0.logprobs.token_logprobs")) == 49 &&
            json_array_size(
                member(a.json, "choices.1.logprobs.top_logprobs")) == 3 &&
            json_is_null(member(a.json, "choices.0.logprobs.top_logprobs.0")) &&
            json_is_null(member(a.json, "choices.0.logprobs.token_logprobs.0")),
        "an echo has prompt_tokens + 1 entries, the first null");
    answer_release(&a);
    buf_release(&body);
    free(z);
    free(lse);
    golden_close(&g);
}

/* EOS as the next token must not take the last entry away. */
static void
scores_before_eos(void)
{
    struct answer a;

    ask(port, "/v1/completions",
        "{\"prompt\": [54,263,272], \"echo\": true, \"logprobs\": 0, "
        "\"max_tokens\": 1, \"logit_bias\": {\"2\": 100}, "
        "\"return_tokens_as_token_ids\": true}",
        &a);
    ok(a.status == 200 &&
            json_array_size(member(a.json, "choices.0.logprobs.tokens")) == 4,
        "an echo has its last entry if the next token is EOS");
    answer_release(&a);
    ask(port, "/v1/completions",
        "{\"prompt\": [54,263,272], \"echo\": true, \"logprobs\": 2, "
        "\"max_tokens\": 0, \"return_tokens_as_token_ids\": true}",
        &a);
    ok(a.status == 200 &&
            json_array_size(member(a.json, "choices.0.logprobs.tokens")) == 3 &&
            strcmp(text_of(a.json, "choices.0.text"), "The r") == 0,
        "max_tokens 0 echoes and scores the prompt alone");
    answer_release(&a);
}

/* Many tokens of the model are shown as U+FFFD: top_logprobs has room for one
 * of that name, the most probable. */
static void
names_that_collide(void)
{
    static const char *const name = "\"\xef\xbf\xbd\":";
    struct answer a;
    size_t objects = 0, twice = 0;
    const char *p;

    ask(port, "/v1/completions",
        "{\"prompt\": \"The river\", \"logprobs\": 20, \"seed\": 1, "
        "\"max_tokens\": 20}",
        &a);
    p = strstr(a.body.p, "\"top_logprobs\":[{");
    for (const char *end; p && (p = strchr(p + 1, '{')); p = end) {
        const char *first = strstr(p, name);

        end = strchr(p, '}');
        objects += first && first < end;
        twice += first && first < end && strstr(first + 1, name) &&
            strstr(first + 1, name) < end;
        if (end[1] == ']')
            break;
    }
    ok(objects > 5 && twice == 0,
        "a name that several tokens have is once among the top");
    answer_release(&a);
}

/* The character number n of a text, which may be its end; NULL: there is
 * none. */
static const char *
character_at(const char *p, long long n)
{
    while (n > 0 && *p != '\0') {
        do
            p++;
        while ((*p & 0xc0) == 0x80);
        n--;
    }
    return n == 0 ? p : NULL;
}

static void
offsets_of_tokens(void)
{
    struct answer a;
    const json_t *tokens, *offsets;
    long long before = 0;
    size_t good = 0, n;

    ask(port, "/v1/completions",
        "{\"prompt\": \"The river\", \"echo\": true, \"logprobs\": 0, "
        "\"max_tokens\": 60, \"ignore_eos\": true, " NO_NUL ", "
        " \"seed\": 1, \"stop\": \"never\"}",
        &a);
    tokens = member(a.json, "choices.0.logprobs.tokens");
    offsets = member(a.json, "choices.0.logprobs.text_offset");
    n = json_array_size(tokens);
    for (size_t i = 0; i < n; i++) {
        const char *name = json_string_value(json_array_get(tokens, i));
        const long long at = json_integer_value(json_array_get(offsets, i));
        const char *p = character_at(text_of(a.json, "choices.0.text"), at);

        /* half characters and special tokens are not in the text as named */
        good += at >= before && p &&
            ((name[0] & 0x80) || name[0] == '<' ||
                strncmp(p, name, strlen(name)) == 0);
        before = at;
    }
    ok(n == 66 && good == n, "offsets say where tokens are in the text");
    answer_release(&a);
}

/* Tokens of a byte: characters of 4 and 2 bytes, and halves of them. */
static void
offsets_of_halves(void)
{
    static const struct {
        const char *text;
        size_t cut; /* leave out this id */
        const char *offsets;
    } cases[] = { { "Q\\ud83d\\ude00\\u00e9Z", 99, "[0,1,1,1,1,2,2,3]" },
        { "\\ud83d\\ude00Z", 3, "[0,0,0,1]" },
        { "\\u00e9\\u00e9", 1, "[0,1,1]" } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[300], *ids, *got;
        struct answer a;

        snprintf(body, sizeof body, "{\"prompt\": \"%s\"}", cases[i].text);
        ask(port, "/tokenize", body, &a);
        json_array_remove(json_object_get(a.json, "tokens"), cases[i].cut);
        ids = json_dumps(json_object_get(a.json, "tokens"), JSON_COMPACT);
        answer_release(&a);
        snprintf(body, sizeof body,
            "{\"prompt\": %s, \"echo\": true, \"logprobs\": 0, "
            "\"max_tokens\": 0}",
            ids);
        ask(port, "/v1/completions", body, &a);
        got = json_dumps(member(a.json, "choices.0.logprobs.text_offset"),
            JSON_COMPACT);
        if (!ok(got && strcmp(got, cases[i].offsets) == 0,
                "offsets of the bytes of %s without id %zu count characters",
                cases[i].text, cases[i].cut))
            printf("# %s\n", a.body.p);
        free(got);
        free(ids);
        answer_release(&a);
    }
}

/* --- other paths --- */

static void
other_paths(void)
{
    struct answer a;

    ask(port, "/health", NULL, &a);
    ok(a.status == 200 && strcmp(text_of(a.json, "status"), "ok") == 0,
        "/health says that the server is well");
    answer_release(&a);
    ask(port, "/v1/models", NULL, &a);
    ok(strcmp(text_of(a.json, "object"), "list") == 0 &&
            strcmp(text_of(a.json, "data.0.id"), "f32-hf") == 0 &&
            number_of(a.json, "data.0.max_model_len") == 128 &&
            number_of(a.json, "data.0.meta.n_vocab") == 300,
        "/v1/models lists the model");
    answer_release(&a);
    ask(port, "/v1/models/f32-hf", NULL, &a);
    ok(strcmp(text_of(a.json, "id"), "f32-hf") == 0,
        "/v1/models/NAME describes the model");
    answer_release(&a);
    ask(port, "/v1/models/other", NULL, &a);
    ok(a.status == 404, "/v1/models/NAME of another model answers 404");
    answer_release(&a);
    ask(port, "/tokenize",
        "{\"prompt\": \"The river\", \"return_token_strs\": true}", &a);
    ok(number_of(a.json, "count") == 6 &&
            number_of(a.json, "tokens.2") == 272 &&
            strcmp(text_of(a.json, "token_strs.2"), " r") == 0,
        "/tokenize gives ids and their texts");
    answer_release(&a);
    ask(port, "/tokenizer_info", NULL, &a);
    ok(strcmp(text_of(a.json, "eos_token"), "<|im_end|>") == 0,
        "/tokenizer_info names EOS");
    answer_release(&a);
    ask(port, "/detokenize", "{\"tokens\": [54,263,272,75,88,266]}", &a);
    ok(strcmp(text_of(a.json, "prompt"), "The river") == 0,
        "/detokenize gives the text back");
    answer_release(&a);
}

static void
numbers_of_metrics(void)
{
    const double texts = metric_of(port,
        "vllm:request_success_total{"
        "model_name=\"f32-hf\",engine=\"0\",finished_reason=\"length\"");
    const double tokens = metric_of(port, "vllm:generation_tokens_total");
    struct answer a;

    ask(port, "/v1/completions",
        "{\"prompt\": \"The\", \"n\": 2, "
        "\"max_tokens\": 5, \"ignore_eos\": true}",
        &a);
    answer_release(&a);
    ok(metric_of(port,
           "vllm:request_success_total{model_name=\"f32-hf\","
           "engine=\"0\",finished_reason=\"length\"") == texts + 2,
        "/metrics counts texts by their ends");
    ok(comes_to(port, "vllm:generation_tokens_total", tokens + 10, tokens + 10),
        "/metrics counts tokens");
    ok(comes_to(port, "vllm:num_requests_running", 0, 0) &&
            metric_of(port, "vllm:time_to_first_token_seconds_count") > 20 &&
            metric_of(port, "vllm:e2e_request_latency_seconds_sum") > 0,
        "/metrics has gauges and histograms under vLLM's names");
    ask(port, "/metrics", NULL, &a);
    ok(strncmp(header_of(&a, "Content-Type"), "text/plain; version=0.0.4",
           25) == 0,
        "/metrics is of the type that Prometheus reads");
    answer_release(&a);
}

/* A model with ChatML's template: the prompt that the template makes, sent to
 * completions, gets the text that the chat gets. */
static void
chats(void)
{
    static const char *const args[] = { "-m", "tests/golden/gguf/chat.gguf",
        NULL };
    struct server s;
    struct answer a, b;
    struct buf text = { 0 }, body = { 0 };
    json_t *events, *tokens;
    char *dump;
    int done;

    server_start(&s, args);
    ask(s.port, "/v1/chat/completions", CHAT "}", &a);
    ok(a.status == 200 &&
            strcmp(text_of(a.json, "object"), "chat.completion") == 0 &&
            strncmp(text_of(a.json, "id"), "chatcmpl-", 9) == 0 &&
            strcmp(text_of(a.json, "choices.0.message.role"), "assistant") ==
                0 &&
            strcmp(text_of(a.json, "choices.0.finish_reason"), "length") == 0,
        "a chat's answer has OpenAI's members");
    ok(json_array_size(member(a.json, "choices.0.logprobs.content")) == 8 &&
            json_array_size(member(a.json,
                "choices.0.logprobs.content.3.top_logprobs")) == 2 &&
            json_is_array(
                member(a.json, "choices.0.logprobs.content.3.bytes")) &&
            json_number_value(
                member(a.json, "choices.0.logprobs.content.3.logprob")) < 0,
        "a chat's log probabilities have tokens, bytes and the top");
    ask(s.port, "/v1/chat/completions", CHAT ", \"stream\": true}", &b);
    events = events_of(&b, &done);
    ok(done && b.broken == 0 &&
            strcmp(text_of(events, "0.object"), "chat.completion.chunk") == 0 &&
            strcmp(text_of(events, "0.choices.0.delta.role"), "assistant") == 0,
        "a chat's stream begins with the role");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *piece =
            member(json_array_get(events, i), "choices.0.delta.content");

        buf_adds(&text, piece ? json_string_value(piece) : "");
    }
    ok(text.n > 0 &&
            strcmp(text.p, text_of(a.json, "choices.0.message.content")) == 0,
        "the pieces of a chat are the answer that comes whole");
    answer_release(&b);
    ask(s.port, "/tokenize", CHAT "}", &b);
    tokens = json_object_get(b.json, "tokens");
    ok(number_of(b.json, "count") == number_of(a.json, "usage.prompt_tokens"),
        "/tokenize gives the ids of a chat's prompt");
    dump = json_dumps(tokens, JSON_COMPACT);
    buf_addf(&body,
        "{\"prompt\": %s, \"max_tokens\": 8, \"seed\": 2, "
        "\"ignore_eos\": true, " NO_NUL "}",
        dump);
    answer_release(&b);
    ask(s.port, "/v1/completions", body.p, &b);
    ok(strcmp(text_of(b.json, "choices.0.text"), text.p) == 0,
        "a chat's text is that of the prompt which the template makes");
    answer_release(&a);
    answer_release(&b);
    ask(s.port, "/v1/chat/completions",
        "{\"messages\": [{\"content\": \"Hi\"}]}", &a);
    ok(a.status == 400 &&
            strcmp(text_of(a.json, "error.param"), "messages") == 0,
        "a message without a role answers 400");
    answer_release(&a);
    ask(s.port, "/v1/chat/completions",
        CHAT ", \"tools\": [{\"type\": \"function\"}]}", &a);
    ok(a.status == 400 && strcmp(text_of(a.json, "error.param"), "tools") == 0,
        "tools are refused by name");
    answer_release(&a);
    free(dump);
    json_decref(events);
    buf_release(&text);
    buf_release(&body);
    ok(server_end(&s, SIGTERM) == 0, "a server of chats ends with status 0");
}

int
main(void)
{
    static const char *const args[] = { NULL };
    struct server s;

    tap_scratch();
    server_start(&s, args);
    port = s.port;
    completion_object();
    prompt_forms();
    several_texts();
    streams();
    old_protocol();
    stops();
    scores_of_prompts();
    scores_before_eos();
    names_that_collide();
    offsets_of_tokens();
    offsets_of_halves();
    other_paths();
    numbers_of_metrics();
    ok(server_end(&s, SIGTERM) == 0, "SIGTERM ends the server with status 0");
    chats();
    return done_testing();
}
