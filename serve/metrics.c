/* Counters and histograms under vLLM's names; see metrics.h. */
#include "metrics.h"
#include "format/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUCKETS = 32, STATUSES = 12 };

struct histogram {
    const char *name, *help;
    const double *le; /* upper bounds, ended by 0; NULL: metrics.tokens */
};

static const double first_token[] = { .001, .005, .01, .02, .04, .06, .08, .1,
    .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560, 0 };
static const double token_gap[] = { .01, .025, .05, .075, .1, .15, .2, .3, .4,
    .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 0 };
static const double whole_text[] = { .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20,
    30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680, 0 };
static const double step_tokens[] = { 1, 8, 16, 32, 64, 128, 256, 512, 1024,
    2048, 4096, 8192, 16384, 0 };
static const double few_texts[] = { 1, 2, 5, 10, 20, 0 };

static const struct histogram histograms[METRICS] = {
    [METRIC_TTFT] = { "time_to_first_token_seconds",
        "Time from a request to the first token of a text.", first_token },
    [METRIC_ITL] = { "inter_token_latency_seconds",
        "Time between two tokens of a text.", token_gap },
    [METRIC_TPOT] = { "request_time_per_output_token_seconds",
        "Mean time between two tokens of a text.", token_gap },
    [METRIC_E2E] = { "e2e_request_latency_seconds",
        "Time from a request to the end of a text.", whole_text },
    [METRIC_QUEUE] = { "request_queue_time_seconds", "Time that a text waited.",
        whole_text },
    [METRIC_INFER] = { "request_inference_time_seconds",
        "Time that a text ran.", whole_text },
    [METRIC_PREFILL] = { "request_prefill_time_seconds",
        "Time that a text ran before its first token.", whole_text },
    [METRIC_DECODE] = { "request_decode_time_seconds",
        "Time that a text ran after its first token.", whole_text },
    [METRIC_STEP] = { "iteration_tokens_total",
        "Tokens that were computed in a step.", step_tokens },
    [METRIC_PROMPT] = { "request_prompt_tokens", "Tokens of a prompt.", NULL },
    [METRIC_TOKENS] = { "request_generation_tokens", "Tokens that a text got.",
        NULL },
    [METRIC_MAX] = { "request_params_max_tokens", "Tokens that were asked for.",
        NULL },
    [METRIC_N] = { "request_params_n", "Texts of a prompt.", few_texts },
};

struct metrics {
    /* set by metrics_new */
    struct buf label;            /* model_name="...",engine="0" */
    double tokens[MOST_BUCKETS]; /* bounds 1, 2, 5, 10 ... <= context, then 0 */
    pthread_mutex_t lock;        /* protects the members below */
    struct {
        double sum, count, bucket[MOST_BUCKETS];
    } h[METRICS];
    double ended[3]; /* numbers of texts, in the order of `finishes` */
    struct {
        int status;
        double count;
    } answered[STATUSES];
    struct gen_stats engine;
    size_t waiting;
};

static const char *const finishes[] = { "stop", "length", "abort" };

struct metrics *
metrics_new(const char *model, size_t context)
{
    struct metrics *m = xcalloc(1, sizeof *m);
    size_t n = 0;

    pthread_mutex_init(&m->lock, NULL);
    buf_adds(&m->label, "model_name=");
    js_quote(&m->label, model);
    buf_adds(&m->label, ",engine=\"0\"");

    for (double le = 1; le <= (double)context && n + 1 < MOST_BUCKETS;
         le *= n % 3 == 2 ? 2.5 : 2)
        m->tokens[n++] = le;
    return m;
}

void
metrics_free(struct metrics *m)
{
    if (m == NULL)
        return;
    pthread_mutex_destroy(&m->lock);
    buf_release(&m->label);
    free(m);
}

static const double *
bucket_bounds(const struct metrics *m, enum metric which)
{
    return histograms[which].le != NULL ? histograms[which].le : m->tokens;
}

void
metrics_add(struct metrics *m, enum metric which, double value)
{
    const double *le = bucket_bounds(m, which);
    size_t i = 0;

    while (le[i] > 0 && value > le[i])
        i++;
    pthread_mutex_lock(&m->lock);
    m->h[which].sum += value;
    m->h[which].count++;
    m->h[which].bucket[i]++;
    pthread_mutex_unlock(&m->lock);
}

