/* Chat templates of models; see chat.h. */
#include "gen/chat.h"

#include "base/io.h"
#include "format/ckpt.h"
#include "format/json.h"
#include "gen/chat_training.h"
#include "gen/dialogue.h"
#include "model/files/tokfile.h"

#include <stdlib.h>
#include <string.h>

#define TEMPLATE_MAX ((size_t)1 << 20) /* most bytes of a template's file */

struct chat {
    struct jinja *plain, *tools; /* tools: for messages with tools; NULL:
                                  * `plain` serves for them too */
    char *text;                  /* the text of `plain` */
    json_t *special;             /* texts of special tokens, by names such as
                                  * bos_token */
    int takes_parts;             /* 1: the template prints lists of parts */
    int takes_thinking;          /* 1: and prints parts of type "thinking" */
};

/* The special tokens' texts in a tokenizer_config.json. */
static json_t *
special_tokens(const json_t *config)
{
    static const char *const name[] = { "bos_token", "eos_token", "unk_token",
        "sep_token", "pad_token", "cls_token", "mask_token" };
    json_t *special = json_object();

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        const json_t *v = json_object_get(config, name[i]);

        if (json_is_object(v))
            v = json_object_get(v, "content");
        if (json_is_string(v))
            json_object_set(special, name[i], (json_t *)(uintptr_t)v);
    }
    return special;
}

/* The template `name` in member chat_template of a tokenizer_config.json; a
 * template without a name is "default".  NULL: there is none. */
static const json_t *
named_template(const json_t *config, const char *name)
{
    const json_t *chat = json_object_get(config, "chat_template");

    if (json_is_string(chat))
        return strcmp(name, "default") == 0 ? chat : NULL;
    for (size_t i = 0; i < json_array_size(chat); i++) {
        const json_t *one = json_array_get(chat, i);

        if (strcmp(js_text_of(one, "name"), name) == 0)
            return json_object_get(one, "template");
    }
    return NULL;
}

static struct jinja *
parse_named(const json_t *text, struct err *e)
{
    if (!json_is_string(text)) {
        err_set(e, EX_INPUT, "is no text");
        return NULL;
    }
    return jinja_parse(json_string_value(text), json_string_length(text), e);
}

static int
read_file_template(struct chat *c, const char *file, struct err *e)
{
    size_t n;

    if (io_slurp(file, TEMPLATE_MAX, &c->text, &n, e) < 0)
        return -1;
    if ((c->plain = jinja_parse(c->text, n, e)) == NULL)
        return err_prefix(e, "%s: chat template", file);
    return 0;
}

static int
read_model_template(struct chat *c, const char *model, const json_t *config,
    struct err *e)
{
    const json_t *plain = named_template(config, "default");
    const json_t *tools = named_template(config, "tool_use");

    if (plain == NULL)
        return err_set(e, EX_USAGE,
            "%s: has no chat template: take a model that was trained to chat, "
            "or give a template by --template",
            model);
    if ((c->plain = parse_named(plain, e)) == NULL ||
        (tools != NULL && (c->tools = parse_named(tools, e)) == NULL))
        return err_prefix(e, "%s: chat template", model);
    c->text = xstrdup(json_string_value(plain));
    return 0;
}

/* Is v there, and neither null, false, an empty text nor an empty list? */
static int
is_given(const json_t *v)
{
    return v != NULL && !json_is_null(v) && !json_is_false(v) &&
        !(json_is_string(v) && json_string_length(v) == 0) &&
        !(json_is_array(v) && json_array_size(v) == 0);
}

static int
is_name_byte(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
        (c >= 'a' && c <= 'z');
}

int
chat_reads(const struct chat *c, const char *name)
{
    const size_t n = strlen(name);

    for (const char *p = c->text; (p = strstr(p, name)) != NULL; p += n)
        if ((p == c->text || !is_name_byte(p[-1])) && !is_name_byte(p[n]))
            return 1;
    return 0;
}

/* Render `messages`, which this frees, after setting the last message's content
 * to one part of this type.  Returns 1 if the template prints the part's
 * text. */
