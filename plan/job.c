/* Keys of a prediction: see job.h */
#include "job.h"
#include "base/io.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const char *const recompute_words[] = { "none", "selective", "products",
    "full", NULL };
static const char *const teacher_words[] = { "whole", "node", "world", "cached",
    NULL };
static const char *const types[] = { "bf16", "f32", "f8", NULL };
static const char *const schedules[] = { "1f1b", "dual", NULL };
static const char *const no_yes[] = { "no", "yes", NULL };

#define COUNT(k, hi, help)                                   \
    {                                                        \
#k, offsetof(struct job, k), 1, hi, 1, NULL, help, 0 \
    }
#define REAL(k, lo, hi, help)                                 \
    {                                                         \
#k, offsetof(struct job, k), lo, hi, 0, NULL, help, 0 \
    }
#define WORD(name, k, words, n, help)                          \
    {                                                          \
        name, offsetof(struct job, k), 0, n, 1, words, help, 0 \
    }
#define FIGURE(k, lo, hi, help)                                 \
    {                                                           \
#k, offsetof(struct job, m.k), lo, hi, 0, NULL, help, 1 \
    }
#define OPTIONAL(k, lo, hi, help)                               \
    {                                                           \
#k, offsetof(struct job, m.k), lo, hi, 0, NULL, help, 2 \
    }

