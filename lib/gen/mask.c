/* The tokens that may follow a text; see mask.h. */
#include "gen/mask.h"
#include "base/mem.h"
#include "gen/schema_impl.h"

#include <stdlib.h>
#include <string.h>

/* A prefix tree of tokens.  Node i stands for the bytes of its ancestors and
 * then byte[i]; nodes are stored in depth-first order. */
struct token_tree {
    uint8_t *byte;
    uint8_t *depth;  /* number of ancestors */
    uint32_t *after; /* the first node that is not below node i */
    uint32_t *token; /* [nodes + 1] first index in ids of the node's tokens */
    uint32_t *ids;
    size_t nodes, n;
};

struct mask_vocab {
    size_t V;
    size_t words;                  /* of 64 bits, for V tokens */
    struct token_tree all, quoted; /* quoted: tokens with a quote */
    /* The tokens that can stand inside a string, where a character begins, and
     * that do not end the string. */
    uint64_t *inside;    /* [words] */
    uint8_t *characters; /* [V] characters that begin in each of them */
    size_t longest;      /* the largest of these numbers */
    uint32_t *off;       /* [V + 1] the tokens' bytes in pool */
    struct buf pool;
    uint64_t alone[4]; /* bit set of bytes that are tokens by themselves */
    int halves; /* 1: tokens may end inside a character, as each byte that
                        * can come next is a token */
};

/* ---- the tokens' bytes ---- */

static int
has_bit(const uint64_t *bits, size_t i)
{
    return (int)(bits[i >> 6] >> (i & 63) & 1);
}

static void
set_bit(uint64_t *bits, size_t i)
{
    bits[i >> 6] |= (uint64_t)1 << (i & 63);
}

static int
ends_texts(const struct tokenizer *tok, const struct config *c, uint32_t id)
{
    return config_is_eos(c, (int64_t)id) || tok_is_end(tok, id);
}

/* Read the bytes of all tokens; those that are left out have none.  Returns the
 * number of tokens that end a text. */
static size_t
read_token_bytes(struct mask_vocab *v, const struct tokenizer *tok,
    const struct config *c)
{
    size_t ends = 0;

    v->off = xreallocarray(NULL, v->V + 1, sizeof *v->off);
    for (uint32_t id = 0; id < v->V; id++) {
        const size_t was = v->pool.n;
        const int end = ends_texts(tok, c, id);

        v->off[id] = (uint32_t)was;
        ends += (size_t)end;
        if (end || tok_is_special(tok, id))
            continue;
        (void)tok_decode(tok, &id, 1, TOK_MIDDLE, &v->pool, NULL);
        if (v->pool.n - was > JSON_TOKEN)
            v->pool.n = was;
        if (v->pool.n - was == 1)
            set_bit(v->alone, (unsigned char)v->pool.p[was]);
    }
    v->off[v->V] = (uint32_t)v->pool.n;
    return ends;
}

static size_t
token_length(const struct mask_vocab *v, uint32_t id)
{
    return v->off[id + 1] - v->off[id];
}

static const unsigned char *
vocab_token_bytes(const struct mask_vocab *v, uint32_t id)
{
    return (const unsigned char *)v->pool.p + v->off[id];
}

/* Return 1 if each byte from lo to hi is the whole text of some token.
 * Otherwise set *lacks to a byte for which there is no such token. */
static int
all_alone(const struct mask_vocab *v, unsigned lo, unsigned hi, unsigned *lacks)
{
    for (*lacks = lo; *lacks <= hi; ++*lacks)
        if (!has_bit(v->alone, *lacks))
            return 0;
    return 1;
}

/* ---- the tree ---- */

struct token_text {
    const unsigned char *p;
    uint32_t n, id;
};

static int
compare_tokens(const void *a, const void *b)
{
    const struct token_text *x = a, *y = b;
    const int r = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

    return r != 0      ? r
        : x->n != y->n ? (x->n > y->n) - (x->n < y->n)
                       : (x->id > y->id) - (x->id < y->id);
}

/* The number of first bytes that two tokens have in common. */
static uint32_t
shared_bytes(const struct token_text *a, const struct token_text *b)
{
    uint32_t n = 0;

    while (n < a->n && n < b->n && a->p[n] == b->p[n])
        n++;
    return n;
}

static void
add_nodes(struct token_tree *t, const struct token_text *x, uint32_t from,
    uint32_t *open)
{
    for (uint32_t d = from; d < x->n; d++) {
        const size_t i = t->nodes++;

        t->byte[i] = x->p[d];
        t->depth[i] = (uint8_t)d;
        t->token[i] = (uint32_t)t->n;
        open[d] = (uint32_t)i;
    }
    t->ids[t->n++] = x->id;
}

