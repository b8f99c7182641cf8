/* The stream's teacher as the base; see stream_base.h. */
#include "stream_base.h"
#include "base/mem.h"
#include "cli/die.h"
#include "format/json.h"
#include "format/targets.h"
#include "kern/kern.h"

#include <stdlib.h>
#include <string.h>

struct stream_base {
    struct targets targets; /* final states of the current batch */
    void *head;             /* copy of the teacher's head; NULL: not read yet */
    void *bias;             /* of its bias; NULL: it has none */
};

void
stream_base_open(struct eval *e)
{
    e->stream_base = xcalloc(1, sizeof(*e->stream_base));
    eval_add_base(e, "teacher", e->j[0].m.c.V);
}

void
stream_base_free(struct stream_base *t)
{
    if (t == NULL)
        return;
    targets_release(&t->targets);
    free(t->head);
    free(t->bias);
    free(t);
}

/* Make *m a model that has only a head. */
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

/* Let the base's head, of V rows, have the bias of the message. */
static void
take_bias(struct eval *e, const struct msg *m, size_t V)
{
    const struct st_tensor *b = st_find(&m->st, "head_bias");
    struct weight *head = &e->j[e->base].m.head;

    if (b == NULL)
        return;
    if (b->dtype != DT_F32 || b->ndim != 1 || b->n != V)
        die(EX_INPUT,
            "%s: the bias of the teacher's head is not an F32 for each row",
            e->input);
    e->stream_base->bias = xmalloc(b->nbytes);
    memcpy(e->stream_base->bias, b->data, b->nbytes);
    head->bias = e->stream_base->bias;
    head->bias_dtype = DT_F32;
}

/* The soft cap (final_logit_softcapping) to apply to logits that are computed
 * from the teacher's states, from the config.json in its message; 0: no cap. */
static double
logit_cap(const struct eval *e, const struct msg *m)
{
    const char *text = st_meta(&m->st, "config");
    json_t *j = NULL;
    struct config c;
    struct err err;

    if (text == NULL)
        return 0.0;
    if ((j = js_parse(text, strlen(text), &err)) == NULL ||
        config_from_json(&c, j, &err) < 0)
        die(EX_INPUT, "%s: config of the teacher: %s", e->input, err.msg);
    json_decref(j);
    return c.final_cap;
}

void
stream_base_head(struct eval *e, const struct msg *m)
{
    const struct st_tensor *h = st_find(&m->st, "head");
    const char *norm = st_meta(&m->st, "final");
    struct model *base = &e->j[e->base].m;
    struct stream_base *t = e->stream_base;

    if (h == NULL || norm == NULL || strcmp(norm, "post-norm") != 0)
        die(EX_INPUT,
            "%s: lacks the teacher's head or final states: --recorded needs "
            "teacher --final without --no-head",
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
    take_bias(e, m, h->shape[0]);
    base->c.final_cap = logit_cap(e, m);
    t->targets.kind = TARGETS_FINAL;
    t->targets.width = h->shape[1];
}

void
stream_base_batch(struct eval *e, const struct msg *m)
{
    struct err err;

    if (e->stream_base->head == NULL)
        die(EX_INPUT,
            "%s: holds no teacher's states: send it through teacher --final",
            e->input);
    if (targets_read(&e->stream_base->targets, &m->st, &err) < 0)
        die(err.code, "%s: message %llu: %s", e->input,
            (unsigned long long)m->seq, err.msg);
}

void
stream_base_room(struct eval *e, size_t n)
{
    struct eval_model *j = &e->j[e->base];

    j->f = fwd_new(&j->m, e->pool, 1, 1);
    j->h = xreallocarray(NULL, n, j->m.c.d * sizeof(*j->h));
}

void
stream_base_state(struct eval *e, size_t i, size_t k)
{
    const struct targets *s = &e->stream_base->targets;
    const struct targets_tensor *t = &s->part[TARGETS_STATE];
    float *h = e->j[e->base].h + k * s->width;

    if (t->dtype == DT_BF16)
        kern.widen_bf16(h, targets_at(s, t, i), s->width);
    else
        memcpy(h, targets_at(s, t, i), s->width * sizeof(*h));
}
