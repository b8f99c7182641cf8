/* Making the head of a GGUF file; see gguf_write.h. */
#include "format/gguf_write.h"

#include "base/bytes.h"

#include <assert.h>
#include <string.h>

static void
put_bytes_at(struct buf *b, uint64_t v, size_t size)
{
    unsigned char p[8];

    le_put(p, v, size);
    buf_add(b, p, size);
}

static void
put_gguf_text(struct buf *b, const char *s, size_t n)
{
    put_bytes_at(b, n, 8);
    buf_add(b, s, n);
}

static void
begin_entry(struct gguf_out *o, const char *key, enum gguf_type type)
{
    put_gguf_text(&o->kv, key, strlen(key));
    put_bytes_at(&o->kv, type, 4);
    o->nkv++;
}

void
gguf_out_num(struct gguf_out *o, uint64_t v, size_t size)
{
    put_bytes_at(&o->kv, v, size);
}

void
gguf_out_text(struct gguf_out *o, const char *s, size_t n)
{
    put_gguf_text(&o->kv, s, n);
}

void
gguf_out_str(struct gguf_out *o, const char *key, const char *s, size_t n)
{
    begin_entry(o, key, GGUF_STR);
    put_gguf_text(&o->kv, s, n);
}

void
gguf_out_u32(struct gguf_out *o, const char *key, size_t v)
{
    assert(v <= UINT32_MAX);
    begin_entry(o, key, GGUF_U32);
    put_bytes_at(&o->kv, v, 4);
}

void
gguf_out_f32(struct gguf_out *o, const char *key, double v)
{
    const float f = (float)v;
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    begin_entry(o, key, GGUF_F32);
    put_bytes_at(&o->kv, u, 4);
}

void
gguf_out_bool(struct gguf_out *o, const char *key, int v)
{
    begin_entry(o, key, GGUF_BOOL);
    put_bytes_at(&o->kv, v != 0, 1);
}

void
gguf_out_array(struct gguf_out *o, const char *key, enum gguf_type elem,
    size_t n)
{
    begin_entry(o, key, GGUF_ARRAY);
    put_bytes_at(&o->kv, elem, 4);
    put_bytes_at(&o->kv, n, 8);
}

void
gguf_out_copy(struct gguf_out *o, const struct gguf_kv *v)
{
    struct gguf_walk w = gguf_walk(v);
    const char *s;
    size_t n;

    if (v->type == GGUF_STR) {
        gguf_out_str(o, v->key, (const char *)v->value, v->n);
        return;
    }
    if (v->type == GGUF_ARRAY)
        gguf_out_array(o, v->key, v->elem, v->n);
    else
        begin_entry(o, v->key, v->type);
    if (v->elem != GGUF_STR)
        buf_add(&o->kv, v->value, v->n * gguf_type_size(v->elem));
    while (gguf_next(&w, &s, &n))
        put_gguf_text(&o->kv, s, n);
}

static size_t
padding(size_t n)
{
    return (GGUF_ALIGN - n % GGUF_ALIGN) % GGUF_ALIGN;
}

int
gguf_out_tensor(struct gguf_out *o, const char *name, enum dtype t, int ndim,
    const size_t *shape)
{
    const int type = gguf_type_of(t);
    size_t bytes;

    assert(type >= 0 && ndim >= 1 && strlen(name) <= GGUF_NAME_MAX);
    if (dtype_bytes(t, shape[ndim - 1], &bytes) < 0)
        return -1;
    put_gguf_text(&o->tensors, name, strlen(name));
    put_bytes_at(&o->tensors, (uint64_t)ndim, 4);
    for (int i = ndim - 1; i >= 0; i--)
        put_bytes_at(&o->tensors, shape[i], 8);
    put_bytes_at(&o->tensors, (uint64_t)type, 4);
    put_bytes_at(&o->tensors, o->data, 8);
    for (int i = 0; i < ndim - 1; i++)
        bytes *= shape[i];
    o->data += bytes + padding(bytes);
    o->nt++;
    return 0;
}

void
gguf_out_head(const struct gguf_out *o, struct buf *b)
{
    static const char zero[GGUF_ALIGN];

    buf_clear(b);
    buf_adds(b, "GGUF");
    put_bytes_at(b, 3, 4);
    put_bytes_at(b, o->nt, 8);
    put_bytes_at(b, o->nkv, 8);
    buf_add(b, o->kv.p, o->kv.n);
    buf_add(b, o->tensors.p, o->tensors.n);
    buf_add(b, zero, padding(b->n));
}

void
gguf_out_release(struct gguf_out *o)
{
    buf_release(&o->kv);
    buf_release(&o->tensors);
    memset(o, 0, sizeof *o);
}