/* Make the tree of n tokens, sorted. */
static void
make_tree(struct token_tree *t, const struct token_text *x, size_t n)
{
    uint32_t open[JSON_TOKEN]; /* the node of each byte of the last token */
    size_t most = 0, deep = 0;

    for (size_t i = 0; i < n; i++)
        most += x[i].n - (i > 0 ? shared_bytes(&x[i - 1], &x[i]) : 0);
    t->byte = xmalloc(most);
    t->depth = xmalloc(most);
    t->after = xreallocarray(NULL, most, sizeof *t->after);
    t->token = xreallocarray(NULL, most + 1, sizeof *t->token);
    t->ids = xreallocarray(NULL, n, sizeof *t->ids);
    for (size_t i = 0; i < n; i++) {
        const uint32_t same = i > 0 ? shared_bytes(&x[i - 1], &x[i]) : 0;

        while (deep > same)
            t->after[open[--deep]] = (uint32_t)t->nodes;
        add_nodes(t, &x[i], same, open);
        deep = x[i].n;
    }
    while (deep > 0)
        t->after[open[--deep]] = (uint32_t)t->nodes;
    t->token[t->nodes] = (uint32_t)t->n;
}

static void
free_tree(struct token_tree *t)
{
    free(t->byte);
    free(t->depth);
    free(t->after);
    free(t->token);
    free(t->ids);
}

/* Mark the token if it can stand inside a string and has no quote that ends
 * the string. */
static void
mark_inside(struct mask_vocab *v, uint32_t id)
{
    const unsigned char *p = vocab_token_bytes(v, id);
    uint8_t part = JSON_PLAIN;
    size_t characters = 0;

    for (size_t i = 0; i < token_length(v, id); i++) {
        int begun;

        part = json_string_next(part, p[i], &begun);
        if (part == JSON_BROKEN)
            return;
        characters += (size_t)begun;
    }
    if (json_string_halved(part) && !v->halves)
        return;
    set_bit(v->inside, id);
    v->characters[id] = (uint8_t)characters;
    v->longest = characters > v->longest ? characters : v->longest;
}

static void
make_trees(struct mask_vocab *v)
{
    struct token_text *x = xreallocarray(NULL, v->V, sizeof *x);
    size_t n = 0, quoted = 0;

    for (uint32_t id = 0; id < v->V; id++)
        if (token_length(v, id) > 0)
            x[n++] = (struct token_text){ vocab_token_bytes(v, id),
                (uint32_t)token_length(v, id), id };
    qsort(x, n, sizeof *x, compare_tokens);
    make_tree(&v->all, x, n);
    for (size_t i = 0; i < n; i++) {
        mark_inside(v, x[i].id);
        if (memchr(x[i].p, '"', x[i].n) != NULL)
            x[quoted++] = x[i];
    }
    make_tree(&v->quoted, x, quoted);
    free(x);
}

struct mask_vocab *
mask_vocab_new(const struct tokenizer *tok, const struct config *c,
    struct err *e)
{
    struct mask_vocab *v = xcalloc(1, sizeof *v);
    unsigned lacks;
    int bad = 0;

    v->V = tok_vocab(tok) < c->V ? tok_vocab(tok) : c->V;
    v->words = (v->V + 63) / 64;
    if (read_token_bytes(v, tok, c) == 0)
        bad = err_set(e, EX_INPUT,
            "no token of the model ends a text, so that a document could not "
            "end");
    else if (!all_alone(v, 0x20, 0x7e, &lacks))
        bad = err_set(e, EX_INPUT,
            "the tokenizer has no token that is '%c' alone, so that a document "
            "might not go on",
            (int)lacks);
    if (bad) {
        mask_vocab_free(v);
        return NULL;
    }
    v->halves = all_alone(v, 0x80, 0xbf, &lacks);
    v->inside = xcalloc(v->words, sizeof *v->inside);
    v->characters = xcalloc(v->V, 1);
    make_trees(v);
    return v;
}

void
mask_vocab_free(struct mask_vocab *v)
{
    if (v == NULL)
        return;
    free_tree(&v->all);
    free_tree(&v->quoted);
    free(v->inside);
    free(v->characters);
    free(v->off);
    buf_release(&v->pool);
    free(v);
}

/* ---- what goes with a schema ---- */

int
mask_check_schema(const struct mask_vocab *v, const struct schema *s,
    struct err *e)
{
    for (size_t i = 0; i < s->bytes.n; i++)
        if (!has_bit(v->alone, (unsigned char)s->bytes.p[i]))
            return err_set(e, EX_INPUT,
                "the tokenizer has no token that is the byte 0x%02x alone, "
                "which a name or constant has",
                (unsigned char)s->bytes.p[i]);
    return 0;
}

int
mask_check_params(const struct gen_params *p, struct err *e)
{
    const char *name = p->past_eos ? "ignore_eos"
        : p->least > 0             ? "min_tokens"
        : p->nstop > 0             ? "stop"
        : p->nend > 0              ? "stop_token_ids"
                                   : NULL;

    return name != NULL
        ? err_set(e, EX_INPUT,
              "%s: does not go with a schema: the text ends where its document "
              "does",
              name)
        : 0;
}

/* ---- masks ---- */

void
mask_room_init(struct mask_room *r, const struct mask_vocab *v)
{
    *r = (struct mask_room){ 0 };
    r->bits = xreallocarray(NULL, v->words, sizeof *r->bits);
}

void
mask_room_release(struct mask_room *r)
{
    json_room_release(&r->json);
    free(r->bits);
}

