/* Records of conversations; see dialogue.h. */
#include "gen/dialogue.h"

#include "format/json.h"

#include <string.h>

/* Is the last message the assistant's? */
static int
ends_answered(const json_t *messages)
{
    const size_t n = json_array_size(messages);

    return n > 0 &&
        strcmp(js_text_of(json_array_get(messages, n - 1), "role"),
            "assistant") == 0;
}

int
dialogue_answer(json_t *record)
{
    json_t *messages = json_object_get(record, "messages");
    json_t *text = json_object_get(record, "text");

    if (!json_is_string(text))
        return 0;
    if (messages != NULL) {
        if (!json_is_array(messages) || ends_answered(messages))
            return 0;
        json_array_append_new(messages,
            json_pack("{s:s, s:O}", "role", "assistant", "content", text));
        return 1;
    }
    if (!json_is_string(json_object_get(record, "prompt")) ||
        json_object_get(record, "completion") != NULL)
        return 0;
    json_object_set(record, "completion", text);
    return 1;
}

json_t *
dialogue_joined(const json_t *parts)
{
    struct buf b = { 0 };
    json_t *text;

    for (size_t i = 0; i < json_array_size(parts); i++) {
        if (i > 0)
            buf_addc(&b, '\n');
        buf_adds(&b, js_text_of(json_array_get(parts, i), "text"));
    }
    text = json_stringn(b.p != NULL ? b.p : "", b.n);
    buf_release(&b);
    return text;
}

/* The text of a content; NULL: it is neither a text nor a list of parts. */
static json_t *
content_text(json_t *content)
{
    if (json_is_string(content))
        return json_incref(content);
    if (content == NULL || json_is_null(content))
        return json_string("");
    return json_is_array(content) ? dialogue_joined(content) : NULL;
}

/* Append what a member of the record says: a list of messages, or a text of
 * `role`. */
static int
list_turns(json_t *turns, const char *member, json_t *said, const char *role,
    struct err *e)
{
    json_t *message;
    size_t i;

    if (json_is_string(said) && role != NULL) {
        json_array_append_new(turns,
            json_pack("{s:s, s:O}", "role", role, "content", said));
        return 0;
    }
    if (!json_is_array(said))
        return err_set(e, EX_INPUT, "%s is no list of messages%s", member,
            role != NULL ? " and no text" : "");
    json_array_foreach(said, i, message)
    {
        json_t *by = json_object_get(message, "role");
        json_t *text = content_text(json_object_get(message, "content"));

        if (!json_is_string(by) || text == NULL) {
            json_decref(text);
            return err_set(e, EX_INPUT,
                "%s[%zu] has no role, or a content that is neither a text nor "
                "a list of parts",
                member, i);
        }
        json_array_append_new(turns,
            json_pack("{s:O, s:o}", "role", by, "content", text));
    }
    return 0;
}

json_t *
dialogue_turns(json_t *record, struct err *e)
{
    json_t *turns = json_array(), *messages, *prompt, *completion;
    int r;

    dialogue_answer(record);
    messages = json_object_get(record, "messages");
    prompt = json_object_get(record, "prompt");
    completion = json_object_get(record, "completion");
    if (messages != NULL)
        r = list_turns(turns, "messages", messages, NULL, e);
    else if (prompt == NULL)
        r = err_set(e, EX_INPUT, "the record has no messages and no prompt");
    else
        r = list_turns(turns, "prompt", prompt, "user", e);
    if (r == 0 && messages == NULL && completion != NULL)
        r = list_turns(turns, "completion", completion, "assistant", e);
    if (r == 0)
        return turns;
    json_decref(turns);
    return NULL;
}
