/* The model that a command of prune writes. */
#ifndef PRUNE_WRITE_H
#define PRUNE_WRITE_H

#include "cli/opt.h"
#include "model/files/model.h"

/* The words of --dtype.  write_dtype: type that the word of index `choice`
 * names. */
extern const char *const write_types[];
enum dtype write_dtype(int choice);
/* Die if `out` is NULL (-o is missing), exists, cannot be made, or is the path
 * of --report (NULL: not given). */
void write_check_folder(const char *out, const char *report);
/*
 * Return the path of the tokenizer to write beside the model at `out`: `given`,
 * once it is checked; if `given` is NULL, the model's own.  Returns NULL, after
 * a note, if the model has none.  Dies.
 */
const char *write_tokenizer(const struct model *m, const char *given,
    const char *out);
/* Write a model, its tokenizer (NULL: none) and its model card; signals do not
 * interrupt the write.
 *   type: index of write_types
 *   by: the command, such as "prune cut"; table: its options
 *   scores: as in struct card
 * Dies. */
void write_model(const struct model *m, const char *out, int type,
    const char *tokenizer, const char *by, const struct opt *table,
    const char *scores);

#endif
