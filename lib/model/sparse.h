/*
 * Sparse matrices: training keeps the zeros of the block tensors in
 * block.sparse.  config.json lists these tensors:
 *   "retort": {"sparse": {"pattern": "2:4", "tensors": ["model.layers.0...."]}}
 * pattern is config.sparse: "N:M" for at least M - N zeros in each M numbers of
 * a row, or "unstructured".
 */
#ifndef MODEL_SPARSE_H
#define MODEL_SPARSE_H

#include "base/err.h"
#include "model/model.h"

#include <jansson.h>

/* Read N and M from a pattern; 0 and 0: unstructured.  -1: EX_INPUT, "'...':
 * why". */
int sparse_pattern(const char *pattern, size_t *n, size_t *m, struct err *e);
/* Set m->c.sparse and block.sparse from a parsed config.json; the blocks must
 * be set.  -1: EX_INPUT; the error names the JSON path. */
int sparse_read(struct model *m, const json_t *j, struct err *e);
/* Mark tensor t of that block as sparse 2:4, though config.json may not list
 * it; no effect in a model with another pattern. */
void sparse_mark(struct model *m, size_t block, int t);
/* Count the block matrices that are at least a quarter zero but not in
 * block.sparse: training would fill their zeros.  Drops the pages that it
 * reads. */
size_t sparse_unnamed(const struct model *m);
/* Add "sparse" to j of config_to_json; nothing if no tensor is sparse. */
void sparse_write(const struct model *m, json_t *j);

#endif
