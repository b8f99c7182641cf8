/* Results of generate bench: what was measured, and printing it. */
#ifndef GENERATE_BENCH_OUT_H
#define GENERATE_BENCH_OUT_H

#include "bench_plan.h"
#include "bench_process.h"
#include "bench_server.h"
#include "bench_stat.h"
#include "format/sheet.h"

#include <stddef.h>

/* A model or a server under test. */
struct bench_side {
    const char *name;
    int is_server;
    struct bench_process process; /* if is_server is 0 */
    struct bench_server server;   /* if is_server is 1 */
    struct bench_run *run;        /* [levels] */
};

struct bench {
    struct bench_plan plan;
    size_t sides;
    struct bench_side *side;  /* [sides] */
    size_t *prompt;           /* [count] tokens of each prompt */
    struct bench_times *warm; /* [bench_most_warm_up] of warm-up requests */
};

/* Print on stdout what each side did at each level; then how each side but the
 * first differs from the first. */
void bench_print(const struct bench *b, enum format format);

#endif
