/* Inputs of tokenize: files, folders and standard input, compressed or not,
 * cut into records. */
#ifndef TOKENIZE_IN_H
#define TOKENIZE_IN_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

#define DOC_MAX ((size_t)256 << 20)     /* bytes of one record */

enum split_by { SPLIT_FILE, SPLIT_LINE, SPLIT_BLANK };

struct input {
    char *path;             /* NULL: standard input */
    size_t source;          /* index of its source's name */
    int jsonl;
};
struct inputs {
    struct input *v;
    size_t n;
    char **source;          /* names, each once */
    size_t nsource;
    double bytes;           /* size of all, 0 when not known */
};
struct input_opts {
    const char *lang;       /* NULL, a source's name, or names with commas */
    const char *lang_field; /* JSON field with the source's name, or NULL */
    int jsonl;              /* everything is JSONL, whatever its name */
};

/* The operands (NULL-terminated): folders become their text files in order of
 * name.  EX_SYS, EX_USAGE.  Released by inputs_release. */
int inputs_list(struct inputs *in, char **operand,
    const struct input_opts *o, struct err *e);
void inputs_release(struct inputs *in);
/* Index of a source, or nsource. */
size_t inputs_source(const struct inputs *in, const char *name, size_t n);
/* The source of that name, made if need be, before the stream begins. */
size_t inputs_add_source(struct inputs *in, const char *name, size_t n);
const char *input_name(const struct input *i);

struct reader;
/* Open an input; what compresses it is seen in its content (gzip, bzip2, xz,
 * zstd, lz4). */
struct reader *reader_open(const struct input *i, enum split_by split,
    struct err *e);
/* Append the next record to *rec (cleared first); *at is its offset in the
 * decompressed input.  1; 0 at the end; -1 and *e. */
int reader_next(struct reader *r, struct buf *rec, uint64_t *at,
    struct err *e);
/* Bytes of the file (compressed) read so far. */
double reader_done(const struct reader *r);
void reader_close(struct reader *r);

#endif
