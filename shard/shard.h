/* The parts of the program shard: see shard(1) */
#ifndef SHARD_SHARD_H
#define SHARD_SHARD_H

#include "base/err.h"
#include "shard/set.h"

#include <stddef.h>

struct dump_opts {
    const char *tokenizer; /* to decode ids with, or NULL */
    size_t values;         /* values, documents, pieces shown of each */
    size_t messages;       /* shown; SIZE_MAX: all */
    int partial;
};
/* What a directory counts: "rows" or "documents". */
const char *unit_of(const struct manifest *m);
/* Show a stream or directory on standard output; dies on damage. */
void dump(const char *addr, const struct dump_opts *o);
/* Print the table of a directory on standard output. */
void list(const char *dir);

/* Formats of other projects: see shard/foreign/foreign.h. */
struct import_opts {
    int format;            /* enum foreign */
    const char *tokenizer; /* or NULL: */
    size_t vocab;
    const char *bos, *eos; /* id or "none"; NULL: not said */
    const char *source;    /* name for all inputs, or NULL */
};
struct export_opts {
    int format;
    const char *source; /* only this one, or NULL */
    int partial;
};
/* Inputs (NULL-terminated) become the directory dir; dies on damage. */
void import(char **in, const char *dir, const struct import_opts *o,
    const struct shard_opts *so);
/* The documents of a stream or directory become files at path. */
void export(const char *input, const char *path, const struct export_opts *o);

/* Store what is intact of dir in out, or (NULL) in its place; tokenizer (may
 * be NULL) tells of a stream whose description is lost. */
void repair(const char *dir, const char *out, const char *tokenizer,
    const struct shard_opts *o);
/* new takes the place of dir, which becomes old, at once where the system
 * can; dies. */
void exchange(const char *dir, const char *new, const char *old);
/* Streams and directories (NULL-terminated; none: standard input) become one
 * in dir, sources merged by name; append: after what dir holds. */
void merge(char **in, const char *dir, int append, int partial,
    const struct shard_opts *o);
/* Say on stderr where dir is damaged and what was there; the number of places
 * found. */
size_t survey(const char *dir);

#endif
