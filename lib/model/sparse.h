/*
 * Sparse matrices: in a block's tensors that block.sparse names, zeros are
 * meant, and training keeps them.  In config.json that is
 *   "retort": {"sparse": {"pattern": "2:4", "tensors": ["model.layers.0...."]}}
 * where the pattern, config.sparse, tells people and kernels which zeros there
 * are: at least M - N of each M in a row for "N:M", or "unstructured".
 */
#ifndef MODEL_SPARSE_H
#define MODEL_SPARSE_H

#include "base/err.h"
#include "model/model.h"

#include <jansson.h>

/* N and M of a pattern that may stand there; 0 and 0: unstructured.  -1:
 * EX_INPUT, "'...': why". */
int sparse_pattern(const char *pattern, size_t *n, size_t *m, struct err *e);
/* From a parsed config.json into m->c.sparse and the blocks, which are there
 * already; -1: EX_INPUT, by its JSON path. */
int sparse_read(struct model *m, const json_t *j, struct err *e);
/* Tensor t of that block is 2:4, whatever config.json has not said; nothing in
 * a model of another pattern. */
void sparse_mark(struct model *m, size_t block, int t);
/* Matrices of blocks at least a quarter of which is zero, though they are not
 * named: training fills them.  Reads all weights, and forgets them again. */
size_t sparse_unnamed(const struct model *m);
/* Into that of config_to_json; nothing where no tensor is sparse. */
void sparse_write(const struct model *m, json_t *j);

#endif
