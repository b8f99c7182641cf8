/* The parts of evalppl, which judges models on a stream; see evalppl(1). */
#ifndef EVALPPL_H
#define EVALPPL_H

#include "base/mem.h"
#include "base/pool.h"
#include "eval/mean.h"
#include "eval/models.h"
#include "eval/table.h"
#include "msg/msg.h"
#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

enum protocol { PROTO_DOCS, PROTO_LLAMA, PROTO_HF, PROTO_LMEVAL, PROTO_STREAM };
extern const char *const protocol_name[];

#define NONE SIZE_MAX

/* What is summed over the scored predictions of one unit, for one model. */
enum quantity {
    Q_NLL,   /* nats */
    Q_KL,    /* KL(base || model) */
    Q_KLT,   /* the same at --temperature */
    Q_AGREE, /* the model's most likely id is the base's */
    Q_NLL2,  /* squares of the loss */
    Q_CROSS, /* the model's loss times the base's */
    Q_BACK,  /* KL(model || base) */
    Q_BACKT, /* the same at --temperature */
    Q_DP,    /* change of the target's probability, and its square */
    Q_DP2,
    Q_N
};
struct sums {
    double v[Q_N];
};

/* What counts as one independent observation: a document (all its pieces), or
 * a window of the llama.cpp protocol. */
struct unit {
    uint64_t key;
    size_t source;
    size_t n;      /* predictions scored */
    double weight; /* they count as so many: n, but see pack.weight */
    size_t bytes;  /* of the tokens scored; lm-eval: of the whole text */
    size_t words;  /* lm-eval: of the text */
};

struct eval {
    struct judged *j; /* [nj], the base first if there is one */
    size_t nj;
    size_t base, from; /* index in j, or NONE */
    struct pool *pool;
    double temperature; /* of the second KL; 1: none */
    int compute;        /* of compute_names */
    int told;           /* what that costs */
    enum protocol protocol;
    size_t c, stride; /* tokens of a window; tokens between their begins */
    size_t rows;      /* of a forward pass, 0: about 4096 tokens */

    struct stream_info info;
    struct detail *detail; /* or NULL, as the next */
    struct tokens *tokens;
    struct vocab *vocab; /* texts of tokens; NULL: no tokenizer of the stream */
    const char *input;
    size_t ntokens; /* in the stream, without padding */
    size_t nfed;    /* tokens that went through each model: windows overlap */

    struct resume *resume; /* or NULL, as the next */
    struct spread *spread;
    struct taught *taught; /* the base is the stream's teacher, or NULL */
    struct base_in *in;    /* the base is a file of llama.cpp's, or NULL */
    const char *out_path;  /* of such a file to write, or NULL */
    struct base_out *out;  /* begun */
    struct whole *whole;   /* room for them */
    struct unit *unit;     /* [nunit] */
    struct sums *sum;      /* [nunit][nj] */
    size_t nunit, cap;
    struct eval *also; /* models of another tokenizer, on the same text; or
                        * NULL */
};

/* ---- judged.c ---- */

/* Open [label=]path, where a label has no slash; its index.  Dies on damage. */
size_t judged_open(struct eval *e, const char *spec);
/* One of those judged, by label or path, or another, which is opened. */
size_t judged_find(struct eval *e, const char *spec);
/* Dies if q and p have more or fewer ids and one's tokenizer is not the
 * input's. */
void judged_sizes(const struct eval *e, const struct judged *q,
    const struct judged *p);
/* How many ids the model with the fewest has. */
size_t judged_ids(const struct eval *e);
/* Models of another tokenizer than the first one's go to e->also, and so on
 * there. */
void judged_split(struct eval *e);

/* ---- read.c: the stream into rows; text.c: text into rows ---- */

/* Read all of the input and score it; dies on damage. */
void eval_stream(struct eval *e, const char *addr);
void eval_text(struct eval *e, const char *path);
/* The same of the text of e->in. */
void eval_base(struct eval *e);

/* ---- run.c: rows into sums ---- */

