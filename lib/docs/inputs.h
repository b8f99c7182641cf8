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
    size_t below;          /* bytes of it that are the folder's */
    size_t source;         /* index of its source's name */
    uint64_t size;         /* bytes, 0 when not known */
    int documents;         /* its first line is that of documents */
    struct unpack *unpack; /* of standard input, whose first line has been
                             * looked at; owned by this struct */
};
struct input_opts {
    const char *lang;       /* NULL, a source's name, or names with commas */
    const char *lang_field; /* JSON field with the source's name, or NULL */
    int lang_path;          /* the path says which of the names */
    int jsonl;              /* everything is JSONL, whatever its name */
    int wiki;               /* everything is a Wikipedia dump */
    size_t max_ratio;       /* content for each compressed byte; 0 any */
    size_t max_members;     /* of an archive */
    int lossy;              /* what is no text is taken for it */
};
/* Names, each once, found by a hash table. */
struct name_set {
    char **name;
    size_t n;
    size_t *slot, room; /* number + 1 of a name, or 0; a power of two */
};
struct inputs {
    struct input *v;
    size_t n;
    char **source; /* names, each once: those of set */
    size_t nsource;
    struct name_set set;
    double bytes;         /* size of all, 0 when not known */
    struct passed passed; /* of files in folders */
    struct input_opts o;
    /* The only input is standard input, and clean writes it. */
    int from_clean;
    struct documents_run run; /* of that clean */
};

/* The operands (NULL-terminated): folders become their text files and
 * archives, those of folders in them included, in order of path.  The first
 * line of standard input is waited for.  EX_SYS: an operand cannot be read;
 * EX_INPUT: one is of a kind that is not read; EX_USAGE.  Released by
 * inputs_release. */
int inputs_list(struct inputs *in, char **operand, const struct input_opts *o,
    struct err *e);
void inputs_release(struct inputs *in);
/* Index of a source, or nsource. */
size_t inputs_source(const struct inputs *in, const char *name, size_t n);
/* The source of that name, made if need be, before the stream begins. */
size_t inputs_add_source(struct inputs *in, const char *name, size_t n);
/* The source that a folder or file name in the path names (--lang-path), or
 * nsource. */
size_t inputs_path_source(const struct inputs *in, const char *path);
const char *input_name(const struct input *i);

/* Kinds of files by their names; the content decides whether a NAME_JSON or
 * NAME_XML is read, see name_is_text. */
enum name_form {
    NAME_OTHER,
    NAME_TEXT,
    NAME_JSONL,
    NAME_JSON,
    NAME_XML,
    NAME_ARCHIVE
};
/* *packed: by a compressor. */
enum name_form name_form(const char *name, int *packed);
/* Is a file found in a folder or an archive text, by its name and by the
 * content that begins with p[n]?  NULL, or why not. */
const char *name_is_text(enum name_form form, const char *p, size_t n);

#endif
