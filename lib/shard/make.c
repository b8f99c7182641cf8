/* Streams that a program makes and stores: see make.h */
#include "shard/make.h"
#include "msg/rules.h"
#include "msg/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct shard_make {
    struct shard_writer *w;
    struct msg_rules rules; /* checks messages; also holds seq, chain and
                             * tokens */
    struct st_out out;
    struct buf raw;
};

struct shard_make *
shardmk_open(const char *dir, const struct shard_opts *o, struct err *e)
{
    struct shard_writer *w = shardw_open(dir, o, e);
    struct shard_make *k;

    if (!w)
        return NULL;
    k = xcalloc(1, sizeof *k);
    k->w = w;
    msg_rules_init(&k->rules);
    return k;
}

struct shard_make *
shardmk_append(const char *dir, const struct shard_opts *o, struct err *e)
{
    struct shard_make *k = xcalloc(1, sizeof *k);

    msg_rules_init(&k->rules);
    k->w = shardw_append(dir, o, &k->rules, e);
    if (k->w)
        return k;
    shardmk_close(k);
    return NULL;
}

void
shardmk_close(struct shard_make *k)
{
    if (!k)
        return;
    shardw_close(k->w);
    msg_rules_release(&k->rules);
    st_out_release(&k->out);
    buf_release(&k->raw);
    free(k);
}

const struct manifest *
shardmk_manifest(const struct shard_make *k)
{
    return shardw_manifest(k->w);
}

static struct st_out *
begin_made(struct shard_make *k, enum msg_kind kind, const char *name)
{
    struct msg_rules *r = &k->rules;
    char hex[33];

    /* after its preamble, a resumed stream continues with its own seq and
     * chain */
    if (r->begun == 1 && r->info.resumed && kind != MSG_TEACHER) {
        r->next = r->info.next_seq;
        r->h = r->info.chain;
        r->begun = 2;
    }
    st_out_begin(&k->out);
    st_out_meta(&k->out, "kind", name);
    st_out_number(&k->out, "seq", r->next);
    if (kind == MSG_BATCH) {
        chain_hex(&r->h, hex);
        st_out_meta(&k->out, "chain", hex);
    }
    return &k->out;
}

struct st_out *
shardmk_begin(struct shard_make *k, enum msg_kind kind)
{
    return begin_made(k, kind, msg_kind_name(kind));
}

struct st_out *
shardmk_copy(struct shard_make *k, const struct msg *m, int cursor,
    const struct st_tensor *instead)
{
    const char *name = st_meta(&m->st, "kind");
    struct st_out *o = begin_made(k, m->kind, name ? name : "other");

    for (size_t i = 0; i < m->st.nmeta; i++)
        if (!msg_is_own_key(m->kind, m->st.key[i]) &&
            (cursor || strcmp(m->st.key[i], "cursor") != 0))
            st_out_meta(o, m->st.key[i], m->st.val[i]);
    for (size_t i = 0; i < m->st.nt; i++) {
        const struct st_tensor *t = &m->st.t[i];

        if (instead && strcmp(instead->name, t->name) == 0)
            t = instead;
        st_out_tensor(o, t->name, t->dtype, t->ndim, t->shape, t->data);
    }
    return o;
}

/* Check the message in k->out, and store it. */
static int
send_made(struct shard_make *k, struct err *e)
{
    struct msg m = { .kind = MSG_OTHER };
    uint64_t tokens;
    int r;

    buf_clear(&k->raw);
    buf_reserve(&k->raw, k->out.head.n + k->out.data_len);
    buf_add(&k->raw, k->out.head.p, k->out.head.n);
    for (size_t i = 0; i < k->out.npiece; i++)
        buf_add(&k->raw, k->out.piece[i].p, k->out.piece[i].n);
    if (st_parse(&m.st, k->raw.p, k->raw.n, e) < 0)
        return -1;
    m.raw = (const unsigned char *)k->raw.p;
    m.nraw = k->raw.n;
    r = msg_rules_check(&k->rules, &m, &tokens, e);
    if (r == 0)
        r = shardw_put(k->w, &m, e);
    st_release(&m.st);
    return r;
}

int
shardmk_send(struct shard_make *k, struct err *e)
{
    st_out_end(&k->out);
    return send_made(k, e);
}

int
shardmk_end(struct shard_make *k, struct err *e)
{
    begin_made(k, MSG_END, "end");
    msg_end_fill(&k->out, k->rules.next, &k->rules.h, k->rules.tokens);
    return send_made(k, e);
}
