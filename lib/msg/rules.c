/* The rules between messages: see rules.h and retort-stream(5). */
#include "msg/batch.h"
#include "msg/msg.h"
#include "msg/rules.h"
#include "msg/wire.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
msg_rules_init(struct msg_rules *r)
{
    memset(r, 0, sizeof *r);
    r->x = XXH3_createState();
    if (!r->x)
        mem_exhausted("state of a hash");
}

void
msg_rules_release(struct msg_rules *r)
{
    stream_info_release(&r->info);
    st_out_release(&r->out);
    XXH3_freeState(r->x);
    memset(r, 0, sizeof *r);
}

/* The largest of n <= CHUNK ids at p, which need not be aligned.  The loops
 * have constant lengths, so that compilers vectorise them. */
enum { CHUNK = 256, LANES = 32 };

#define LARGEST(name, type)                                        \
    static uint32_t name(const void *p, size_t n)                  \
    {                                                              \
        type v[CHUNK] = { 0 }, most[LANES] = { 0 };                \
                                                                   \
        memcpy(v, p, n * sizeof *v);                               \
        for (size_t i = 0; i < CHUNK; i += LANES)                  \
            for (size_t k = 0; k < LANES; k++)                     \
                most[k] = v[i + k] > most[k] ? v[i + k] : most[k]; \
        for (size_t k = 1; k < LANES; k++)                         \
            most[0] = most[k] > most[0] ? most[k] : most[0];       \
        return most[0];                                            \
    }

LARGEST(max16, uint16_t)
LARGEST(max32, uint32_t)

int
msg_check_ids(const struct st_tensor *ids, size_t vocab, struct err *e)
{
    uint32_t max = 0;

    for (size_t i = 0; i < ids->n; i += CHUNK) {
        const size_t n = ids->n - i < CHUNK ? ids->n - i : CHUNK;
        const uint32_t v = ids->dtype == DT_U16
            ? max16((const char *)ids->data + 2 * i, n)
            : max32((const char *)ids->data + 4 * i, n);

        max = v > max ? v : max;
    }
    if (ids->n == 0 || max < vocab)
        return 0;
    for (size_t i = 0; i < ids->n; i++)
        if (st_uint(ids, i) >= vocab)
            return err_set(e, EX_INPUT,
                "ids[%zu] is %" PRIu64 ", but the vocabulary ends at %zu", i,
                st_uint(ids, i), vocab);
    return 0;
}

int
msg_check_docs(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e)
{
    size_t n[1] = { SIZE_MAX }, d[1] = { SIZE_MAX };
    const struct st_tensor *ids = st_find(s, "ids"), *len, *source;
    const enum dtype t = ids && ids->dtype == DT_U16 ? DT_U16 : DT_U32;
    uint64_t sum = 0;

    if (!(ids = st_need(s, "ids", t, 1, n, e)) ||
        !(len = st_need(s, "doc_len", DT_U32, 1, d, e)))
        return -1;
    n[0] = ids->n;
    d[0] = len->n;
    if (!(source = st_need(s, "doc_source", DT_U16, 1, d, e)) ||
        !st_need(s, "doc_key", DT_U64, 1, d, e) ||
        (st_find(s, "loss_mask") && !st_need(s, "loss_mask", DT_U8, 1, n, e)))
        return -1;
    if (n[0] > UINT32_MAX || d[0] > UINT32_MAX)
        return err_set(e, EX_INPUT,
            "docs message of more than 2^32 - 1 tokens");
    for (size_t i = 0; i < d[0]; i++) {
        const uint32_t one = st_u32(len, i), src = st_u16(source, i);

        if (one == 0 || one > n[0] - sum)
            return err_set(e, EX_INPUT,
                "doc_len[%zu] is %" PRIu32 " where %" PRIu64 " tokens are left",
                i, one, n[0] - sum);
        if (src >= nsource)
            return err_set(e, EX_INPUT,
                "doc_source[%zu] is %" PRIu32 ", but there are %zu sources", i,
                src, nsource);
        sum += one;
    }
    if (sum != n[0])
        return err_set(e, EX_INPUT,
            "documents hold %" PRIu64 " tokens, but ids %zu", sum, n[0]);
    *tokens = sum;
    return msg_check_ids(ids, vocab, e);
}

