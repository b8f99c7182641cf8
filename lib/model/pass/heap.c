/* A heap of numbers and their indices; see heap.h. */
#include "model/pass/heap.h"

#include <string.h>

uint64_t
heap_key(float z, size_t i)
{
    uint32_t u;

    z += 0.0f; /* make -0 a 0 */
    memcpy(&u, &z, sizeof u);
    u = u >> 31 ? ~u : u | 0x80000000u;
    return (uint64_t)u << 32 | (UINT32_MAX - (uint32_t)i);
}

uint32_t
heap_number(uint64_t key)
{
    return UINT32_MAX - (uint32_t)key;
}

void
heap_sink(uint64_t *h, size_t n, size_t i)
{
    const uint64_t x = h[i];

    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && h[c + 1] < h[c];
        if (h[c] >= x)
            break;
        h[i] = h[c];
    }
    h[i] = x;
}

size_t
heap_keep(uint64_t *h, size_t n, size_t k, uint64_t key)
{
    if (n == k) {
        if (key > h[0]) {
            h[0] = key;
            heap_sink(h, n, 0);
        }
        return n;
    }
    h[n] = key;
    for (size_t i = n; i > 0 && h[i] < h[(i - 1) / 2]; i = (i - 1) / 2) {
        h[i] = h[(i - 1) / 2];
        h[(i - 1) / 2] = key;
    }
    return n + 1;
}

void
heap_sort(uint64_t *h, size_t n)
{
    while (n > 1) {
        const uint64_t least = h[0];

        h[0] = h[--n];
        h[n] = least;
        heap_sink(h, n, 0);
    }
}