const struct key job_keys[] = {
    COUNT(nodes, 1e6, "nodes"),
    COUNT(tensor, 4096, "ranks that share every matrix product"),
    COUNT(pipeline, 4096, "stages that blocks are divided among"),
    COUNT(virtual, 4096, "parts of a stage, interleaved"),
    COUNT(expert, 4096, "ranks that experts are divided among"),
    { "edges", offsetof(struct job, edges), 0, 64, 1, NULL,
        "blocks that the first and the last stage each have fewer", 0 },
    WORD("schedule", schedule, schedules, 1, "order of the passes of stages"),
    REAL(imbalance, 1, 16, "tokens of the fullest expert rank / their mean"),
    COUNT(context, 4096, "ranks that share a row's tokens"),
    { "shard", offsetof(struct job, shard), 0, 3, 1, NULL,
        "ZeRO: 1 optimiser, 2 gradients too, 3 weights too", 0 },
    { "shard_ranks", offsetof(struct job, shard_ranks), 0, 1e7, 1, NULL,
        "ranks among which ZeRO divides, others have copies; 0: all", 0 },
    WORD("hpz", hpz, no_yes, 1,
        "a second copy of weights in each node, with shard=3"),
    COUNT(batch, 1e9, "rows of a step, of all ranks (-B)"),
    COUNT(length, 1e8, "tokens of a row (-T)"),
    { "text", offsetof(struct job, text), 0, 1e8, 1, NULL,
        "mean tokens of a packed text; 0: a row is one text", 0 },
    COUNT(micro, 1e6, "rows of a pass (--micro)"),
    WORD("recompute", recompute, recompute_words, 3, "what is computed again"),
    WORD("adapters", adapters, no_yes, 1,
        "only small adapters are trained (LoRA)"),
    WORD("sequence", sequence, no_yes, 1,
        "norms and residuals divided among tensor ranks"),
    WORD("flash", flash, no_yes, 1, "attention by tiles, no scores in memory"),
    WORD("teacher", teacher_at, teacher_words, 3,
        "where the teacher runs (cached: it ran before)"),
    { "top", offsetof(struct job, top), 0, 1e6, 1, NULL,
        "most probable tokens in a target; 0: final states", 0 },
    REAL(overlap, 0, 1, "share of gathers that arithmetic hides"),
    REAL(unfused, 0, 8,
        "times that norms and losses move their bytes; 0: 2 with shard=3, else "
        "1"),
    WORD("compute", compute, types, 2,
        "type of products; f8: of those in blocks"),
    REAL(weight_bytes, 0.5, 8, "bytes of a weight, stored and gathered"),
    REAL(grad_bytes, 0.5, 8, "bytes of a gradient, stored and reduced"),
    REAL(state_bytes, 0, 32, "bytes of a parameter's master copy and moments"),
    REAL(act_bytes, 0.5, 8, "bytes of an activation"),
    REAL(logits, 0, 16,
        "fp32 copies of a pass's logits; twice that with a teacher"),
    REAL(gather_gbs, 0, 1e6,
        "GB/s of a rank that gathers weights; 0: by links and net_eff"),
    REAL(anchor, 0, 1e3,
        "measured / predicted step of your software (--anchor); 0: not known"),
    REAL(spread, 0, 1, "relative spread of ranks' times"),
    REAL(tokens, 0, 1e18, "tokens of the whole run"),
    REAL(price, 0, 1e6, "price of a device for an hour"),
    FIGURE(devices, 1, 1e4, "devices a node; each has a rank"),
    FIGURE(memory_gb, 1e-3, 1e6, "memory of a device, 1e9 bytes"),
    FIGURE(memory_gbs, 1e-3, 1e6, "bandwidth of that memory, GB/s"),
    FIGURE(bf16_tflops, 1e-6, 1e6, "peak of dense products in bfloat16"),
    FIGURE(f32_tflops, 1e-6, 1e6, "peak of dense products in fp32"),
    OPTIONAL(f8_tflops, 0, 1e6, "peak of dense products in 8 bits; 0: none"),
    FIGURE(link_gbs, 1e-3, 1e6, "GB/s of a device in its node, one direction"),
    FIGURE(link_us, 0, 1e6, "latency of a message in a node"),
    FIGURE(net_gbs, 1e-3, 1e6, "GB/s of a device to other nodes"),
    FIGURE(net_us, 0, 1e6, "latency of a message between nodes"),
    FIGURE(net_call_us, 0, 1e6, "latency of a collective between nodes"),
    FIGURE(matrix_eff, 1e-3, 1, "share of peak that large products reach"),
    OPTIONAL(attention_eff, 1e-3, 1,
        "share of peak that flash attention reaches"),
    OPTIONAL(product_reads, 0, 16,
        "times that a product moves its three matrices"),
    FIGURE(memory_eff, 1e-3, 1, "share of memory_gbs that other work reaches"),
    FIGURE(link_eff, 1e-3, 1, "share of link_gbs that collectives reach"),
    FIGURE(net_eff, 1e-3, 1, "share of net_gbs that collectives reach"),
    OPTIONAL(tensor_hidden, 0, 1,
        "share of the collectives of tensor ranks that products hide"),
    OPTIONAL(reserve_gb, 0, 1e6,
        "memory of context, libraries and caches, 1e9 bytes"),
    OPTIONAL(reserve_share, 0, 1,
        "memory lost to fragmentation, as a share of tensors"),
    OPTIONAL(time_low, 0, 1,
        "least published step, as a share of its prediction; 0: not known"),
    OPTIONAL(time_high, 0, 100,
        "longest published step, as a share of its prediction; 0: not known"),
    OPTIONAL(memory_low, 0, 1,
        "least published memory, as a share of its prediction"),
    OPTIONAL(memory_high, 1, 100,
        "most published memory, as a share of its prediction"),
    FIGURE(device_watts, 0, 1e5, "power of a device"),
    FIGURE(node_watts, 0, 1e6, "power of a node beside its devices"),
    { NULL, 0, 0, 0, 0, NULL, NULL, 0 },
};

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
    j->weight_bytes = j->grad_bytes = j->act_bytes = j->logits = 2;
    j->state_bytes = 12;
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
    for (const struct key *k = job_keys; k->name != NULL; k++)
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

    if (k->words != NULL)
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

int
job_set(struct job *j, const char *name, const char *value, struct err *e)
{
    const struct key *k = job_key(name);
    struct buf b = { 0 };
    double v;

    if (k == NULL)
        return err_set(e, EX_USAGE,
            "%s: there is no such key; see plan cluster --keys", SHOWN(name));
    if (k->words != NULL) {
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
    if (number_real(value, k->lo, k->hi, &v) < 0 || (k->whole && v != floor(v)))
        return err_set(e, EX_USAGE, "%s=%s: give a %snumber from %g to %g",
            name, SHOWN(value), k->whole ? "whole " : "", k->lo, k->hi);
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
