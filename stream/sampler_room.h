/* Memory for the sampler's parts. */
#ifndef STREAM_SAMPLER_ROOM_H
#define STREAM_SAMPLER_ROOM_H

#include <stddef.h>

struct hole { /* a free range of the mapping: offset and bytes */
    size_t at, n;
};
struct room {
    unsigned char *map, *base; /* the mapping, and its first aligned address;
                                * NULL: malloc is used instead */
    size_t mapped, bytes;
    struct hole *hole; /* [n] by rising `at`; none touches another */
    size_t n, cap;
};
void room_init(struct room *r, size_t bytes);
void room_release(struct room *r);
int room_has(const struct room *r, size_t bytes);
/* Never NULL: malloc is used if no hole is large enough. */
void *room_alloc(struct room *r, size_t bytes);
void room_free(struct room *r, void *p, size_t bytes);

#endif
