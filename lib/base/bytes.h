/* Little-endian numbers, as files and frames hold them, at any address. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Read the number in p[n], n <= 8. */
static inline uint64_t
le_get(const void *p, size_t n)
{
    const unsigned char *q = p;
    uint64_t v = 0;

    while (n-- > 0)
        v = v << 8 | q[n];
    return v;
}

/* Store v in p[n], n <= 8; higher bytes are cut off. */
static inline void
le_put(void *p, uint64_t v, size_t n)
{
    unsigned char *q = p;

    for (size_t i = 0; i < n; i++)
        q[i] = (unsigned char)(v >> 8 * i);
}

#endif
