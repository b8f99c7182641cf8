/* Views of the targets in a message, whole or from a row on, find each token's
 * numbers wherever the message lies in memory.  Wrong tensors are refused. */
#include "../lib/tap.h"
#include "base/mem.h"
#include "format/targets.h"

enum { B = 3, T = 4, N = B * T };

/* A batch with ids, a final state, draws and outputs of blocks 1 and 4, behind
 * a tensor of `skip` bytes.  Byte i of each tensor is i modulo 256. */
static void
make(struct st *s, struct buf *raw, size_t skip, size_t final_T)
{
    static unsigned char bytes[1000];
    const size_t bt[2] = { B, T }, final[3] = { B, final_T, 5 };
    const size_t k[3] = { B, T, 3 }, state[3] = { B, T, 2 };
    struct st_out o = { 0 };
    struct err e;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    st_out_begin(&o);
    st_out_tensor(&o, "skip", DT_U8, 1, &skip, bytes);
    st_out_tensor(&o, "ids", DT_U16, 2, bt, bytes);
    st_out_tensor(&o, "teacher.final", DT_BF16, 3, final, bytes);
    st_out_tensor(&o, "teacher.sample.ids", DT_U32, 3, k, bytes);
    st_out_tensor(&o, "teacher.sample.count", DT_U8, 3, k, bytes);
    st_out_tensor(&o, "teacher.sample.plogp", DT_F32, 2, bt, bytes);
    st_out_tensor(&o, "teacher.hidden.1", DT_F32, 3, state, bytes);
    st_out_tensor(&o, "teacher.hidden.4", skip == 1 ? DT_BF16 : DT_F32, 3,
        state, bytes);
    st_out_end(&o);
    buf_add(raw, o.head.p, o.head.n);
    for (size_t i = 0; i < o.npiece; i++)
        buf_add(raw, o.piece[i].p, o.piece[i].n);
    st_out_release(&o);
    if (st_parse(s, raw->p, raw->n, &e) < 0)
        abort();
}

/* Does targets_at find each token's numbers in tensor t, in the views that
 * begin at each row?  `bytes` is the size of a token's numbers. */
static int
stands(const struct targets *x, const struct targets_tensor *t, size_t bytes)
{
    for (size_t b = 0; b < B; b++) {
        const struct targets y = targets_rows(x, b), z = targets_rows(&y, 0);

        for (size_t i = 0; i < (B - b) * T; i++)
            if (*targets_at(&y, t, i) != (b * T + i) * bytes % 256 ||
                targets_at(&z, t, i) != targets_at(x, t, b * T + i))
                return 0;
    }
    return 1;
}

int
main(void)
{
    static const size_t blocks[] = { 1, 4 };
    struct buf raw = { 0 };
    struct targets x = { .kind = TARGETS_FINAL,
        .width = 5,
        .block = blocks,
        .nblock = 2,
        .depth = 2 };
    struct err e;
    struct st s;

    make(&s, &raw, 3, T);
    ok(targets_width(&s, TARGETS_FINAL) == 5 &&
            targets_width(&s, TARGETS_DRAWS) == 3 &&
            targets_width(&s, TARGETS_TOP) == 0 &&
            targets_width(&s, TARGETS_NONE) == 0,
        "each kind of targets has its width");
    ok(targets_hidden(&s, 4) != NULL && targets_hidden(&s, 2) == NULL,
        "outputs of blocks are found");
    ok(targets_read(&x, &s, &e) == 0 &&
            x.part[TARGETS_STATE].dtype == DT_BF16 &&
            stands(&x, &x.part[TARGETS_STATE], 10),
        "final states are found");
    ok(stands(&x, &x.hidden[0], 8) && stands(&x, &x.hidden[1], 8),
        "outputs of blocks are read");
    x.width = 6;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "is not [3,4,6]"),
        "final states of another width are refused: %s", e.msg);
    x.kind = TARGETS_DRAWS;
    x.width = 3;
    ok(targets_read(&x, &s, &e) == 0 &&
            stands(&x, &x.part[TARGETS_DRAWN], 12) &&
            stands(&x, &x.part[TARGETS_COUNT], 3) &&
            stands(&x, &x.part[TARGETS_SELF], 4),
        "draws are found");
    x.width = 4;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "not the 4"),
        "fewer draws a token than before are refused: %s", e.msg);
    x.kind = TARGETS_TOP;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "teacher.top.ids"),
        "a batch without top tokens is refused: %s", e.msg);
    x.kind = TARGETS_NONE;
    x.depth = 3;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "teacher.hidden.1"),
        "outputs of blocks of another width are refused: %s", e.msg);
    st_release(&s);
    buf_clear(&raw);
    make(&s, &raw, 1, T - 1);
    x.kind = TARGETS_FINAL;
    x.width = 5;
    x.depth = 2;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "teacher.final"),
        "final states of fewer tokens are refused: %s", e.msg);
    x.kind = TARGETS_NONE;
    ok(targets_read(&x, &s, &e) == -1 && strstr(e.msg, "two types"),
        "outputs of blocks of two types are refused: %s", e.msg);
    st_release(&s);
    buf_release(&raw);
    targets_release(&x);
    return done_testing();
}
