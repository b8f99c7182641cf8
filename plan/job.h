/*
 * What is to be predicted: models, a machine and a layout.  Everything that can
 * be set is a number with a name, a key: of the layout ("tensor") or of the
 * machine ("net_gbs"), and one table of them reads the command line, machines'
 * files, --what-if and sweeps.
 */
#ifndef PLAN_JOB_H
#define PLAN_JOB_H

#include "shape.h"
#include "base/err.h"
#include "base/mem.h"

enum recompute { RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, RECOMPUTE_FULL };
/* Where a teacher is: whole beside each student (cut as that is), sharded over
 * the ranks of a node, over all ranks, or its targets are stored. */
enum teacher { TEACHER_WHOLE, TEACHER_NODE, TEACHER_WORLD, TEACHER_CACHED };

struct machine {
    double devices;    /* a node; a device is what a rank has */
    double memory_gb;  /* a device, 1e9 bytes */
    double memory_gbs; /* its bandwidth, GB/s */
    double bf16_tflops, f32_tflops;
    double link_gbs, link_us; /* inside a node: a device, one direction */
    double net_gbs, net_us;   /* between nodes: a device's share */
    double net_call_us;       /* of any collective between nodes */
    double matrix_eff;        /* of peak that products reach */
    double memory_eff, link_eff, net_eff; /* of those bandwidths */
    double device_watts, node_watts;      /* the node's beside its devices' */
};

struct job {
    struct shape student, teacher; /* teacher.L = 0: none */
    struct machine m;
    double nodes, tensor, pipeline, virtual, expert, context;
    double shard;                /* 0..3, as ZeRO */
    double hpz;                  /* 1: a second copy inside the node */
    double batch, length, micro; /* rows of all, tokens, rows a pass */
    double recompute, sequence, flash;
    double teacher_at, top;
    double overlap; /* of gathers with arithmetic, 0..1 */
    double f32;     /* products in fp32 */
    double weight_bytes, grad_bytes, state_bytes, act_bytes;
    double logits;        /* fp32 copies held of a pass */
    double gather_gbs;    /* 0: as the links and net_eff say */
    double spread;        /* of ranks' step times, relative */
    double tokens, price; /* of a device and hour */
};

/* One key.  A number is in [lo,hi], whole or not; or one of the words, whose
 * places are the numbers. */
struct key {
    const char *name;
    size_t at; /* in struct job */
    double lo, hi;
    int whole;
    const char *const *words;
    const char *help;
    int machine;
};
extern const struct key job_keys[]; /* ends with a name of NULL */

/* Everything but the models, as the man page has it; the machine has none. */
void job_init(struct job *j);
/* By name; NULL: there is none. */
const struct key *job_key(const char *name);
double *job_value(struct job *j, const struct key *k);
/* Its value as text: a word, or a number. */
void job_put(struct buf *b, const struct job *j, const struct key *k);
/* What a key that has words takes: "none, selective, full". */
void key_words(struct buf *b, const struct key *k);
/* value: text. -1 and *e (EX_USAGE). */
int job_set(struct job *j, const char *name, const char *value, struct err *e);

/* A shipped machine or a file.  Each member is [number, "source"]; -1 and *e
 * where one is missing, unknown or without its source. */
int machine_open(struct job *j, const char *name, struct err *e);

/* Can it be laid out so?  Devices of a replica divide those there are, the
 * batch divides among them, and so on.  -1 and *e (EX_USAGE). */
int job_check(const struct job *j, struct err *e);

/* Derived: ranks, replicas of the model, passes a step of a replica. */
double job_world(const struct job *j);
double job_data(const struct job *j);
double job_passes(const struct job *j);
/* Ranks that share what ZeRO cuts: those with the same part of the model. */
double job_shards(const struct job *j);

#endif
