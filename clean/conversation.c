/* Conversations; see conversation.h. */
#include "conversation.h"

#include "format/json.h"
#include "gen/dialogue.h"

#include <stdlib.h>
#include <string.h>

static void
keep_message(struct conversation *c, const json_t *message)
{
    const char *role = js_text_of(message, "role");
    const json_t *content = json_object_get(message, "content");
    const size_t n = json_string_length(content);
    struct conversation_part *p;

    if (strcmp(role, "system") == 0 || strcmp(role, "developer") == 0 || n == 0)
        return;
    if (c->n > 0)
        buf_adds(&c->text, "\n\n");
    c->part = xgrow(c->part, c->n, &c->cap, sizeof *c->part);
    p = &c->part[c->n++];
    p->from = c->text.n;
    buf_add(&c->text, json_string_value(content), n);
    p->to = c->text.n;
    p->asks = strcmp(role, "user") == 0;
}

int
conversation_read(struct conversation *c, const char *record, size_t n,
    struct err *e)
{
    json_t *j = js_parse(record, n, e);
    json_t *turns = j != NULL ? dialogue_turns(j, e) : NULL;
    const json_t *message;
    size_t i;

    buf_clear(&c->text);
    buf_reserve(&c->text, 1);
    c->text.p[0] = '\0';
    c->n = 0;
    c->has_source = json_object_get(j, "source") != NULL;
    json_array_foreach(turns, i, message) keep_message(c, message);
    json_decref(j);
    json_decref(turns);
    return turns != NULL ? 0 : -1;
}

void
conversation_release(struct conversation *c)
{
    buf_release(&c->text);
    free(c->part);
}
