/*
 * Units: independent observations, over which standard errors are computed.  A
 * unit is a document (all its pieces) or, under llama.cpp's protocol, a window.
 * For each unit and model there are sums over the unit's scored predictions.
 */
#ifndef EVALPPL_UNITS_H
#define EVALPPL_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define NONE SIZE_MAX

enum quantity {
    Q_NLL,    /* loss, nats */
    Q_KL,     /* KL(base || model) */
    Q_KLT,    /* KL(base || model) at --temperature */
    Q_AGREE,  /* 1: the most probable ids of model and base are equal */
    Q_NLL2,   /* squared loss */
    Q_CROSS,  /* the model's loss times the base's */
    Q_BACK,   /* KL(model || base) */
    Q_BACKT,  /* KL(model || base) at --temperature */
    Q_DP,     /* the target's probability, the model's minus the base's */
    Q_DP2,    /* Q_DP squared */
    Q_ACCEPT, /* sum over the vocabulary of the smaller of the probabilities
               * of model and base */
    Q_N
};
struct sums {
    double v[Q_N];
};

struct unit {
    uint64_t key;
    size_t source;
    size_t n;      /* predictions scored */
    double weight; /* sum of the predictions' weights, see pack.weight */
    size_t bytes;  /* bytes of the scored tokens; lm-eval: of the whole text */
    size_t words;  /* lm-eval: words of the text */
};

struct units {
    struct unit *unit; /* [n] */
    struct sums *sum;  /* [n][models] */
    size_t n, cap, models;
};

/* Append an empty unit; returns its index.  u->models must be set before. */
size_t units_add(struct units *u, size_t source, uint64_t key);
/* Sums of a model over a unit. */
struct sums *units_sums(const struct units *u, size_t unit, size_t model);
/* Merge units with the same source and key into the first of them. */
void units_merge(struct units *u);
/* Does a unit belong to the source (NONE: any) and have a scored prediction? */
int units_count(const struct units *u, size_t unit, size_t source);
/* Number of units for which units_count is true. */
size_t units_of(const struct units *u, size_t source);
void units_release(struct units *u);

#endif
