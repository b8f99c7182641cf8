/* Counters and histograms under vLLM's names, in the text form of Prometheus
 * (version 0.0.4).  One lock guards all: any thread may call. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "base/mem.h"
#include "gen/engine.h"

#include <stddef.h>

/* Histograms.  Unit: seconds up to METRIC_DECODE, then tokens or texts. */
enum metric {
    METRIC_TTFT,    /* arrival of a request to a text's first token */
    METRIC_ITL,     /* between two tokens of a text */
    METRIC_TPOT,    /* mean of a text's METRIC_ITL */
    METRIC_E2E,     /* arrival to the end of the text */
    METRIC_QUEUE,   /* arrival to the step in which its prompt is begun */
    METRIC_INFER,   /* the rest of METRIC_E2E */
    METRIC_PREFILL, /* METRIC_INFER up to the first token */
    METRIC_DECODE,  /* METRIC_INFER after it */
    METRIC_STEP,    /* tokens computed in a step */
    METRIC_PROMPT,
    METRIC_TOKENS,
    METRIC_MAX, /* of a text */
    METRIC_N,   /* texts of a prompt */
    METRICS
};

struct metrics;
/* model: label of all values, which is copied.  context: the largest bucket of
 * numbers of tokens. */
struct metrics *metrics_new(const char *model, size_t context);
void metrics_free(struct metrics *m);

void metrics_add(struct metrics *m, enum metric which, double value);
/* A text has ended; finish: stop, length or abort. */
void metrics_ended(struct metrics *m, const char *finish);
/* The engine's state; waiting: texts that it has not been given yet. */
void metrics_engine(struct metrics *m, const struct gen_stats *s,
    size_t waiting);
/* A request was answered with this HTTP status, or with 0: the client left. */
void metrics_answered(struct metrics *m, int status);
/* Append all of them. */
void metrics_write(struct metrics *m, struct buf *out);

#endif
