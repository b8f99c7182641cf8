/* The parts of prune, which makes a model smaller; see prune(1). */
#ifndef PRUNE_PRUNE_H
#define PRUNE_PRUNE_H

#include "base/pool.h"
#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

/* ---- calib.c: what the model is judged on ---- */

struct calib {
    size_t R, T;
    uint32_t *ids, *first; /* [R,T] as in struct rows */
    size_t n;              /* scored predictions, in order of place */
    size_t *at;            /* [n] place in [R,T] */
    uint32_t *target;      /* [n] */
    size_t ntok;           /* without padding */
    char *tokenizer;       /* its hash; malloc'd, NULL: not told */
};
/* Read up to `rows` rows of batches (0: all); dies on damage, and on ids of
 * another tokenizer than that at path `tokenizer`, if there is one. */
void calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer);
void calib_release(struct calib *c);

/* ---- eval.c: the model on it ---- */

/* Which blocks are walked, and how much of their MLPs. */
struct shape {
    size_t n;
    size_t *block; /* [n] indices in the model */
    size_t *width; /* [n] channels kept; that of the block: all */
};

struct score {
    double nll, kl; /* nats a token; KL(unpruned || this), T = 1 */
};
/* What is minimised: nll + kl. */
double score_sum(const struct score *s);

struct judge {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f, *base; /* base: for the head of the unpruned model */
    size_t chunk;         /* rows at a time */
    float *x, *h;         /* of one chunk */
    float *hp;            /* [c->n,d] unpruned final states */
    float **cache;        /* [L+1] inputs [R,T,d] of the walked blocks, by
                             * place in the list; last: their output */
    double **importance;  /* [L][mlp] of every walked block's channels */
    double *influence;    /* [L] 1 - cos(input, output), mean over tokens */
};
void judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool);
void judge_release(struct judge *j);
size_t judge_bytes(const struct model *m, const struct calib *c);
/*
 * Walk the blocks of s (whole) from place `from` on, filling the cache, their
 * influence and their channels' importance:
 *   sum over tokens act[c]^2 * |column c of down|^2
 * (the energy that the channel adds to the residual stream).
 */
void judge_profile(struct judge *j, const struct shape *s, size_t from);
/* Score a walk over blocks[n] that begins with the cached input at place
 * `from`.  keep [n]: for each block 1 or 0 a channel, kept or not; NULL, or
 * NULL for a block: all are. */
void judge_score(struct judge *j, size_t from, const size_t *blocks, size_t n,
    const float *const *keep, struct score *out);
/* Score of another model (a cut one), from its embedding on. */
void judge_model(struct judge *j, const struct model *m, struct score *out);

/* ---- search.c: what to cut ---- */

struct goal {
    size_t params;     /* at most; SIZE_MAX: no limit */
    size_t blocks;     /* kept exactly; 0: any number */
    size_t width;      /* of the MLPs exactly; 0: any */
    size_t multiple;   /* of which widths are */
    size_t candidates; /* blocks tried a round; 0: all */
};

/* One configuration that was evaluated. */
struct trial {
    const char *kind; /* "whole", "drop", "mix", "cut" */
    struct shape s;
    size_t width; /* widest MLP */
    size_t params;
    struct score score;
    double seconds;
    int taken; /* it is the step taken or the mix chosen */
};
struct search {
    struct trial *t;
    size_t n, cap;
    size_t best;      /* index of the mix that is chosen */
    struct score now; /* of the blocks left, with all their channels */
};
/* Fill *s; the chosen trial's channels are in chan [L][width] of the model's
 * blocks, NULL where all are kept.  Dies (EX_USAGE) when nothing meets the
 * goal. */
void search_run(struct search *s, struct judge *j, const struct goal *g,
    size_t ***chan);
void search_release(struct search *s);
/* Channels of the greatest importance, ascending, first ones on ties. */
void top_channels(const double *importance, size_t n, size_t keep,
    size_t *chan);
struct trial *search_add(struct search *s, const char *kind);

/* ---- report.c ---- */

/* "0-3,5" */
void shape_text(const struct shape *s, char *out, size_t size);
struct buf;
/* Append all trials as TSV. */
void report_tsv(const struct search *s, struct buf *b);

#endif
