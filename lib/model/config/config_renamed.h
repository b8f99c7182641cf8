/*
 * Model types whose arithmetic is that of a family in family.c: their
 * configuration is read as the family's, and their tensors are found by their
 * own names.  Such a model is written as one of the family.
 */
#ifndef MODEL_CONFIG_RENAMED_H
#define MODEL_CONFIG_RENAMED_H

#include "base/err.h"
#include "model/config/family.h"

#include <jansson.h>

struct renamed {
    const char *type; /* model_type in config.json */
    const char *is;   /* the family */
    /* set keys of the family from keys of the type; or NULL */
    int (*keys)(json_t *j, struct err *e);
    int pairs;  /* rows of Q and K are stored for RoPE that turns neighbours:
                 * in the order of a permuted GGUF (family.h) */
    int shared; /* the MLP's tensors are shared_mlp.input_linear (gate, then up)
                 * and shared_mlp.output_linear */
    int sees;   /* the whole model sees images; this is its part for text */
};

/* The row of a model_type; NULL: the table has none. */
const struct renamed *renamed_named(const char *type);
/* The type of the part about text of a parsed config.json; NULL: it is a
 * family, or unknown. */
const struct renamed *renamed_of(const json_t *model);

/* Make a configuration of r's family from j, that of a model of r's type: the
 * caller frees it.  Missing keys have the values that transformers assumes for
 * r's type, where they are not those of the family.  NULL and *e: a key has a
 * value that is not implemented. */
json_t *renamed_config(const struct renamed *r, const json_t *j, struct err *e);

/* The stored tensor of a model of type r (NULL: of c's family) that holds
 * tensor t of a block. */
struct stored_rows renamed_stored(const struct renamed *r,
    const struct config *c, int t);

#endif