static int
part_is_printed(const struct chat *c, const char *type, json_t *messages)
{
    static const char word[] = "retort-part";
    const size_t last = json_array_size(messages) - 1;
    const struct tm now = { .tm_mday = 1, .tm_year = 100 };
    const struct chat_options o = { .prompt = 1, .now = &now };
    struct jinja_out out;
    struct err e;
    int r;

    json_object_set_new(json_array_get(messages, last), "content",
        json_pack("[{s:s, s:s}]", "type", type, type, word));
    r = chat_render(c, messages, &o, &out, &e) == 0 &&
        strstr(out.text.p, word) != NULL;
    jinja_out_release(&out);
    json_decref(messages);
    return r;
}

static void
probe_parts(struct chat *c)
{
    c->takes_parts = c->takes_thinking = 1;
    c->takes_parts =
        part_is_printed(c, "text", json_pack("[{s:s}]", "role", "user"));
    c->takes_thinking = c->takes_parts &&
        part_is_printed(c, "thinking",
            json_pack("[{s:s, s:s}, {s:s}]", "role", "user", "content", "a",
                "role", "assistant"));
}

struct chat *
chat_open(const char *model, const char *file, struct err *e)
{
    json_t *config = tokenizer_config(model, e);
    struct chat *c;
    int r;

    if (config == NULL)
        return NULL;
    c = xcalloc(1, sizeof *c);
    c->special = special_tokens(config);
    r = file != NULL ? read_file_template(c, file, e)
                     : read_model_template(c, model, config, e);
    json_decref(config);
    if (r < 0) {
        chat_free(c);
        return NULL;
    }
    probe_parts(c);
    return c;
}

/* Append the JSON text of v, which this frees. */
static void
add_json(struct buf *b, json_t *v)
{
    char *text = json_dumps(v, JSON_SORT_KEYS | JSON_ENCODE_ANY);

    buf_adds(b, text);
    free(text);
    json_decref(v);
}

void
chat_hash(const char *model, const char *file, char hex[33])
{
    struct err e;
    json_t *config = tokenizer_config(model, &e);
    json_t *own = json_object_get(config, "chat_template");
    struct buf all = { 0 };
    char *text = NULL;
    size_t n;

    if (config != NULL && file == NULL && own != NULL)
        add_json(&all, json_incref(own));
    if (config != NULL && file != NULL &&
        io_slurp(file, TEMPLATE_MAX, &text, &n, &e) == 0)
        buf_add(&all, text, n);
    *hex = '\0';
    if (all.n > 0) {
        add_json(&all, special_tokens(config));
        ckpt_hash_bytes(all.p, all.n, hex);
    }
    buf_release(&all);
    free(text);
    json_decref(config);
}

void
chat_free(struct chat *c)
{
    if (c == NULL)
        return;
    jinja_free(c->plain);
    jinja_free(c->tools);
    json_decref(c->special);
    free(c->text);
    free(c);
}

int
chat_for_training(struct chat *c, struct err *e)
{
    const char *text;
    struct jinja *t;

    if (jinja_marks(c->plain))
        return 0;
    if ((text = chat_training_variant(c->text)) == NULL)
        return err_set(e, EX_USAGE,
            "the chat template does not mark what the assistant says, and is "
            "none that is known: give one with {%% generation %%} by "
            "--template");
    if ((t = jinja_parse(text, strlen(text), e)) == NULL)
        return -1;
    jinja_free(c->plain);
    jinja_free(c->tools);
    c->plain = t;
    c->tools = NULL;
    return 0;
}

/* Check that a message or a part of it has no images, sounds or films, which a
 * model of text cannot take; a template may leave them out without an error. */
static int
check_media(const json_t *o, struct err *e)
{
    static const char *const media[] = { "audio", "image", "image_url",
        "images", "input_audio", "video", "video_url", "videos" };

    for (size_t i = 0; i < sizeof media / sizeof *media; i++)
        if (is_given(json_object_get(o, media[i])))
            return err_set(e, EX_INPUT, "has %s: the model takes text alone",
                media[i]);
    return 0;
}

/* Check that the template prints a part of a content: a template may drop parts
 * of other types without an error. */