size_t
mask_room_bytes(const struct mask_vocab *v)
{
    return sizeof(struct mask_room) + v->words * sizeof(uint64_t) +
        (JSON_TOKEN + 1) *
        (sizeof(struct json_thread) + sizeof(struct json_frame));
}

/* Follow a token's bytes from state number `at` on.  Returns the number of the
 * last state, or `at` if a byte may not follow. */
static size_t
follow_bytes(const struct mask_vocab *v, uint32_t id, size_t at,
    struct json_room *r)
{
    const unsigned char *p = vocab_token_bytes(v, id);
    const size_t n = token_length(v, id);

    for (size_t i = 0; i < n; i++)
        if (json_room_byte(r, at + i, p[i]) == 0)
            return at;
    return at + n;
}

int
mask_follow(const struct mask_vocab *v, const struct schema *schema,
    struct json_state *s, uint32_t id, struct mask_room *r)
{
    size_t at;

    if (id >= v->V)
        return -1;
    json_room_load(&r->json, schema, s);
    if ((at = follow_bytes(v, id, 0, &r->json)) == 0)
        return -1;
    json_room_keep(&r->json, at, s);
    return 0;
}

/* Mark the tokens of the tree that may follow state 0. */
static void
walk_tree(const struct mask_vocab *v, const struct token_tree *t,
    struct mask_room *r)
{
    for (size_t i = 0; i < t->nodes;) {
        const size_t at = t->depth[i];

        if (json_room_byte(&r->json, at, t->byte[i]) == 0) {
            i = t->after[i];
            continue;
        }
        if (t->token[i] < t->token[i + 1] &&
            (v->halves || !json_room_halved(&r->json, at + 1)))
            for (uint32_t k = t->token[i]; k < t->token[i + 1]; k++)
                set_bit(r->bits, t->ids[k]);
        i++;
    }
}

/* Mark the tokens that can stand inside a string and begin at most `most`
 * characters. */
static void
mark_strings(const struct mask_vocab *v, size_t most, uint64_t *bits)
{
    if (most >= v->longest) {
        for (size_t i = 0; i < v->words; i++)
            bits[i] |= v->inside[i];
        return;
    }
    for (size_t id = 0; id < v->V; id++)
        if (v->characters[id] <= most && has_bit(v->inside, id))
            set_bit(bits, id);
}

/* Does the thread stand inside a string where a character begins?  *most:
 * characters that the string may still get. */
static int
inside_string(const struct schema *s, const struct json_thread *t, size_t *most)
{
    *most = SIZE_MAX;
    if (t->mode == READ_STRING && s->kind[t->id].hi != SCHEMA_NO_LIMIT)
        *most = s->kind[t->id].hi - t->n;
    return (t->mode == READ_STRING || t->mode == READ_ANY_NAME) &&
        t->sub == JSON_PLAIN;
}

/* Mark the tokens that may follow state 0. */
static void
mark_tokens(const struct mask_vocab *v, struct mask_room *r)
{
    struct json_room *j = &r->json;
    struct json_thread strings[JSON_THREADS];
    size_t n = 0, others = 0, most = 0, one;

    for (size_t i = 0; i < j->at[0].n; i++) {
        if (inside_string(j->schema, &j->thread[i], &one)) {
            most = one > most ? one : most;
            strings[n++] = j->thread[i];
        } else {
            j->thread[others++] = j->thread[i];
        }
    }
    j->at[0].n = others;
    if (others > 0)
        walk_tree(v, &v->all, r);
    if (n == 0)
        return;
    mark_strings(v, most, r->bits);
    memcpy(j->thread, strings, n * sizeof *strings);
    j->at[0].n = n;
    walk_tree(v, &v->quoted, r);
}

/* Set state 0 to the state after *s and the tokens text[n].  -1: these are not
 * the beginning of a document. */
static int
load_text(const struct mask_vocab *v, const struct schema *schema,
    const struct json_state *s, const uint32_t *text, size_t n,
    struct mask_room *r)
{
    struct json_state next = { 0 };
    int bad = 0;

    json_room_load(&r->json, schema, s);
    for (size_t i = 0; i < n && !bad; i++) {
        const size_t at =
            text[i] < v->V ? follow_bytes(v, text[i], 0, &r->json) : 0;

        bad = at == 0;
        json_room_keep(&r->json, at, &next);
        json_room_load(&r->json, schema, &next);
    }
    json_state_release(&next);
    return bad ? -1 : 0;
}

int
mask_next(const struct mask_vocab *v, const struct schema *schema,
    const struct json_state *s, const uint32_t *text, size_t n,
    const uint32_t *end, size_t nend, struct mask_room *r)
{
    uint64_t any = 0;

    if (load_text(v, schema, s, text, n, r) < 0)
        return 0;
    memset(r->bits, 0, v->words * sizeof *r->bits);
    if (json_room_complete(&r->json, 0))
        for (size_t i = 0; i < nend; i++)
            set_bit(r->bits, end[i]);
    mark_tokens(v, r);
    for (size_t i = 0; i < v->words; i++)
        any |= r->bits[i];
    return any != 0;
}
