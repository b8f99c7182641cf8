/* Requests in a model's tokens. */
#ifndef TASK_IDS_H
#define TASK_IDS_H

#include "task_read.h"
#include "eval/lmeval.h"

#include <stddef.h>
#include <stdint.h>

/* A request in a model's tokens: ids[n], of which those from `from` on are the
 * continuation. */
struct task_ids {
    uint32_t *ids;
    size_t n, from;
};
/* As lm-eval's _encode_pair and loglikelihood: ids are the caller's. */
void request_ids(struct lmeval *s, const struct task *t, size_t item,
    size_t request, struct task_ids *r);

#endif
