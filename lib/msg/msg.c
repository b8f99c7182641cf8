/* Shared by readers and writers of messages: see msg.h and wire.h */
#include "base/bytes.h"
#include "msg/msg.h"
#include "msg/addr.h"
#include "msg/wire.h"

#include <string.h>

static const char *const kinds[] = { "stream", "teacher", "docs", "batch",
    "end", "abort" };

const char *
msg_kind_name(enum msg_kind k)
{
    return (unsigned)k < MSG_OTHER ? kinds[k] : "other";
}

enum msg_kind
msg_kind_of(const char *name)
{
    for (int k = 0; k < MSG_OTHER; k++)
        if (strcmp(name, kinds[k]) == 0)
            return (enum msg_kind)k;
    return MSG_OTHER;
}

void
chain_hex(const struct chain *c, char out[33])
{
    static const char digit[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        out[2 * i] = digit[c->h[i] >> 4];
        out[2 * i + 1] = digit[c->h[i] & 15];
    }
    out[32] = '\0';
}

static int
hex_digit(int ch)
{
    return ch >= '0' && ch <= '9' ? ch - '0'
        : ch >= 'a' && ch <= 'f'  ? ch - 'a' + 10
                                  : -1;
}

int
chain_parse(struct chain *c, const char *hex)
{
    for (int i = 0; i < 16; i++) {
        const int a = hex_digit((unsigned char)hex[2 * i]);
        const int b = a < 0 ? -1 : hex_digit((unsigned char)hex[2 * i + 1]);

        if (b < 0)
            return -1;
        c->h[i] = (unsigned char)(a << 4 | b);
    }
    return hex[32] == '\0' ? 0 : -1;
}

int
msg_size(const void *p, size_t n, size_t *need, struct err *e)
{
    const char *head;
    struct st st;
    uint64_t len;
    size_t data;

    *need = 8;
    if (n < 8)
        return 0;
    len = le_get(p, 8);
    head = (const char *)p + 8;
    if (len > MSG_HEADER_MAX || (n > 8 && *head != '{'))
        return err_set(e, EX_INPUT,
            "no message begins where its header of %llu bytes should",
            (unsigned long long)len);
    *need = 8 + (size_t)len;
    if (n < *need)
        return 0;
    if (st_parse_header(&st, head, (size_t)len, e) < 0)
        return -1;
    data = st.data_len;
    st_release(&st);
    if (data > MSG_MAX)
        return err_set(e, EX_INPUT, "a message of %zu bytes", data);
    *need += data;
    return 0;
}

uint64_t
msg_tokens(const struct msg *m)
{
    const struct st_tensor *t;
    uint64_t n = 0;

    if (m->kind == MSG_DOCS)
        return (t = st_find(&m->st, "ids")) ? t->n : 0;
    if (m->kind != MSG_BATCH || !(t = st_find(&m->st, "piece_len")))
        return 0;
    for (size_t i = 0; i < t->n; i++)
        n += st_u32(t, i);
    return n;
}

void
chain_of(struct chain *c, const void *p, size_t n)
{
    XXH128_canonical_t canon;

    XXH128_canonicalFromHash(&canon, XXH3_128bits(p, n));
    memcpy(c->h, canon.digest, 16);
}

void
chain_begin(XXH3_state_t *x, const struct chain *before)
{
    XXH3_128bits_reset(x);
    if (before)
        XXH3_128bits_update(x, before->h, 16);
}

void
chain_end(XXH3_state_t *x, struct chain *c)
{
    XXH128_canonical_t canon;

    XXH128_canonicalFromHash(&canon, XXH3_128bits_digest(x));
    memcpy(c->h, canon.digest, 16);
}

int
msg_number(const char *s, uint64_t *r)
{
    uint64_t v = 0;

    if (*s == '\0' || (*s == '0' && s[1] != '\0'))
        return -1;
    for (; *s; s++) {
        const unsigned k = (unsigned)(*s - '0');

        if (*s < '0' || *s > '9' || v > (UINT64_MAX - k) / 10)
            return -1;
        v = v * 10 + k;
    }
    *r = v;
    return 0;
}

int
msg_refuse_address(const char *addr, struct err *e)
{
    if (addr_is_special(addr))
        return err_set(e, EX_USAGE,
            "%s: an address that carries a stream is not supported here: a "
            "folder is needed",
            addr);
    return 0;
}

int
msg_is_own_key(enum msg_kind k, const char *key)
{
    static const char *const own[] = { "kind", "seq", "chain", "next_seq",
        "next_tokens", "chain_down" };
    const size_t n = k == MSG_STREAM ? 6 : k == MSG_OTHER ? 2 : 3;

    for (size_t i = 0; i < n; i++)
        if (strcmp(key, own[i]) == 0)
            return 1;
    return 0;
}

uint64_t
msg_doc_key(const char *source, const char *input, uint64_t record)
{
    struct buf b = { 0 };
    unsigned char number[8];
    uint64_t key;

    le_put(number, record, sizeof number);
    buf_add(&b, source, strlen(source) + 1);
    buf_add(&b, input, strlen(input) + 1);
    buf_add(&b, number, sizeof number);
    key = XXH3_64bits(b.p, b.n);
    buf_release(&b);
    return key;
}
