/* Transports by their addresses: see backend.h */
#include "msg/backend.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdlib.h>

static const struct msg_backend *const backends[] = {
    [ADDR_FILE] = &msg_file,
    [ADDR_SHM] = &msg_shm,
    [ADDR_UNIX] = &msg_unix,
    [ADDR_TCP] = &msg_tcp,
};

struct msg_src *
msg_src_new(const struct msg_backend *b, const char *name)
{
    struct msg_src *s = xcalloc(1, b->src_bytes);

    s->backend = b;
    s->name = xstrdup(name);
    return s;
}

struct msg_src *
msg_src_open(const char *addr, struct err *e)
{
    struct msg_src *s;
    struct addr a;

    if (addr_parse(&a, addr, e) < 0)
        return NULL;
    s = msg_src_new(backends[a.kind], io_in_name(addr));
    if (s->backend->src_open(s, &a, e) == 0)
        return s;
    msg_src_close(s);
    return NULL;
}

size_t
msg_src_memory(const struct msg_src *s, size_t n)
{
    return s->backend->src_memory ? s->backend->src_memory(s, n) : 0;
}

void
msg_src_close(struct msg_src *s)
{
    if (!s)
        return;
    s->backend->src_close(s);
    free(s->name);
    free(s);
}

struct msg_sink *
msg_sink_open(const char *addr, struct err *e)
{
    struct msg_sink *s;
    struct addr a;

    if (addr_parse(&a, addr, e) < 0)
        return NULL;
    s = xcalloc(1, backends[a.kind]->sink_bytes);
    s->backend = backends[a.kind];
    s->name = xstrdup(io_out_name(addr));
    if (s->backend->sink_open(s, &a, e) == 0)
        return s;
    msg_sink_close(s);
    return NULL;
}

size_t
msg_sink_memory(const struct msg_sink *s, size_t n)
{
    return s->backend->sink_memory ? s->backend->sink_memory(s, n) : 0;
}

/* Return r, the result of a write.  If the reader has left or a message has
 * broken off half-way, set s->left: nothing more is sent. */
static int
record_sent(struct msg_sink *s, int r, const struct err *e)
{
    if (r > 0 || (r < 0 && e->code == EX_STOP))
        s->left = 1;
    return r;
}

int
msg_sink_begin(struct msg_sink *s, size_t total, size_t head, struct err *e)
{
    if (s->left || !s->backend->begin)
        return s->left;
    return record_sent(s, s->backend->begin(s, total, head, e), e);
}

int
msg_sink_put(struct msg_sink *s, const struct iovec *v, size_t n, struct err *e)
{
    return s->left ? 1 : record_sent(s, s->backend->put(s, v, n, e), e);
}

int
msg_sink_done(struct msg_sink *s, struct err *e)
{
    if (s->left || !s->backend->done)
        return s->left;
    return record_sent(s, s->backend->done(s, e), e);
}

int
msg_sink_send(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e)
{
    size_t total = 0;
    int r;

    for (size_t i = 0; i < n; i++)
        total += v[i].iov_len;
    if ((r = msg_sink_begin(s, total, v[0].iov_len, e)) != 0 ||
        (r = msg_sink_put(s, v, n, e)) != 0)
        return r;
    return msg_sink_done(s, e);
}

int
msg_sink_end(struct msg_sink *s, struct err *e)
{
    int r;

    if (s->left || !s->backend->end)
        return s->left;
    r = s->backend->end(s, e);
    s->left = r > 0;
    return r;
}

void
msg_sink_close(struct msg_sink *s)
{
    if (!s)
        return;
    s->backend->sink_close(s);
    free(s->name);
    free(s);
}
