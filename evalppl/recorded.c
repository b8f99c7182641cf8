/*
 * A base that is no model but a file of llama.cpp's, or what the teacher of a
 * stream says of its batches; and such a file made.
 */
#include "evalppl.h"
#include "base_file.h"
#include "vocab.h"
#include "base/mem.h"
#include "cli/die.h"
#include "format/targets.h"
#include "kern/kern.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

struct taught {
    struct targets targets;
    void *head; /* the teacher's, copied; NULL: not seen yet */
};

/* A base without a model. */
static void
add(struct eval *e, const char *path, size_t V)
{
    struct judged *j = models_add(&e->j, &e->nj, path, xstrdup(path));

    j->recorded = 1;
    j->m.c.V = V;
    e->base = e->nj - 1;
}

void
recorded_open(struct eval *e, const char *path)
{
    struct err err;

    e->in = xmalloc(sizeof(*e->in));
    if (base_in_open(e->in, path, &err) < 0)
        die_err(&err);
    add(e, path, e->in->V);
}

/* ---- the stream's teacher ---- */

void
recorded_stream(struct eval *e)
{
    e->taught = xcalloc(1, sizeof(*e->taught));
    add(e, "teacher", e->j[0].m.c.V);
}

/* A model that has a head and nothing before it. */
static void
head_alone(struct model *m, const struct st_tensor *h, const void *data)
{
    static const float one = 1.0f;

    memcpy(m->c.arch, "llama", sizeof("llama"));
    m->c.V = h->shape[0];
    m->c.d = h->shape[1];
    m->c.H = m->c.KV = 1;
    m->c.D = 2;
    m->c.theta = 10000.0;
    m->norm = (struct weight){ .data = (const unsigned char *)&one,
        .dtype = DT_F32,
        .rows = 1,
        .cols = 1,
        .stride = sizeof(one) };
    m->head = (struct weight){ .data = data,
        .dtype = h->dtype,
        .rows = h->shape[0],
        .cols = h->shape[1],
        .stride = h->nbytes / h->shape[0] };
}

void
recorded_teacher(struct eval *e, const struct msg *m)
{
    const struct st_tensor *h = st_find(&m->st, "head");
    const char *norm = st_meta(&m->st, "final");
    struct model *base = &e->j[e->base].m;
    struct taught *t = e->taught;

    if (h == NULL || norm == NULL || strcmp(norm, "post-norm") != 0)
        die(EX_INPUT,
            "%s: --recorded needs final states and the teacher's head, and it "
            "has not both",
            e->input);
    if (h->ndim != 2 || h->shape[1] == 0 || h->shape[0] == 0 ||
        (h->dtype != DT_F32 && h->dtype != DT_BF16 && h->dtype != DT_F16))
        die(EX_INPUT,
            "%s: the teacher's head is not a matrix of F32, F16 or BF16",
            e->input);
    if (t->head != NULL)
        die(EX_INPUT, "%s: has two teachers", e->input);
    t->head = xmalloc(h->nbytes);
    memcpy(t->head, h->data, h->nbytes);
    head_alone(base, h, t->head);
    t->targets.kind = TARGETS_FINAL;
    t->targets.width = h->shape[1];
}

void
recorded_batch(struct eval *e, const struct msg *m)
{
    struct err err;

    if (e->taught->head == NULL)
        die(EX_INPUT, "%s: holds nothing of a teacher", e->input);
    if (targets_read(&e->taught->targets, &m->st, &err) < 0)
        die(err.code, "%s: message %llu: %s", e->input,
            (unsigned long long)m->seq, err.msg);
}

void
recorded_room(struct eval *e, size_t n)
{
    struct judged *j = &e->j[e->base];

    j->f = fwd_new(&j->m, e->pool, 1, 1);
    j->h = xreallocarray(NULL, n, j->m.c.d * sizeof(*j->h));
}

