/* Encoding requests into a model's tokens. */
#ifndef TASK_IDS_H
#define TASK_IDS_H

#include "task_read.h"
#include "eval/lmeval.h"

#include <stddef.h>
#include <stdint.h>

/* A request's tokens: context, then continuation from index `from` on. */
struct task_ids {
    uint32_t *ids;
    size_t n, from;
};
/* Encode a request as lm-eval's _encode_pair and loglikelihood do; the caller
 * frees r->ids.  If the request is longer than the model takes, the context
 * loses its first tokens.  Dies if context or continuation has no token, or the
 * continuation alone has too many. */
void request_ids(struct lmeval *s, const struct task *t, size_t item,
    size_t request, struct task_ids *r);

#endif
