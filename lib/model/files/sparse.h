/*
 * Sparse matrices: training keeps the zeros of the tensors that block.sparse
 * marks.  config.json lists them:
 *   "retort": {"sparse": {"pattern": "2:4", "tensors": ["model.layers.0...."]}}
 * The pattern (config.sparse) is one of
 *   "N:M": of each M numbers in a row at most N are not zero
 *   "unstructured": any may be zero
 */
#ifndef MODEL_SPARSE_H
#define MODEL_SPARSE_H

#include "base/err.h"
#include "model/files/model.h"

#include <jansson.h>

/* Read N and M from a pattern; 0 and 0: unstructured.  -1: EX_INPUT, "'...':
 * why". */
int sparse_pattern(const char *pattern, size_t *n, size_t *m, struct err *e);
/* Set m->c.sparse and block.sparse from a parsed config.json.  The blocks must
 * be set already.  -1: EX_INPUT; the error names the JSON path. */
int sparse_read(struct model *m, const json_t *j, struct err *e);
/* Mark tensor t of that block as sparse 2:4, whether or not config.json lists
 * it.  If the model has another pattern, nothing is done. */
void sparse_mark(struct model *m, size_t block, int t);
/* The number of block matrices that are at least a quarter zero but not in
 * block.sparse, so that training would fill their zeros.  Drops the pages that
 * it reads. */
size_t sparse_unnamed(const struct model *m);
/* Add "sparse" to the config.json j that config_to_json made, if some tensor is
 * sparse. */
void sparse_write(const struct model *m, json_t *j);

#endif
