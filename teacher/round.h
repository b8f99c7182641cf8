/* Cost of sending states in bf16, measured on the first batch. */
#ifndef TEACHER_ROUND_H
#define TEACHER_ROUND_H

#include "base/pool.h"
#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

struct rounding;
struct rounding *rounding_new(const struct model *m, struct pool *pool);
/* Bytes of work space that rounding_tell needs. */
size_t rounding_bytes(const struct rounding *r);
/* Measure the rounding of n states x [n,d].  first [n] is UINT32_MAX for
 * padding.  final: x has had the final norm. */
void rounding_add(struct rounding *r, const struct model *m, const float *x,
    const uint32_t *first, size_t n, int final);
/* Print a note of the errors measured, and free r. */
void rounding_tell(struct rounding *r, const struct model *m,
    struct pool *pool);

#endif
