/* Opening a model, from a Hugging Face directory or from a GGUF file: what both
 * ways share (open.c), and the .safetensors files of a directory (source.c).
 * Private to lib/model. */
#ifndef MODEL_OPEN_H
#define MODEL_OPEN_H

#include "base/io.h"
#include "format/gguf_file.h"
#include "model/config/config_renamed.h"
#include "model/files/model.h"

/* The files that hold a model's weights; m->own points to it. */
struct model_source {
    struct io_map *map;   /* [n] mapped files of a Hugging Face directory */
    struct st *st;        /* [n] */
    char **file;          /* [n] their names in the directory */
    unsigned char **used; /* [n][st.nt] 1: the model uses the tensor */
    size_t n;
    const char *prefix;       /* with which names of tensors begin */
    char own_prefix[24];      /* that of the family, such as "model." */
    const struct renamed *as; /* config_renamed.h; or NULL */
    size_t f8[2]; /* rows and columns of a block with a scale (f8.h) */
    const unsigned char ***part; /* [nparts] lists of struct weight.part */
    size_t nparts;
    void **made; /* [nmade] weights that were computed from stored ones */
    size_t nmade;
    struct gguf_file gguf;    /* empty if the model is a directory */
    unsigned char *gguf_used; /* [gguf.g.nt] 1: the model uses the tensor */
};

/* Free `made` when the model is closed. */
void source_keep(struct model_source *s, void *made);

/* Make w the rows x cols numbers of type t at p.  -1: weights cannot have type
 * t, or a row is not a whole number of t's blocks. */
int weight_set(struct weight *w, const void *p, enum dtype t, size_t rows,
    size_t cols);

/* Make the rows of w one row: a vector.  Its numbers lie without gaps. */
void weight_flatten(struct weight *w);
/* Have two weights of one shape the same type and the same stored bytes? */
int weight_same(const struct weight *a, const struct weight *b);

/* Open the files of m's directory.  source_tensor: find a tensor and
 * mark it as used; *file: the index of its file.  NULL: not found. */
int source_files(struct model *m, struct model_source *s, struct err *e);
const struct st_tensor *source_tensor(struct model_source *s, const char *name,
    size_t *file);

int open_hf(struct model *m, struct model_source *s, struct err *e);

#endif