static int
check_part(const struct chat *c, const json_t *part, struct err *e)
{
    const char *type = js_text_of(part, "type");
    const int thinks = c->takes_thinking && strcmp(type, "thinking") == 0;

    if (!json_is_object(part) || *type == '\0')
        return err_set(e, EX_INPUT,
            "is no {\"type\": \"text\", \"text\": ...}");
    if (!thinks && strcmp(type, "text") != 0)
        return err_set(e, EX_INPUT,
            "is of the type \"%.40s\": the model takes text alone", type);
    if (!json_is_string(json_object_get(part, type)))
        return err_set(e, EX_INPUT, "has no %s", type);
    return check_media(part, e);
}

/* Does a message of this role hold a tool's result, which may be any JSON? */
static int
role_is_tool(const char *role)
{
    return strcmp(role, "tool") == 0 || strcmp(role, "ipython") == 0 ||
        strcmp(role, "function") == 0;
}

/* Check that the model can read a message. */
static int
check_readable(const struct chat *c, const json_t *message, struct err *e)
{
    const json_t *content = json_object_get(message, "content");

    if (check_media(message, e) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(content); i++)
        if (check_part(c, json_array_get(content, i), e) < 0)
            return err_prefix(e, "content[%zu]", i);
    if (content != NULL && !json_is_string(content) &&
        !json_is_array(content) && !json_is_null(content) &&
        !role_is_tool(js_text_of(message, "role")))
        return err_set(e, EX_INPUT,
            "content is neither a text nor a list of parts");
    return 0;
}

/* Give a message's reasoning both names that templates read: reasoning_content
 * and thinking. */
static void
name_reasoning(json_t *message)
{
    static const char *const name[] = { "reasoning_content", "thinking",
        "reasoning" };
    json_t *v = NULL;

    for (size_t i = 0; i < 3 && v == NULL; i++)
        v = json_object_get(message, name[i]);
    if (v == NULL)
        return;
    json_object_set(message, name[0], v);
    if (json_object_get(message, name[1]) == NULL)
        json_object_set(message, name[1], v);
}

/* A copy of a message as templates get it: without null members, with reasoning
 * under both names, and with parts joined if the template takes texts only. */
static json_t *
plain_message(const struct chat *c, const json_t *message, struct err *e)
{
    const char *name;
    json_t *copy, *v;

    if (!json_is_object(message) ||
        !json_is_string(json_object_get(message, "role"))) {
        err_set(e, EX_INPUT, "is no object with a role");
        return NULL;
    }
    if (check_readable(c, message, e) < 0)
        return NULL;
    copy = json_object();
    json_object_foreach((json_t *)(uintptr_t)message, name,
        v) if (!json_is_null(v)) json_object_set(copy, name, v);
    name_reasoning(copy);
    v = json_object_get(copy, "content");
    if (json_is_array(v) && !c->takes_parts)
        json_object_set_new(copy, "content", dialogue_joined(v));
    return copy;
}

/* If the model is to continue a message, chat_render appends this mark and a
 * space to the message, and cuts the rendered text at the mark, as transformers
 * does.  If no space follows the mark, the template trims messages. */
#define END_MARK "CONTINUE_FINAL_MESSAGE_TAG"

/* The last part that is a text; NULL: there is none. */
static json_t *
last_text(const json_t *parts)
{
    for (size_t i = json_array_size(parts); i > 0; i--)
        if (json_is_string(
                json_object_get(json_array_get(parts, i - 1), "text")))
            return json_array_get(parts, i - 1);
    return NULL;
}

/* Put the mark behind the content of the last message, or behind the last text
 * of its parts. */
static int
mark_end(json_t *messages, struct err *e)
{
    const size_t last = json_array_size(messages) - 1;
    json_t *m = json_array_get(messages, last);
    json_t *content = json_deep_copy(json_object_get(m, "content"));
    json_t *holder = json_is_array(content) ? last_text(content) : m;
    const char *name = json_is_array(content) ? "text" : "content", *text;

    json_object_set_new(m, "content", content);
    if ((text = json_string_value(json_object_get(holder, name))) == NULL)
        return err_set(e, EX_INPUT,
            "messages[%zu]: has no text that could be continued", last);
    json_object_set_new(holder, name, json_sprintf("%s" END_MARK " ", text));
    return 0;
}