static int
check_body(const struct msg_rules *r, const struct msg *m, uint64_t *tokens,
    struct err *e)
{
    const char *kind = msg_kind_name(m->kind);
    const struct st_tensor *ids;
    int top, drawn;

    if (strcmp(kind, r->info.content) != 0)
        return err_set(e, EX_INPUT, "%s message in a stream of %s", kind,
            r->info.content);
    if (m->kind == MSG_DOCS)
        return msg_check_docs(&m->st, r->info.vocab, r->info.nsource, tokens,
            e);
    if (batch_check(&m->st, r->info.vocab, r->info.nsource, tokens, e) < 0)
        return -1;
    ids = st_find(&m->st, "ids");
    if (ids->shape[1] != r->info.T)
        return err_set(e, EX_INPUT, "rows of %zu tokens in a stream of T = %zu",
            ids->shape[1], r->info.T);
    if ((top = batch_check_top(&m->st, (size_t)r->vocab, e)) < 0 ||
        (drawn = batch_check_sample(&m->st, (size_t)r->vocab, e)) < 0)
        return -1;
    if (top + drawn > 0 && !r->teacher)
        return err_set(e, EX_INPUT,
            "tokens of a teacher, but no teacher message");
    return 0;
}

/* Check the `teacher` message, and keep its vocabulary. */
static int
check_teacher(struct msg_rules *r, const struct msg *m, struct err *e)
{
    const char *vocab = st_meta(&m->st, "vocab");
    const char *student = st_meta(&m->st, "student_tokenizer");

    if (r->teacher || r->body || strcmp(r->info.content, "batch") != 0)
        return err_set(e, EX_INPUT, "teacher message out of place");
    if (vocab && msg_number(vocab, &r->vocab) < 0)
        return err_set(e, EX_INPUT, "the teacher's vocabulary is '%.40s'",
            vocab);
    if (student && strcmp(student, r->info.tokenizer) != 0)
        return err_set(e, EX_INPUT,
            "the teacher's tokens are for a student of tokenizer %.40s, but "
            "the stream is of %s: make them with teacher --student-tokenizer",
            student, r->info.tokenizer);
    r->teacher = 1;
    return 0;
}

/* Check that the chain in a batch or `end` is H of the message before it. */
static int
check_chain(const struct msg_rules *r, const struct msg *m, struct err *e)
{
    const char *hex = st_meta(&m->st, "chain");
    struct chain c;

    if (!hex || chain_parse(&c, hex) < 0)
        return err_set(e, EX_INPUT, "%s message without a good chain",
            msg_kind_name(m->kind));
    if (memcmp(c.h, r->h.h, sizeof c.h) != 0)
        return err_set(e, EX_INPUT,
            "the chain is broken: what came before is not what was written");
    return 0;
}

void
msg_end_fill(struct st_out *o, uint64_t seq, const struct chain *c,
    uint64_t tokens)
{
    char text[24], hex[33];

    st_out_begin(o);
    st_out_meta(o, "kind", "end");
    snprintf(text, sizeof text, "%" PRIu64, seq);
    st_out_meta(o, "seq", text);
    chain_hex(c, hex);
    st_out_meta(o, "chain", hex);
    snprintf(text, sizeof text, "%" PRIu64, seq + 1);
    st_out_meta(o, "messages", text);
    snprintf(text, sizeof text, "%" PRIu64, tokens);
    st_out_meta(o, "tokens", text);
    st_out_end(o);
}

/* Check `end`, which no hash covers.  So it must be byte for byte the message
 * that a writer makes. */
