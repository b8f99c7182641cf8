/* A model whose quantised matrices are repacked for products in 8-bit integers
 * (kern/int.h).  kv_new (forward_kv.h) of such a model multiplies in integers;
 * everything else uses its weights as they are in the file.  Routers, and
 * matrices of types for which kern/int.h has no product (F32, BF16, F16, Q2_K,
 * Q3_K, MXFP4, 2:4), stay as they are. */
#ifndef MODEL_PACKED_H
#define MODEL_PACKED_H

#include "base/pool.h"
#include "model/files/model.h"

#include <stddef.h>
#include <stdint.h>

struct packed;
/* Pack the matrices of m, with the pool's threads; the file's pages that were
 * read are dropped.  m must outlive the result.  kern_init must have succeeded.
 * NULL: m has no matrix of a type that can be packed. */
struct packed *packed_new(const struct model *m, struct pool *pool);
void packed_free(struct packed *p);
/* The packed model.  packed_free frees it; do not call model_close. */
const struct model *packed_model(const struct packed *p);
/* Bytes of the packed matrices. */
size_t packed_bytes(const struct packed *p);

/* How far products in integers are from exact ones: means over predictions. */
struct packed_error {
    double kl;    /* KL(exact || integer), nats */
    double back;  /* KL(integer || exact), nats */
    double agree; /* share of predictions with the same most probable token */
};
/* Compare the predictions after tokens from..n-1 of a text, from < n. */
struct packed_error packed_compare(const struct packed *p, struct pool *pool,
    const uint32_t *ids, size_t from, size_t n);

#endif
