/* Keys of a prediction: see job.h */
#include "job.h"
#include "shipped.h"
#include "base/io.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/nearness.h"
#include "format/json.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the value of each key is in struct job.  keys.json has the rest. */
#define JOB(k)                      \
    {                               \
#k, offsetof(struct job, k) \
    }
#define MACHINE(k)                    \
    {                                 \
#k, offsetof(struct job, m.k) \
    }
static const struct {
    const char *name;
    size_t at;
} places[] = { JOB(nodes), JOB(tensor), JOB(pipeline), JOB(virtual),
    JOB(expert), JOB(edges), JOB(schedule), JOB(imbalance), JOB(context),
    JOB(shard), JOB(shard_ranks), JOB(hpz), JOB(sync), JOB(momentum),
    JOB(batch), JOB(length), JOB(text), JOB(micro), JOB(recompute),
    JOB(adapters), JOB(sequence), JOB(flash),
    { "teacher", offsetof(struct job, teacher_at) }, JOB(top), JOB(overlap),
    JOB(unfused), JOB(compute), JOB(weight_bytes), JOB(grad_bytes),
    JOB(wire_bytes), JOB(state_bytes), JOB(act_bytes), JOB(logits),
    JOB(gather_gbs), JOB(anchor), JOB(spread), JOB(tokens), JOB(price),
    MACHINE(devices), MACHINE(memory_gb), MACHINE(memory_gbs),
    MACHINE(bf16_tflops), MACHINE(f32_tflops), MACHINE(f8_tflops),
    MACHINE(link_gbs), MACHINE(link_us), MACHINE(net_gbs), MACHINE(net_us),
    MACHINE(net_call_us), MACHINE(matrix_eff), MACHINE(attention_eff),
    MACHINE(product_reads), MACHINE(memory_eff), MACHINE(link_eff),
    MACHINE(net_eff), MACHINE(tensor_hidden), MACHINE(reserve_gb),
    MACHINE(reserve_share), MACHINE(time_low), MACHINE(time_high),
    MACHINE(memory_low), MACHINE(memory_high), MACHINE(device_watts),
    MACHINE(node_watts) };
enum { KEYS = sizeof places / sizeof *places };

/* Set the members of a key, except its place in struct job, from its entry in
 * keys.json. */
static void
read_job_key(struct key *k, const json_t *j)
{
    const json_t *range = json_object_get(j, "range");
    const json_t *words = json_object_get(j, "words");
    const size_t n = json_array_size(words);

    assert(n < KEY_WORDS);
    for (size_t i = 0; i < n; i++)
        k->words[i] = json_string_value(json_array_get(words, i));
    k->lo = json_number_value(json_array_get(range, 0));
    k->hi =
        n > 0 ? (double)n - 1.0 : json_number_value(json_array_get(range, 1));
    k->whole = n > 0 || json_is_true(json_object_get(j, "whole"));
    k->optional = json_is_true(json_object_get(j, "optional"));
    k->help = js_text_of(j, "meaning");
}

const struct key *
job_keys(void)
{
    static struct key keys[KEYS + 1];

    if (keys[0].name != NULL)
        return keys;
    for (size_t i = 0; i < KEYS; i++) {
        read_job_key(&keys[i],
            json_object_get(shipped_json("keys.json"), places[i].name));
        keys[i].at = places[i].at;
        keys[i].machine = places[i].at >= offsetof(struct job, m) &&
            places[i].at < offsetof(struct job, nodes);
        keys[i].name = places[i].name;
    }
    return keys;
}

void
job_init(struct job *j)
{
    memset(j, 0, sizeof *j);
    j->nodes = j->tensor = j->pipeline = j->virtual = j->expert = 1;
    j->context = j->micro = j->flash = 1;
    j->overlap = 0.7;
    j->imbalance = 1.2;
    j->batch = 8;
    j->length = 512;
    j->logits = 2;
    /* values of the A100, for files of machines that leave these keys out */
    j->m.attention_eff = 0.32;
    j->m.product_reads = 2;
    j->m.reserve_gb = 8.8;
    j->m.reserve_share = 0.1;
    j->m.memory_low = 0.92;
    j->m.memory_high = 1.12;
}

