/* Encoding requests; see task_ids.h. */
#include "task_ids.h"
#include "base/mem.h"
#include "cli/die.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Length of s without trailing white space. */
static size_t
stripped(const char *s)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + strlen(s);

    while (end > p) {
        const unsigned char *c = uni_before(end, p);
        size_t len;

        if (!uni_python_space(utf8_next(c, end, &len)))
            break;
        end = c;
    }
    return (size_t)(end - p);
}

/* Encode a continuation without context.  The tokenizer's prefix token, if it
 * has one, comes first, unless the continuation begins with it.  Returns 1, the
 * index of the first token that is scored. */
static size_t
without_context(struct lmeval *s, const char *next, struct tok_ids *out)
{
    const int64_t prefix = tok_prefix(s->tok);

    if (prefix >= 0)
        tok_ids_push(out, (uint32_t)prefix);
    tok_encode(s->tok, s->scratch, next, strlen(next), TOK_SPECIAL, out);
    if (out->n > 1 && prefix >= 0 && out->v[1] == (uint32_t)prefix)
        memmove(out->v, out->v + 1, --out->n * sizeof(*out->v));
    return 1;
}

/* Append the tokens of a context and its continuation, encoded together.
 * Returns k, the number of tokens of the context encoded alone: tokens from
 * index k on are the continuation's.  White space at the context's end belongs
 * to the continuation. */
static size_t
behind_context(struct lmeval *s, const char *context, const char *next,
    struct tok_ids *out)
{
    struct tok_ids whole = { 0 };
    char *both = xasprintf("%s%s", context, next);
    size_t from;

    lmeval_encode(s, context, stripped(context), out);
    lmeval_encode(s, both, strlen(both), &whole);
    from = out->n;
    for (size_t i = from; i < whole.n; i++)
        tok_ids_push(out, whole.v[i]);
    tok_ids_release(&whole);
    free(both);
    return from;
}

void
request_ids(struct lmeval *s, const struct task *t, size_t item, size_t request,
    struct task_ids *r)
{
    const struct task_item *it = &t->item[item];
    const char *context = it->context[request], *next = it->next[request];
    struct tok_ids out = { 0 };
    const size_t from = *context == '\0'
        ? without_context(s, next, &out)
        : behind_context(s, context, next, &out);
    size_t cut;
    struct err e;

    if (tok_fits(&out, s->V, &e) < 0)
        die(EX_INPUT, "%s: line %zu: choice %zu: %s", t->path, it->line,
            request, e.msg);
    if (from == 0 || from >= out.n)
        die(EX_INPUT, "%s: line %zu: choice %zu: the %s has no token in %s",
            t->path, it->line, request, from == 0 ? "context" : "continuation",
            s->label);
    if (out.n - from > s->most)
        die(EX_INPUT,
            "%s: line %zu: a continuation of %zu tokens, %s takes %zu", t->path,
            it->line, out.n - from, s->label, s->most);
    cut = out.n > s->most + 1 ? out.n - (s->most + 1) : 0;
    memmove(out.v, out.v + cut, (out.n - cut) * sizeof(*out.v));
    *r = (struct task_ids){ out.v, out.n - cut, from - cut };
}
