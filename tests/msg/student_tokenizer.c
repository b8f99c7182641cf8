/* Rules of messages for a teacher of another tokenizer than the stream's: kinds
 * of targets, and the tokenizer that the targets are for. */
#include "../lib/streams.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "kern/kern.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct sample batches = { .batch = 1,
    .messages = 3,
    .docs = 2,
    .T = 8,
    .vocab = 40,
    .teacher = 1 };

/* Read a stream to its end.  Returns the last result of msg_read. */
static int
read_whole(const char *path, struct err *e)
{
    struct msg_in *r = msg_in_open(path, e);
    struct msg m;
    int k;

    if (r == NULL)
        return -1;
    while ((k = msg_read(r, &m, e)) > 0)
        ;
    msg_in_close(r);
    return k;
}

/* Top tokens of a teacher of another tokenizer: 1 row of 2 tokens with 3
 * entries each. */
static void
test_kinds(void)
{
    static const struct {
        const char *why; /* as in struct top_case */
        uint32_t ids[6];
        float logp[6], rest[2];
        uint8_t kind[2];
        int leave_out; /* leave out teacher.rest */
    } cases[] = {
        { NULL, { 9, 0, 3, 7, 0, 0 }, { -1, -1, -2, -3, 0, 0 }, { -1, -2 },
            { 1, 2 }, 0 },
        { NULL, { 0 }, { 0 }, { 0, 0 }, { 0, 0 }, 0 },
        { "kind[1] is 3", { 0 }, { 0 }, { 0, 0 }, { 0, 3 }, 0 },
        { "rest[0] is nan", { 0 }, { 0 }, { NAN, 0 }, { 2, 0 }, 0 },
        { "rest[0] is 0.5", { 0 }, { 0 }, { 0.5f, 0 }, { 2, 0 }, 0 },
        { "rest[1] is -1", { 0 }, { 0 }, { -1, -1 }, { 2, 0 }, 0 },
        { "ids[4] is 5", { 9, 0, 3, 7, 5, 0 }, { 0 }, { -1, -2 }, { 1, 2 }, 0 },
        { "logp[4]", { 9, 0, 3, 7, 0, 0 }, { -1, -1, -2, -3, -4, 0 },
            { -1, -2 }, { 1, 2 }, 0 },
        { "logp[0]", { 9, 0, 3, 0, 0, 0 }, { 1, 0, 0, 0, 0, 0 }, { -1, 0 },
            { 1, 0 }, 0 },
        { "ids[2] is 9 once more", { 9, 0, 9, 0, 0, 0 }, { 0 }, { -1, 0 },
            { 1, 0 }, 0 },
        { "ids[3] is 10", { 0, 0, 0, 10, 0, 0 }, { 0 }, { 0, -1 }, { 0, 2 },
            0 },
        { "teacher.rest", { 0 }, { 0 }, { 0, 0 }, { 0, 0 }, 1 },
    };
    static const uint16_t ids[2] = { 1, 2 };
    static const size_t shape[3] = { 1, 2, 3 };

    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
        const size_t n = i / 2;
        struct st_out o = { 0 };
        struct buf raw = { 0 };
        struct err e = { 0 };
        struct st s;
        uint16_t half[6];
        int k;

        st_out_begin(&o);
        st_out_tensor(&o, "ids", DT_U16, 2, shape, ids);
        st_out_tensor(&o, "teacher.top.ids", DT_U32, 3, shape, cases[n].ids);
        kern.narrow_f16(half, cases[n].logp, 6);
        st_out_tensor(&o, "teacher.top.logp", i % 2 ? DT_F16 : DT_F32, 3, shape,
            i % 2 ? (const void *)half : (const void *)cases[n].logp);
        if (!cases[n].leave_out)
            st_out_tensor(&o, "teacher.rest", DT_F32, 2, shape, cases[n].rest);
        st_out_tensor(&o, "teacher.kind", DT_U8, 2, shape, cases[n].kind);
        st_out_end(&o);
        buf_add(&raw, o.head.p, o.head.n);
        for (size_t j = 0; j < o.npiece; j++)
            buf_add(&raw, o.piece[j].p, o.piece[j].n);
        if (st_parse(&s, raw.p, raw.n, &e) < 0)
            abort();
        e.msg[0] = '\0';
        k = batch_check_top(&s, 10, &e);
        ok(cases[n].why
                ? k == -1 && e.code == EX_INPUT && strstr(e.msg, cases[n].why)
                : k == 1,
            "kinds of targets %zu, %s, are judged: %s", n,
            i % 2 ? "F16" : "F32", k < 0 ? e.msg : "good");
        st_release(&s);
        st_out_release(&o);
        buf_release(&raw);
    }
}

/* Kinds of targets without top tokens are refused. */
static void
test_kinds_alone(void)
{
    static const uint16_t ids[2] = { 1, 2 };
    static const size_t shape[2] = { 1, 2 };
    static const uint8_t kind[2] = { 1, 0 };
    struct st_out o = { 0 };
    struct buf raw = { 0 };
    struct err e = { 0 };
    struct st s;

    st_out_begin(&o);
    st_out_tensor(&o, "ids", DT_U16, 2, shape, ids);
    st_out_tensor(&o, "teacher.kind", DT_U8, 2, shape, kind);
    st_out_end(&o);
    buf_add(&raw, o.head.p, o.head.n);
    for (size_t j = 0; j < o.npiece; j++)
        buf_add(&raw, o.piece[j].p, o.piece[j].n);
    if (st_parse(&s, raw.p, raw.n, &e) < 0)
        abort();
    ok(batch_check_top(&s, 10, &e) == -1 && strstr(e.msg, "teacher.top.ids"),
        "kinds without tokens are refused: %s", e.msg);
    st_release(&s);
    st_out_release(&o);
    buf_release(&raw);
}

/* A teacher for students of another tokenizer than the stream's is refused, one
 * for students of the stream's tokenizer accepted. */
static void
test_student_tokenizer(void)
{
    struct msg_in *r;
    struct msg_out *w;
    struct msg m;
    struct err e = { 0 };

    for (int right = 0; right < 2; right++) {
        sample_file("s", &batches, &e);
        r = msg_in_open("s", &e);
        w = msg_out_open("t", &e);
        while (msg_read(r, &m, &e) > 0) {
            struct st_out *out = msg_copy(w, &m);

            if (m.kind == MSG_TEACHER)
                st_out_meta(out, "student_tokenizer",
                    right ? st_meta(msg_in_head(r), "tokenizer") : "0123");
            if (msg_send(w, &e) < 0)
                break;
        }
        msg_in_close(r);
        (void)msg_end(w, &e);
        msg_out_close(w);
        if (right)
            ok(read_whole("t", &e) == 0,
                "a teacher for students of the stream's tokenizer is accepted");
        else
            ok(read_whole("t", &e) == -1 && e.code == EX_INPUT &&
                    strstr(e.msg, "--student-tokenizer"),
                "a teacher for students of another tokenizer is refused: %s",
                e.msg);
    }
}

int
main(void)
{
    tap_scratch();
    if (kern_init() != NULL)
        return 1;
    test_kinds();
    test_kinds_alone();
    test_student_tokenizer();
    return done_testing();
}
