/*
 * A job to predict: models, a machine and a layout.  Each setting is a number;
 * its name is a key of the layout ("tensor") or of the machine ("net_gbs").
 * The keys of keys.json serve the command line, machines' files, --what-if and
 * sweeps.
 */
#ifndef PLAN_JOB_H
#define PLAN_JOB_H

#include "rates.h"
#include "shape.h"
#include "base/err.h"
#include "base/mem.h"

/* Type of the products in blocks.  With F8, attention and head use bfloat16. */
enum compute { COMPUTE_BF16, COMPUTE_F32, COMPUTE_F8 };
/* Activations that the backward pass computes again.  SELECTIVE: attention's
 * scores.  PRODUCTS: all but the outputs of attention and of every second
 * product.  FULL: all of a block but its input. */
enum recompute {
    RECOMPUTE_NONE,
    RECOMPUTE_SELECTIVE,
    RECOMPUTE_PRODUCTS,
    RECOMPUTE_FULL
};
/* Place of the teacher.  WHOLE: each replica of the student has a copy, divided
 * over ranks like the student.  NODE: the ranks of each node share a copy.
 * WORLD: all ranks share a copy.  CACHED: no teacher runs, as its targets are
 * stored. */
enum teacher {
    TEACHER_WHOLE,
    TEACHER_NODE,
    TEACHER_WORLD,
    TEACHER_CACHED,
    TEACHER_BLOCK
};

/* Order of a pipeline's passes.  1F1B: forward and backward in turn, and with
 * `virtual` > 1 interleaved.  DUAL: DualPipe (arXiv:2412.19437, table 2): ranks
 * have stages from both ends of the model, and hide collectives of experts. */
enum schedule { SCHEDULE_1F1B, SCHEDULE_DUAL };

/* A machine and a job to predict on it.  keys.json says what each number is;
 * most names end with their unit. */
struct machine {
    double devices, memory_gb, memory_gbs, bf16_tflops, f32_tflops, f8_tflops;
    double link_gbs, link_us, net_gbs, net_us, net_call_us;
    double matrix_eff, attention_eff, product_reads, memory_eff, link_eff;
    double net_eff, tensor_hidden, reserve_gb, reserve_share;
    double time_low, time_high, memory_low, memory_high;
    double device_watts, node_watts;
    struct rates rates[RATES];
};

struct job {
    struct shape student, teacher; /* teacher.L = 0: none */
    struct machine m;
    double nodes, tensor, pipeline, virtual, expert, context, edges;
    double schedule; /* enum schedule */
    double imbalance, shard, shard_ranks, hpz;
    double sync, momentum, wire_bytes;
    double batch, length, micro, text;
    double recompute;  /* enum recompute */
    double teacher_at; /* enum teacher; its key is "teacher" */
    double compute;    /* enum compute */
    double sequence, flash, top, overlap, unfused, adapters;
    double weight_bytes, grad_bytes, state_bytes, act_bytes;
    double logits, gather_gbs, anchor, spread, tokens, price;
};

/* A key of a job.  Its value is a number in [lo,hi] or, if it has words, the
 * index of one. */
enum { KEY_WORDS = 6 };
struct key {
    const char *name;
    size_t at; /* offset in struct job */
    double lo, hi;
    int whole;                    /* 1: fractions are refused */
    const char *words[KEY_WORDS]; /* ended by NULL; [0] NULL: no words */
    const char *help;
    int machine;  /* 1: a figure of the machine */
    int optional; /* 1: a machine's file may leave the key out */
};
/* All keys, by keys.json; the last has the name NULL. */
const struct key *job_keys(void);

/* Set the defaults of all keys; the models and the machine are empty. */
void job_init(struct job *j);
/* The file in which plan calibrate keeps the figures of this machine; NULL:
 * none can be kept.  The caller frees it. */
char *machine_kept(void);
/* Set the figures and tables of j->m from a shipped machine, the kept file
 * (name "this") or another file, whose figures are [number, "source"].
 * Optional figures and tables that the file does not have keep their values.
 * Dies if another figure is missing, is unknown, or has no source. */
void machine_open(struct job *j, const char *name);
/* Find a key by name; NULL: there is none. */
const struct key *job_key(const char *name);
/* job_key for a name that the user typed.  NULL and *e (EX_USAGE): there is no
 * such key; the message names one that is spelt nearly so. */
const struct key *job_key_given(const char *name, struct err *e);
double *job_value(struct job *j, const struct key *k);
/* Append the value of a key: a word or a number. */
void job_put(struct buf *b, const struct job *j, const struct key *k);
/* Append the words of a key: "none, selective, full". */
void key_words(struct buf *b, const struct key *k);
/* Set the key `name` to `value`.  -1 and *e (EX_USAGE). */
int job_set(struct job *j, const char *name, const char *value, struct err *e);

/* Check that the job can be laid out: the ranks of a replica divide all ranks,
 * the batch divides among the replicas, and so on.  -1 and *e (EX_USAGE). */
int job_check(const struct job *j, struct err *e);

/* Number of ranks. */
double job_world(const struct job *j);
/* Number of replicas of the model. */
double job_data(const struct job *j);
/* Number of passes of a replica in a step. */
double job_passes(const struct job *j);
/* Number of ranks with the same pipeline rank and the same tensor rank. */
double job_shards(const struct job *j);
/* Number of ranks with the same part of the model: job_shards; twice as many
 * with schedule=dual, which has each stage on two ranks of a replica. */
double job_copies(const struct job *j);
/* Number of ranks among which ZeRO divides a part of the model.  If job_copies
 * is larger, the other ranks with the part hold copies. */
double job_zero(const struct job *j);
/* Has each of several ranks the whole model, so that all ranks exchange
 * gradients or, with sync, weights? */
int job_exchanges(const struct job *j);
/* Bytes that a parameter takes on its way to be summed, and back to all ranks:
 * as in dist_all_reduce, whose sums are sent in fp32 unless gradients of
 * grad_bytes are. */
double job_exchanged(const struct job *j);
/* Bytes of memory that sync takes for a parameter. */
double job_outer(const struct job *j);
/* Peak of a device's products in the type of `compute`, TFLOP/s. */
double job_peak(const struct job *j);
/* Number of ranks that divide one expert: the tensor ranks, unless the expert
 * ranks include them. */
double job_expert_parts(const struct job *j);

#endif
