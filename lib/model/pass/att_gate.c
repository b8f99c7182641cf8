/* Gates of attention's outputs; see att_gate.h. */
#include "model/pass/att_gate.h"

#include <math.h>
#include <string.h>

void
att_gate_apart(float *row, size_t n, size_t D, size_t kv, float *room)
{
    const size_t size = D * sizeof *row;

    for (size_t h = 0; h < n; h++) {
        memcpy(room + h * D, row + (2 * h + 1) * D, size);
        memmove(row + h * D, row + 2 * h * D, size);
    }
    memmove(row + n * D, row + 2 * n * D, kv * sizeof *row);
    memcpy(row + n * D + kv, room, n * size);
}

void
att_gate_join(float *row, size_t n, size_t D, size_t kv, float *room)
{
    const size_t size = D * sizeof *row;

    memcpy(room, row + n * D + kv, n * size);
    memmove(row + 2 * n * D, row + n * D, kv * sizeof *row);
    for (size_t h = n; h-- > 0;) {
        memmove(row + 2 * h * D, row + h * D, size);
        memcpy(row + (2 * h + 1) * D, room + h * D, size);
    }
}

void
att_gate(float *y, const float *x, const float *gate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] / (1.0f + expf(-gate[i]));
}

void
att_gate_bwd(float *dy, float *dgate, const float *x, const float *gate,
    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = 1.0f / (1.0f + expf(-gate[i]));

        dgate[i] = dy[i] * x[i] * s * (1.0f - s);
        dy[i] *= s;
    }
}