/* Rows that are filled, then scored by every model. */
struct pack {
    size_t B, T;
    uint32_t *ids, *first;   /* [B,T] as in struct rows */
    size_t *used;            /* [B] tokens taken of a row */
    size_t rows;             /* rows begun */
    int known;               /* what models say of them is in e->resume */
    size_t n;                /* predictions to score */
    size_t *at;              /* [n] place in [B,T] of the prediction */
    uint32_t *target;        /* [n] */
    size_t *unit;            /* [n] */
    size_t *pos;             /* [n] place of the target in its document */
    double *weight;          /* [n] 1, but of hf's later windows less */
    float *x;                /* [B,T,d] of the widest model */
    double *nll;             /* [n] */
    struct pair_score *soft; /* [n] of one model, at --temperature */
};
void pack_init(struct pack *p, struct eval *e, size_t T);
void pack_release(struct pack *p);
/* Score what has been filled and begin anew. */
void pack_flush(struct pack *p, struct eval *e);
/* The n predictions from k on, of model i beside the base, which e->j[i].pair
 * and p->soft hold, or e->resume, into the sums; first: the base's own loss
 * too. */
void pack_take(struct eval *e, const struct pack *p, size_t i, size_t k,
    size_t n, int first);
/* A new unit; its index. */
size_t unit_add(struct eval *e, size_t source, uint64_t key);
/* Join the units of one document. */
void units_merge(struct eval *e);

/* ---- whole.c: llama.cpp's files of a base, some rows of logits at a time;
 * what recorded.c opens ---- */

/* Score all models against the next rows of e->in; the row of each prediction
 * of the base, or the only model, into e->out. */
void whole_score(struct eval *e, const struct pack *p);
void whole_write(struct eval *e, const struct pack *p);
void whole_free(struct whole *w);

/* The base is what that file says; a judged model without a model. */
void recorded_open(struct eval *e, const char *path);
/* The base is what the stream's teacher says of batches; after the models. */
void recorded_stream(struct eval *e);
/* The message `teacher`; a batch, of which recorded_state puts the state of
 * token i beside prediction k; room for n predictions. */
void recorded_teacher(struct eval *e, const struct msg *m);
void recorded_batch(struct eval *e, const struct msg *m);
void recorded_state(struct eval *e, size_t i, size_t k);
void recorded_room(struct eval *e, size_t n);
/* What a stream would tell of its text, by the first model's tokenizer. */
void recorded_text(struct eval *e);
/* Begin e->out with the text's n tokens; and end it. */
void recorded_begin(struct eval *e, const uint32_t *ids, size_t n);
void recorded_end(struct eval *e);
void recorded_close(struct eval *e);

/* ---- stat.c: sums into figures ---- */

struct figures {
    size_t units, n;
    size_t bytes, words; /* 0: unknown */
    struct mean bits;    /* a byte */
    double byte_ppl, word_ppl;
    struct mean nll, kl, klt, agree;
    double ppl, low, high, ppl_se; /* perplexity, 95 % interval */
    double ppl_ratio;              /* 100 ppl(base) / ppl */
    double regained; /* 100 (nll(from) - nll) / (nll(from) - nll(base)), or NAN
                      * where eval_cost does not show */
};
/* Mean of a quantity over the units of a source (NONE: all) for model a, or
 * of the difference a - b, paired by unit (b NONE: of a alone). */
struct mean eval_mean(const struct eval *e, size_t source, enum quantity q,
    size_t a, size_t b);
/* Loss that e->from has more than e->base, nats a token, paired; both are not
 * NONE.  It shows where it is more than twice its standard error, or 0 where
 * that is not known. */
struct mean eval_cost(const struct eval *e, size_t source);
int eval_cost_shows(const struct mean *cost);
/* Mean difference of bits a byte, model a of e less b of f, of the same
 * documents. */
struct mean bits_difference(const struct eval *e, size_t a,
    const struct eval *f, size_t b);
void eval_figures(const struct eval *e, size_t source, size_t model,
    struct figures *f);

/* Units of a source in which something has been scored. */
size_t units_of(const struct eval *e, size_t source);

/* ---- print.c ---- */

/* "(all)" for NONE. */
const char *source_name(const struct eval *e, size_t source);
/* Append the report. */
void eval_print(const struct eval *e, enum format f, int per_source,
    int compare, struct buf *b);
/* What is known so far, on standard error.  Joins units. */
void eval_partial(struct eval *e);

#endif