static int
check_end_message(struct msg_rules *r, const struct msg *m, struct err *e)
{
    const char *tokens = st_meta(&m->st, "tokens");
    uint64_t n;

    if (check_chain(r, m, e) < 0)
        return -1;
    if (!tokens || msg_number(tokens, &n) < 0 || n != r->tokens)
        return err_set(e, EX_INPUT,
            "end message counts %.24s tokens, but %" PRIu64 " came",
            tokens ? tokens : "no", r->tokens);
    msg_end_fill(&r->out, m->seq, &r->h, r->tokens);
    if (m->nraw != r->out.head.n || memcmp(m->raw, r->out.head.p, m->nraw) != 0)
        return err_set(e, EX_INPUT, "the end message is not as it was written");
    r->ended = 1;
    return 0;
}

static int
check_message_kind(struct msg_rules *r, const struct msg *m, uint64_t *tokens,
    struct err *e)
{
    const char *why;

    switch (m->kind) {
    case MSG_STREAM: return stream_info_read(&r->info, &m->st, e);
    case MSG_TEACHER: return check_teacher(r, m, e);
    case MSG_BATCH:
        if (check_chain(r, m, e) < 0)
            return -1;
        /* fall through */
    case MSG_DOCS: r->body = 1; return check_body(r, m, tokens, e);
    case MSG_END: return check_end_message(r, m, e);
    case MSG_ABORT:
        why = st_meta(&m->st, "why");
        return err_set(e, EX_INPUT, "the writer gave up: %.300s",
            why ? why : "it does not say why");
    default: return 0;
    }
}

static int
check_place(struct msg_rules *r, struct msg *m, struct err *e)
{
    const char *kind = st_meta(&m->st, "kind"), *seq = st_meta(&m->st, "seq");

    if (!kind || !seq || msg_number(seq, &m->seq) < 0)
        return err_set(e, EX_INPUT,
            "a message without kind or seq: this is no retort stream");
    m->kind = msg_kind_of(kind);
    if (r->ended)
        return err_set(e, EX_INPUT, "a message after the end message");
    if (m->kind == MSG_ABORT)
        return 0;
    if ((m->kind == MSG_STREAM) != (r->begun == 0))
        return err_set(e, EX_INPUT,
            r->begun ? "a second stream message"
                     : "the first message is %.40s, not stream",
            kind);
    if (r->begun == 1 && r->info.resumed && m->kind != MSG_TEACHER) {
        /* after its preamble, a resumed stream continues with its own seq and
         * chain */
        r->next = r->info.next_seq;
        r->h = r->info.chain;
        r->begun = 2;
    }
    if (m->seq != r->next)
        return err_set(e, EX_INPUT,
            "message %" PRIu64 " where %" PRIu64
            " is due: messages are missing",
            m->seq, r->next);
    return 0;
}

int
msg_rules_check(struct msg_rules *r, struct msg *m, uint64_t *tokens,
    struct err *e)
{
    const int first = !r->begun;

    *tokens = 0;
    if (check_place(r, m, e) < 0 || check_message_kind(r, m, tokens, e) < 0)
        return -1;
    if (first) {
        r->begun = 1;
        r->tokens = r->info.next_tokens;
    }
    chain_begin(r->x, first ? NULL : &r->h);
    XXH3_128bits_update(r->x, m->raw, m->nraw);
    chain_end(r->x, &r->h);
    r->next++;
    r->tokens += *tokens;
    return 0;
}

int
msg_rules_go_on(struct msg_rules *r, const struct msg *end, struct err *e)
{
    const char *tokens = st_meta(&end->st, "tokens");
    const char *chain = st_meta(&end->st, "chain");

    if (!tokens || msg_number(tokens, &r->tokens) < 0 || !chain ||
        chain_parse(&r->h, chain) < 0)
        return err_set(e, EX_INPUT, "end message without tokens or chain");
    r->next = end->seq;
    r->begun = 2;
    r->body = 1;
    return 0;
}