void
metrics_ended(struct metrics *m, const char *finish)
{
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < 3; i++)
        m->ended[i] += strcmp(finish, finishes[i]) == 0;
    pthread_mutex_unlock(&m->lock);
}

void
metrics_engine(struct metrics *m, const struct gen_stats *s, size_t waiting)
{
    pthread_mutex_lock(&m->lock);
    m->engine = *s;
    m->waiting = waiting;
    pthread_mutex_unlock(&m->lock);
}

void
metrics_answered(struct metrics *m, int status)
{
    size_t i = 0;

    pthread_mutex_lock(&m->lock);
    while (i < STATUSES - 1 && m->answered[i].count > 0 &&
        m->answered[i].status != status)
        i++;
    m->answered[i].status = status;
    m->answered[i].count++;
    pthread_mutex_unlock(&m->lock);
}

/* --- writing --- */

static void
put_metric_heading(struct buf *out, const char *name, const char *type,
    const char *help)
{
    buf_addf(out, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name,
        type);
}

static void
put_metric(struct buf *out, const struct metrics *m, const char *name,
    const char *type, const char *help, double value)
{
    put_metric_heading(out, name, type, help);
    buf_addf(out, "vllm:%s{%s} %.17g\n", name, m->label.p, value);
}

static void
put_histogram(struct buf *out, const struct metrics *m, enum metric which)
{
    const char *name = histograms[which].name;
    const double *le = bucket_bounds(m, which);
    double below = 0;

    put_metric_heading(out, name, "histogram", histograms[which].help);
    for (size_t i = 0; le[i] > 0; i++) {
        below += m->h[which].bucket[i];
        buf_addf(out, "vllm:%s_bucket{%s,le=\"%.15g\"} %.17g\n", name,
            m->label.p, le[i], below);
    }
    buf_addf(out, "vllm:%s_bucket{%s,le=\"+Inf\"} %.17g\n", name, m->label.p,
        m->h[which].count);
    buf_addf(out, "vllm:%s_sum{%s} %.17g\nvllm:%s_count{%s} %.17g\n", name,
        m->label.p, m->h[which].sum, name, m->label.p, m->h[which].count);
}

static void
put_engine(struct buf *out, const struct metrics *m)
{
    const struct gen_stats *s = &m->engine;
    const double pages = s->pages > 0 ? (double)s->pages : 1.0;

    put_metric(out, m, "num_requests_running", "gauge", "Texts that run.",
        (double)s->running);
    put_metric(out, m, "num_requests_waiting", "gauge", "Texts that wait.",
        (double)(s->waiting + m->waiting));
    put_metric(out, m, "kv_cache_usage_perc", "gauge",
        "Share of the pages of keys and values that running texts have.",
        (double)s->used / pages);
    put_metric(out, m, "prompt_tokens_total", "counter", "Tokens of prompts.",
        (double)s->prompt);
    put_metric(out, m, "generation_tokens_total", "counter",
        "Tokens that texts got.", (double)s->next);
    put_metric(out, m, "num_preemptions_total", "counter",
        "How often a text lost its pages to others.", (double)s->preempted);
    put_metric(out, m, "prefix_cache_queries_total", "counter",
        "Tokens of prompts that were looked for in pages of others.",
        (double)s->prompt);
    put_metric(out, m, "prefix_cache_hits_total", "counter",
        "Tokens of prompts that were found there.", (double)s->shared);
}

static void
write_all(const struct metrics *m, struct buf *out)
{
    put_engine(out, m);
    put_metric_heading(out, "request_success_total", "counter",
        "Texts that ended, by the reason.");
    for (size_t i = 0; i < 3; i++)
        buf_addf(out,
            "vllm:request_success_total{%s,finished_reason=\"%s\"} %.17g\n",
            m->label.p, finishes[i], m->ended[i]);
    for (size_t i = 0; i < METRICS; i++)
        put_histogram(out, m, i);
    buf_adds(out,
        "# HELP retort:http_answers_total Requests by the HTTP "
        "status of the answer; 0: the client left.\n"
        "# TYPE retort:http_answers_total counter\n");
    for (size_t i = 0; i < STATUSES && m->answered[i].count > 0; i++)
        buf_addf(out, "retort:http_answers_total{%s,status=\"%d\"} %.17g\n",
            m->label.p, m->answered[i].status, m->answered[i].count);
}

void
metrics_write(struct metrics *m, struct buf *out)
{
    pthread_mutex_lock(&m->lock);
    write_all(m, out);
    pthread_mutex_unlock(&m->lock);
}