/* Cut the text at the last mark.  If the template has trimmed the space after
 * the mark, cut the white space before the mark too. */
static int
cut_at_mark(struct jinja_out *out, struct err *e)
{
    const size_t n = strlen(END_MARK);
    char *at = NULL;

    for (char *p = out->text.p; p != NULL && (p = strstr(p, END_MARK)); p += n)
        at = p;
    if (at == NULL)
        return err_set(e, EX_INPUT,
            "the template does not print the message to be continued");
    if (at[n] != ' ')
        while (at > out->text.p && strchr(" \t\n\v\f\r", at[-1]) != NULL)
            at--;
    *at = '\0';
    out->text.n = (size_t)(at - out->text.p);
    return 0;
}

static json_t *
plain_messages(const struct chat *c, const json_t *messages, struct err *e)
{
    json_t *all = json_array();

    if (json_array_size(messages) == 0) {
        err_set(e, EX_INPUT, "messages is no list, or an empty one");
        json_decref(all);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *m = plain_message(c, json_array_get(messages, i), e);

        if (m == NULL) {
            err_prefix(e, "messages[%zu]", i);
            json_decref(all);
            return NULL;
        }
        json_array_append_new(all, m);
    }
    return all;
}

int
chat_check_variables(const json_t *more, struct err *e)
{
    static const char *const own[] = { "messages", "tools", "chat_template",
        "add_generation_prompt", "continue_final_message" };

    if (more != NULL && !json_is_object(more) && !json_is_null(more))
        return err_set(e, EX_INPUT, "chat_template_kwargs: is no object");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (json_object_get(more, own[i]) != NULL &&
            !json_is_null(json_object_get(more, own[i])))
            return err_set(e, EX_INPUT,
                "chat_template_kwargs: has %s, which is no variable of its own",
                own[i]);
    return 0;
}

int
chat_record_options(const json_t *record, struct chat_options *o,
    json_t **parsed, struct err *e)
{
    const json_t *tools = json_object_get(record, "tools");
    const json_t *more = json_object_get(record, "chat_template_kwargs");

    *parsed = NULL;
    if (json_is_string(tools)) {
        *parsed =
            js_parse(json_string_value(tools), json_string_length(tools), e);
        if (*parsed == NULL)
            return err_prefix(e, "tools");
        tools = *parsed;
    }
    if (tools != NULL && !json_is_null(tools) && !json_is_array(tools))
        return err_set(e, EX_INPUT, "tools: is no list");
    if (chat_check_variables(more, e) < 0)
        return -1;
    o->tools = tools;
    o->more = json_is_null(more) ? NULL : more;
    return 0;
}

int
chat_render(const struct chat *c, const json_t *messages,
    const struct chat_options *o, struct jinja_out *out, struct err *e)
{
    const int tools = json_array_size(o->tools) > 0;
    json_t *v, *all = plain_messages(c, messages, e);
    int r;

    *out = (struct jinja_out){ 0 };
    if (all != NULL && o->unfinished && mark_end(all, e) < 0) {
        json_decref(all);
        all = NULL;
    }
    if (all == NULL)
        return -1;
    v = json_copy(c->special);
    if (o->more != NULL)
        json_object_update(v, (json_t *)(uintptr_t)o->more);
    json_object_set_new(v, "messages", all);
    if (tools)
        json_object_set(v, "tools", (json_t *)(uintptr_t)o->tools);
    else
        json_object_set_new(v, "tools", json_null());
    if (json_object_get(v, "documents") == NULL)
        json_object_set_new(v, "documents", json_null());
    json_object_set_new(v, "add_generation_prompt", json_boolean(o->prompt));
    r = jinja_render(tools && c->tools != NULL ? c->tools : c->plain, v, o->now,
        out, e);
    if (r == 0 && o->unfinished)
        r = cut_at_mark(out, e);
    if (r < 0)
        err_prefix(e, "chat template");
    json_decref(v);
    return r;
}