const struct key *
job_key(const char *name)
{
    for (const struct key *k = job_keys(); k->name != NULL; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

double *
job_value(struct job *j, const struct key *k)
{
    return (double *)((char *)j + k->at);
}

void
job_put(struct buf *b, const struct job *j, const struct key *k)
{
    const double v = *(const double *)((const char *)j + k->at);

    if (k->words[0] != NULL)
        buf_adds(b, k->words[(size_t)v]);
    else
        buf_addf(b, v < 1e15 && v == floor(v) ? "%.0f" : "%.6g", v);
}

void
key_words(struct buf *b, const struct key *k)
{
    for (size_t i = 0; k->words[i] != NULL; i++)
        buf_addf(b, "%s%s", i > 0 ? ", " : "", k->words[i]);
}

/* Read the number of a key.  GB/s may be written in Mbit/s or Gbit/s, as links
 * are sold: "1000mbit", "1gbit".  tokens is a count, such as 10G. */
static int
key_number(const struct key *k, const char *value, double *v)
{
    const size_t n = strlen(value), end = n > 4 ? n - 4 : n;
    const double times = strcasecmp(value + end, "gbit") == 0 ? 8.0
        : strcasecmp(value + end, "mbit") == 0                ? 8000.0
                                                              : 0.0;
    char *digits;
    int r;

    if (strcmp(k->name, "tokens") == 0)
        return number_count(value, k->lo, k->hi, v);
    if (times == 0.0 || strstr(k->name, "_gbs") == NULL)
        return number_real(value, k->lo, k->hi, v);
    digits = xasprintf("%.*s", (int)end, value);
    r = number_real(digits, times * k->lo, times * k->hi, v);
    free(digits);
    if (r == 0)
        *v /= times;
    return r;
}

const struct key *
job_key_given(const char *name, struct err *e)
{
    const struct key *found = job_key(name), *nearest = NULL;
    size_t least = SIZE_MAX;

    for (const struct key *k = job_keys(); k->name != NULL; k++)
        if (near_better(name, k->name, &least))
            nearest = k;
    if (found == NULL && nearest != NULL)
        err_set(e, EX_USAGE, "%s: there is no such key; did you mean %s?",
            SHOWN(name), nearest->name);
    else if (found == NULL)
        err_set(e, EX_USAGE,
            "%s: there is no such key; see plan cluster --keys", SHOWN(name));
    return found;
}

int
job_set(struct job *j, const char *name, const char *value, struct err *e)
{
    const struct key *k = job_key_given(name, e);
    struct buf b = { 0 };
    double v;

    if (k == NULL)
        return -1;
    if (k->words[0] != NULL) {
        for (size_t i = 0; k->words[i] != NULL; i++)
            if (strcmp(k->words[i], value) == 0) {
                *job_value(j, k) = (double)i;
                return 0;
            }
        key_words(&b, k);
        err_set(e, EX_USAGE, "%s=%s: give one of %s", name, SHOWN(value), b.p);
        buf_release(&b);
        return -1;
    }
    if (key_number(k, value, &v) < 0 || (k->whole && v != floor(v)))
        return err_set(e, EX_USAGE, "%s=%s: give a %snumber from %g to %g%s",
            name, SHOWN(value), k->whole ? "whole " : "", k->lo, k->hi,
            strstr(name, "_gbs") != NULL ? ", in GB/s, or one such as 1gbit"
                                         : "");
    *job_value(j, k) = v;
    return 0;
}

double
job_world(const struct job *j)
{
    return j->nodes * j->m.devices;
}

double
job_data(const struct job *j)
{
    return job_world(j) / (j->tensor * j->pipeline * j->context);
}

double
job_passes(const struct job *j)
{
    return j->batch / (job_data(j) * j->micro);
}

double
job_shards(const struct job *j)
{
    return job_world(j) / (j->tensor * j->pipeline);
}

double
job_copies(const struct job *j)
{
    return job_shards(j) * (j->schedule == SCHEDULE_DUAL ? 2.0 : 1.0);
}

double
job_zero(const struct job *j)
{
    return j->shard >= 1.0 && j->shard_ranks > 0.0 ? j->shard_ranks
                                                   : job_copies(j);
}

int
job_exchanges(const struct job *j)
{
    return job_world(j) > 1.0 && j->tensor * j->pipeline * j->expert == 1.0 &&
        j->context == 1.0 && j->shard == 0.0 && j->adapters == 0.0;
}

double
job_exchanged(const struct job *j)
{
    const double sums = j->sync > 0.0 ? 4.0 : j->grad_bytes;

    return (j->wire_bytes > 0.0 ? j->wire_bytes : sums) + sums;
}

double
job_outer(const struct job *j)
{
    return !(j->sync > 0.0) ? 0.0 : j->momentum > 0.0 ? 8.0 : 4.0;
}

double
job_peak(const struct job *j)
{
    switch ((enum compute)j->compute) {
    case COMPUTE_F32: return j->m.f32_tflops;
    case COMPUTE_F8: return j->m.f8_tflops;
    case COMPUTE_BF16: break;
    }
    return j->m.bf16_tflops;
}

double
job_expert_parts(const struct job *j)
{
    return fmod(job_shards(j), j->expert) > 0 ? 1.0 : j->tensor;
}

static int
is_whole(double x)
{
    return x >= 1.0 && x == floor(x);
}

int
job_check(const struct job *j, struct err *e)
{
    const double one = j->tensor * j->pipeline * j->context;

    if (!is_whole(job_data(j)))
        return err_set(e, EX_USAGE,
            "tensor x pipeline x context = %.0f ranks do not divide %.0f", one,
            job_world(j));
    if (!is_whole(job_passes(j)))
        return err_set(e, EX_USAGE,
            "batch=%.0f is no multiple of %.0f replicas x micro=%.0f", j->batch,
            job_data(j), j->micro);
    if (j->pipeline * j->virtual > j->student.L ||
        floor((j->student.L + 2.0 * j->edges) / (j->pipeline * j->virtual)) <
            j->edges * (j->pipeline > 1 ? 1.0 : 2.0))
        return err_set(e, EX_USAGE,
            "pipeline x virtual = %.0f stages are too many for %.0f blocks "
            "and edges=%.0f",
            j->pipeline * j->virtual, j->student.L, j->edges);
    if (j->schedule == SCHEDULE_DUAL &&
        (j->virtual > 1 || fmod(j->pipeline, 2.0) > 0 ||
            job_passes(j) < 2.0 * j->pipeline))
        return err_set(e, EX_USAGE,
            "schedule=dual: needs an even pipeline, virtual=1, and twice as "
            "many passes as stages, not %.0f",
            job_passes(j));
    if (j->virtual > 1 && j->pipeline == 1)
        return err_set(e, EX_USAGE, "virtual=%.0f needs pipeline=2 or more",
            j->virtual);
    if (fmod(j->student.H, j->tensor) > 0 &&
        j->student.H == floor(j->student.H))
        return err_set(e, EX_USAGE, "tensor=%.0f does not divide %.0f heads",
            j->tensor, j->student.H);
    if (j->shard >= 2 && j->pipeline > 1)
        return err_set(e, EX_USAGE,
            "shard=%.0f: with stages weights and gradients stay whole until "
            "all passes are done; use shard=1 (PyTorch's FSDP: and unfused=2)",
            j->shard);
    if (j->sync > 0 && (one * j->expert > 1 || j->shard > 0))
        return err_set(e, EX_USAGE,
            "sync=%.0f: each rank trains a whole model; leave out tensor, "
            "pipeline, context, expert and shard",
            j->sync);
    if (!is_whole(job_copies(j) / job_zero(j)))
        return err_set(e, EX_USAGE,
            "shard_ranks=%.0f does not divide the %.0f ranks with the same "
            "part of the model",
            j->shard_ranks, job_copies(j));
    if (j->compute == COMPUTE_F8 && !(j->m.f8_tflops > 0))
        return err_set(e, EX_USAGE,
            "compute=f8: the machine has no f8_tflops; use bf16");
    if (j->expert > 1 &&
        (j->student.experts == 0 || fmod(j->student.experts, j->expert) > 0 ||
            fmod(job_shards(j) * j->tensor, j->expert) > 0))
        return err_set(e, EX_USAGE,
            "expert=%.0f does not divide both %.0f experts and the %.0f ranks "
            "with the same stage",
            j->expert, j->student.experts, job_shards(j) * j->tensor);
    if (fmod(j->length, j->context) > 0)
        return err_set(e, EX_USAGE, "context=%.0f does not divide length=%.0f",
            j->context, j->length);
    return 0;
}
