/* The file of a profile's Hessians, written block by block. */
#ifndef PRUNE_HESS_OUT_H
#define PRUNE_HESS_OUT_H

#include "base/err.h"
#include "base/io.h"

#include <stddef.h>

/* Floats of all Hessians of a block whose inputs have widths n [FWD_INPUTS]. */
size_t hess_floats(const size_t *n);
/* Begin file `path` for Hessians of widths [L,FWD_INPUTS]: its header.  The
 * floats of each block follow, in order of input, by io_out_write. */
int hess_out_begin(struct io_out *o, const char *path, const size_t *width,
    size_t L, struct err *e);

#endif
