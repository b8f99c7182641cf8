/* Prompts; see prompt.h. */
#include "gen/prompt.h"
#include "format/json.h"

#include <string.h>

void
prompt_begin(struct prompt_reader *p)
{
    p->scratch = tok_scratch_new(p->tok);
    p->chat = NULL;
}

void
prompt_release(struct prompt_reader *p)
{
    tok_scratch_free(p->scratch);
    chat_free(p->chat);
}

/* bos: TOK_BOS, or 0. */
static int
encode_prompt(const struct prompt_reader *p, const char *text, size_t n,
    int bos, struct tok_ids *ids, struct err *e)
{
    tok_encode(p->tok, p->scratch, text, n, TOK_SPECIAL | bos, ids);
    if (ids->n == 0 && n == 0 && tok_prefix(p->tok) >= 0)
        tok_ids_push(ids, (uint32_t)tok_prefix(p->tok));
    if (ids->n == 0)
        return err_set(e, EX_INPUT,
            "the prompt has no tokens, and the tokenizer no BOS or EOS: give "
            "another prompt");
    return tok_fits(ids, p->V, e) < 0 ? err_prefix(e, "the prompt") : 0;
}

int
prompt_text(const struct prompt_reader *p, const char *text, size_t n,
    struct tok_ids *ids, struct err *e)
{
    return encode_prompt(p, text, n, TOK_BOS, ids, e);
}

/* Append the ids of messages, as the chat template prints them. */
static int
read_messages(struct prompt_reader *p, json_t *record, struct tok_ids *ids,
    struct err *e)
{
    struct chat_options o = { .prompt = 1, .now = p->date };
    struct jinja_out out = { 0 };
    json_t *parsed;
    int r;

    if (p->chat == NULL &&
        (p->chat = chat_open(p->model, p->template, e)) == NULL)
        return -1;
    r = chat_record_options(record, &o, &parsed, e);
    if (r == 0)
        r = chat_render(p->chat, json_object_get(record, "messages"), &o, &out,
            e);
    if (r == 0)
        r = encode_prompt(p, out.text.p, out.text.n, 0, ids, e);
    if (r == 0)
        json_object_set_new(record, "prompt",
            json_stringn(out.text.p, out.text.n));
    json_decref(parsed);
    jinja_out_release(&out);
    return r;
}

int
prompt_record(struct prompt_reader *p, json_t *record, struct tok_ids *ids,
    struct err *e)
{
    const char *text;
    int r;

    if (js_get(record, "messages") != NULL)
        return read_messages(p, record, ids, e);
    if ((r = js_str(record, p->field, &text, e)) < 0)
        return -1;
    if (r == 0)
        return err_set(e, EX_INPUT, "has no member %s", p->field);
    r = prompt_text(p, text, strlen(text), ids, e);
    if (r == 0 && strcmp(p->field, "prompt") != 0)
        json_object_set_new(record, "prompt", json_string(text));
    return r;
}