void
recorded_state(struct eval *e, size_t i, size_t k)
{
    const struct targets *s = &e->taught->targets;
    const struct targets_tensor *t = &s->part[TARGETS_STATE];
    float *h = e->j[e->base].h + k * s->width;

    if (t->dtype == DT_BF16)
        kern.widen_bf16(h, targets_at(s, t, i), s->width);
    else
        memcpy(h, targets_at(s, t, i), s->width * sizeof(*h));
}

/* ---- the file's text; a file begun and ended ---- */

/* Decode the ids v[n], encode the texts between special tokens again, and count
 * the new tokens that are not in v. */
static size_t
count_others(const struct eval *e, const struct tokenizer *t, const uint32_t *v,
    size_t n)
{
    struct tok_scratch *s = tok_scratch_new(t);
    size_t *uses = xcalloc(e->in->V, sizeof *uses), others = 0, end;
    struct tok_ids again = { 0 };
    struct buf text = { 0 };
    struct err err;

    for (size_t i = 0; i < n; i++)
        uses[v[i]] += !tok_is_special(t, v[i]);
    for (size_t at = 0; at < n; at = end + 1) {
        for (end = at; end < n && !tok_is_special(t, v[end]);)
            end++;
        buf_clear(&text);
        if (tok_decode(t, v + at, end - at, 0, &text, &err) < 0)
            others += end - at;
        else if (text.n > 0)
            tok_encode(t, s, text.p, text.n, 0, &again);
    }
    for (size_t i = 0; i < again.n; i++)
        if (again.v[i] < e->in->V && uses[again.v[i]] > 0)
            uses[again.v[i]]--;
        else
            others++;
    tok_scratch_free(s);
    tok_ids_release(&again);
    buf_release(&text);
    free(uses);
    return others;
}

/* The file has no hash of a tokenizer, but its tokens, which one that made them
 * makes again of the text that they spell; a few may differ at its end.  Dies
 * unless model j's tokenizer does. */
static void
check_tokens(const struct eval *e, const struct judged *j)
{
    const size_t n = e->in->windows * e->in->c;
    struct err err;
    struct tokenizer *t = tok_open(j->path, &err);
    size_t others;

    if (t == NULL)
        return;
    others = count_others(e, t, e->in->tokens, n);
    if (others > n / 200 + 4)
        die(EX_INPUT,
            "%s: was made with another tokenizer than that of %s, which makes "
            "%zu other tokens of its text of %zu: judge a model of the same "
            "tokenizer",
            e->in->path, j->path, others, n);
    tok_free(t);
}

void
recorded_text(struct eval *e)
{
    const size_t model = e->base == 0 ? 1 : 0;
    struct err err;
    struct tokenizer *t = tok_open(e->j[model].path, &err);

    if (t == NULL)
        die(EX_INPUT,
            "%s; without a tokenizer it is not known whether windows begin "
            "with BOS",
            err.msg);
    for (size_t i = 0; i < e->nj; i++)
        if (!e->j[i].recorded)
            check_tokens(e, &e->j[i]);
    e->info.bos = tok_template_bos(t);
    e->info.nsource = 1;
    e->info.source = xmalloc(sizeof(*e->info.source));
    e->info.source[0] = "text";
    e->vocab = vocab_new(t, e->in->V);
    tok_free(t);
}

void
recorded_begin(struct eval *e, const uint32_t *ids, size_t n)
{
    const struct judged *j = &e->j[e->base != NONE ? e->base : 0];
    struct err err;

    e->out = xmalloc(sizeof(*e->out));
    if (base_out_begin(e->out, e->out_path, e->c, j->m.c.V, ids, n / e->c,
            &err) < 0)
        die_err(&err);
}

void
recorded_end(struct eval *e)
{
    struct err err;

    if (io_out_commit(&e->out->o, &err) < 0)
        die_err(&err);
}

void
recorded_close(struct eval *e)
{
    if (e->in != NULL)
        base_in_close(e->in);
    free(e->in);
    free(e->out);
    whole_free(e->whole);
    if (e->taught != NULL) {
        targets_release(&e->taught->targets);
        free(e->taught->head);
    }
    free(e->taught);
}
