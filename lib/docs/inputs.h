/* Inputs: files, folders and standard input, and which source each belongs
 * to. */
#ifndef DOCS_INPUTS_H
#define DOCS_INPUTS_H

#include "docs/documents.h"
#include "docs/passed.h"

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum split_by { SPLIT_FILE, SPLIT_LINE, SPLIT_BLANK };

struct input {
    char *path;            /* NULL: standard input */
    size_t below;          /* length of path up to the end of the operand's
                            * folder, bytes */
    size_t source;         /* index in inputs.source */
    uint64_t size;         /* bytes, 0: not known */
    int documents;         /* 1: it holds documents (documents.h) */
    int conversations;     /* 1: its first record is a conversation; only
                            * looked for with input_opts.conversations */
    struct unpack *unpack; /* standard input, if opened to look at its first
                            * line; owned by this struct */
};
struct input_opts {
    const char *lang;       /* NULL, a source's name, or several separated by
                             * commas */
    const char *lang_field; /* JSON field with the source's name, or NULL */
    int lang_path;          /* 1: the source is whichever name of lang occurs in
                             * the path */
    int jsonl;              /* 1: all input is JSONL, whatever its name */
    int wiki;               /* 1: all input is Wikipedia dumps */
    int conversations;      /* 1: look for records of conversations */
    size_t max_ratio;       /* bytes that a compressed byte may unpack to; 0:
                             * any number */
    size_t max_members;     /* members that an archive may have; 0: any
                             * number */
    int lossy;              /* 1: accept NUL bytes and any share of bad UTF-8 */
};
/* A set of names, numbered in the order of adding, with a hash table. */
struct name_set {
    char **name; /* [n] */
    size_t n;
    size_t *slot, room; /* [room] 1 + number of a name; 0: free; room is a
                         * power of two */
};
struct inputs {
    struct input *v;
    size_t n;
    char **source; /* [nsource] names of the sources: set.name */
    size_t nsource;
    struct name_set set;
    double bytes;         /* sum of the inputs' sizes; 0: not known */
    struct passed passed; /* skipped files of folders */
    struct input_opts o;
    int from_clean; /* 1: the only input is standard input, written by clean */
    struct documents_run run; /* if from_clean: the run of clean */
};

/* List the inputs of the operands (NULL-terminated).  A folder stands for the
 * text files and archives in and below it, in order of path.  Waits for the
 * first line of standard input.  0: the caller must call inputs_release; -1 and
 * *e: EX_SYS: an operand cannot be read; EX_INPUT: an operand is not text;
 * EX_USAGE. */
int inputs_list(struct inputs *in, char **operand, const struct input_opts *o,
    struct err *e);
void inputs_release(struct inputs *in);
/* Index of the source of that name; nsource: there is none. */
size_t inputs_source(const struct inputs *in, const char *name, size_t n);
/* Index of the source of that name, which is added if it is new.  Call it
 * before the stream begins. */
size_t inputs_add_source(struct inputs *in, const char *name, size_t n);
/* Index of the source that a folder or file name in the path names
 * (--lang-path); nsource: none does. */
size_t inputs_path_source(const struct inputs *in, const char *path);
const char *input_name(const struct input *i);

/* Kinds of files by their names.  Of a folder or archive, a file of kind
 * NAME_JSON or NAME_XML is read only if its content is text, see name_is_text.
 */
enum name_form {
    NAME_OTHER,
    NAME_TEXT,
    NAME_JSONL,
    NAME_JSON,
    NAME_XML,
    NAME_ARCHIVE
};
/* *packed: 1 if the name has the ending of a compressed file. */
enum name_form name_form(const char *name, int *packed);
/* Why a file in a folder or archive is not text, by its name and its content,
 * which begins with p[n]; NULL: it is text. */
const char *name_is_text(enum name_form form, const char *p, size_t n);

#endif
