/*
 * Compares what a teacher wrote in two streams: apart A B prints |a - b| / |a|
 * of the fp32 tensors that are farthest apart, each taken as a vector, and inf
 * if anything else differs.  Without arguments it tests this measure.
 */
#include "base/mem.h"
#include "msg/msg.h"
#include "../lib/tap.h"

#include <string.h>

/* The distance of two tensors; infinite if they cannot be compared. */
static double
distance(const struct st_tensor *a, const struct st_tensor *b)
{
    double off = 0.0, all = 0.0;
    float x, y;

    if (b == NULL || a->dtype != b->dtype || a->nbytes != b->nbytes)
        return INFINITY;
    if (a->dtype != DT_F32)
        return memcmp(a->data, b->data, a->nbytes) == 0 ? 0.0 : INFINITY;
    for (size_t i = 0; i < a->n; i++) {
        memcpy(&x, (const char *)a->data + 4 * i, 4);
        memcpy(&y, (const char *)b->data + 4 * i, 4);
        off += ((double)x - y) * ((double)x - y);
        all += (double)x * x;
    }
    return off == 0.0 ? 0.0 : sqrt(off / all);
}

static double
apart(const char *one, const char *other)
{
    struct err e;
    struct msg_in *a = msg_in_open(one, &e), *b = msg_in_open(other, &e);
    struct msg m, n;
    double most = 0.0;
    int r = 1, batches = 0;

    if (a == NULL || b == NULL)
        return INFINITY;
    while (r > 0) {
        r = msg_read(a, &m, &e);
        if (msg_read(b, &n, &e) != r || r < 0 || m.kind != n.kind ||
            m.st.nt != n.st.nt)
            return INFINITY;
        batches += m.kind == MSG_BATCH;
        for (size_t i = 0; r > 0 && i < m.st.nt; i++)
            most = farther(most,
                distance(&m.st.t[i], st_find(&n.st, m.st.t[i].name)));
    }
    msg_in_close(a);
    msg_in_close(b);
    return batches > 0 ? most : INFINITY;
}

int
main(int argc, char **argv)
{
    float x[3] = { 1.0f, -2.0f, 2.0f }, y[3] = { 1.0f, -2.0f, 2.0f };
    struct st_tensor a = { .dtype = DT_F32, .n = 3, .nbytes = 12, .data = x };
    struct st_tensor b = a, c = a;

    if (argc == 3) {
        printf("%.3g\n", apart(argv[1], argv[2]));
        return 0;
    }
    b.data = y;
    ok(distance(&a, &b) == 0.0, "equal arrays have no distance");
    y[2] = 2.75f;
    ok(distance(&a, &b) == 0.25,
        "a distance is relative to the largest number");
    y[0] = NAN;
    ok(!(distance(&a, &b) <= 1.0), "a NaN is far");
    c.n = 2;
    c.nbytes = 8;
    ok(!(distance(&a, &c) <= 1.0) && !(distance(&a, NULL) <= 1.0),
        "another shape or a missing array is far");
    return done_testing();
}
