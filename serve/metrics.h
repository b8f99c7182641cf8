/* Counters and histograms with vLLM's names, in the text format of Prometheus
 * (version 0.0.4).  Any thread may call these functions. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "base/mem.h"
#include "gen/engine.h"

#include <stddef.h>

/* Histograms.  Times are in seconds; "arrival" is that of the request. */
enum metric {
    METRIC_TTFT,    /* time from arrival to the first token of a text */
    METRIC_ITL,     /* time between two tokens of a text */
    METRIC_TPOT,    /* mean METRIC_ITL of a text */
    METRIC_E2E,     /* time from arrival to the end of a text */
    METRIC_QUEUE,   /* time from arrival until an engine gets the text */
    METRIC_INFER,   /* time from the end of METRIC_QUEUE to the text's end */
    METRIC_PREFILL, /* time from the end of METRIC_QUEUE to the first token */
    METRIC_DECODE,  /* time from the first to the last token of a text */
    METRIC_STEP,    /* tokens that an engine computes in a step */
    METRIC_PROMPT,  /* tokens of a text's prompt */
    METRIC_TOKENS,  /* tokens generated for a text */
    METRIC_MAX,     /* max_tokens of a text's request */
    METRIC_N,       /* n of a text's request: texts of each prompt */
    METRICS
};

struct metrics;
/* model: label of all values, which is copied.  context: largest number of
 * tokens of a text; histograms of tokens have buckets up to it. */
struct metrics *metrics_new(const char *model, size_t context);
void metrics_free(struct metrics *m);

void metrics_add(struct metrics *m, enum metric which, double value);
/* Count a text that has ended; finish: "stop", "length" or "abort". */
void metrics_ended(struct metrics *m, const char *finish);
/* Set the engine's figures; waiting: texts that no engine has got yet. */
void metrics_engine(struct metrics *m, const struct gen_stats *s,
    size_t waiting);
/* Count a request by the HTTP status of its answer; 0: the client left. */
void metrics_answered(struct metrics *m, int status);
/* Append all values as text. */
void metrics_write(struct metrics *m, struct buf *out);

#endif
