/* The place of a user's words in a chat template; see turn.h. */
#include "turn.h"
#include "question.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Stands for the user's words.  Only letters, so that no template trims or
 * escapes it. */
static const char mark[] = "RetortUserWords";

int
turn_find(struct user_turn *t, const struct chat *c, const char *system,
    const struct tm *now, struct err *e)
{
    const struct chat_options o = { .prompt = 1, .now = now };
    json_t *messages = question_messages(system, mark, strlen(mark));
    struct jinja_out out;
    const char *at = NULL, *rest;
    int r;

    *t = (struct user_turn){ 0 };
    r = chat_render(c, messages, &o, &out, e);
    if (r == 0 && (at = strstr(out.text.p, mark)) == NULL)
        r = err_set(e, EX_INPUT,
            "chat template: does not print the words of a user");
    if (r == 0) {
        rest = at + strlen(mark);
        buf_add(&t->before, out.text.p, (size_t)(at - out.text.p));
        buf_adds(&t->after, rest);
        if (strstr(rest, mark) != NULL)
            r = err_set(e, EX_INPUT,
                "chat template: prints the words of a user more than once");
    }
    jinja_out_release(&out);
    json_decref(messages);
    return r;
}

void
turn_release(struct user_turn *t)
{
    buf_release(&t->before);
    buf_release(&t->after);
}

struct turn_end
turn_end(const struct user_turn *t, const struct tokenizer *tok,
    struct tok_scratch *scratch)
{
    const char *text = t->after.p + strspn(t->after.p, " \t\r\n");
    size_t n = strcspn(text, "\r\n");
    struct turn_end end = { .id = -1 };
    struct tok_ids ids = { 0 };

    while (n > 0 && text[n - 1] == ' ')
        n--;
    if (n == 0)
        return end;
    tok_encode(tok, scratch, text, n, TOK_SPECIAL, &ids);
    if (ids.n > 0 &&
        (tok_is_special(tok, ids.v[0]) || tok_is_end(tok, ids.v[0]))) {
        end.id = ids.v[0];
    } else {
        end.text = xcalloc(n + 1, 1);
        memcpy(end.text, text, n);
    }
    tok_ids_release(&ids);
    return end;
}
