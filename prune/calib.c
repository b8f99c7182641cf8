/* Calibration data: batches in memory. */
#include "prune.h"
#include "base/mem.h"
#include "cli/die.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "shard/source.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

static void
take_head(struct calib *c, const struct st *head, const char *name,
    const struct model *m, const char *tokenizer)
{
    struct stream_info info;
    struct err e, none;

    if (stream_info_read(&info, head, &e) < 0)
        die(e.code, "%s: %s", name, e.msg);
    if (strcmp(info.content, "batch") != 0)
        die(EX_INPUT, "%s: holds %s, not batches (see stream(1))", name,
            info.content);
    if (tok_matches(tokenizer, info.tokenizer, &none) == 0)
        die(EX_INPUT, "%s: was made with another tokenizer than that of %s",
            name, tokenizer);
    if (info.vocab > m->c.V)
        die(EX_INPUT,
            "%s: the stream's vocabulary is %zu, the model's only %zu", name,
            info.vocab, m->c.V);
    if (c->tokenizer == NULL)
        c->tokenizer = xstrdup(info.tokenizer);
    stream_info_release(&info);
}

static void
add_rows(struct calib *c, const struct batch *b, size_t rows)
{
    const size_t from = c->R * b->T, n = rows * b->T;

    c->ids = xreallocarray(c->ids, from + n, sizeof(*c->ids));
    c->first = xreallocarray(c->first, from + n, sizeof(*c->first));
    c->at = xreallocarray(c->at, from + n, sizeof(*c->at));
    c->target = xreallocarray(c->target, from + n, sizeof(*c->target));
    memcpy(c->ids + from, b->ids, n * sizeof(*c->ids));
    memcpy(c->first + from, b->first, n * sizeof(*c->first));
    for (size_t t = 0; t < n; t++) {
        c->ntok += b->first[t] != BATCH_PAD;
        if (!b->scored[t])
            continue;
        c->at[c->n] = from + t;
        c->target[c->n++] = b->ids[t + 1];
    }
    c->R += rows;
}

void
calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer)
{
    struct batch b = { 0 };
    struct err e;
    struct msg_in *in = set_in_open(addr, 0, &e);
    struct msg msg;
    int r = 1;

    if (in == NULL)
        die_err(&e);
    memset(c, 0, sizeof(*c));
    while ((rows == 0 || c->R < rows) && (r = msg_read(in, &msg, &e)) > 0) {
        if (msg.kind == MSG_STREAM)
            take_head(c, &msg.st, msg_in_name(in), m, tokenizer);
        if (msg.kind != MSG_BATCH)
            continue;
        batch_unpack(&b, &msg);
        if (c->R > 0 && b.T != c->T)
            die(EX_INPUT,
                "%s: message %llu: rows of %zu tokens after rows of %zu",
                msg_in_name(in), (unsigned long long)msg.seq, b.T, c->T);
        c->T = b.T;
        add_rows(c, &b, rows == 0 || b.B < rows - c->R ? b.B : rows - c->R);
    }
    if (r < 0)
        die_err(&e);
    if (c->n == 0)
        die(EX_INPUT, "%s: no scored tokens to calibrate on", msg_in_name(in));
    batch_release(&b);
    msg_in_close(in);
}

void
calib_release(struct calib *c)
{
    free(c->ids);
    free(c->first);
    free(c->at);
    free(c->target);
    free(c->tokenizer);
    memset(c, 0, sizeof(*c));
}
