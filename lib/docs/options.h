/* Options of programs that read documents; cli/opt.h has the OPT_ macros. */
#ifndef DOCS_OPTIONS_H
#define DOCS_OPTIONS_H

#include "docs/docs.h"

/* Words of --split, by enum split_by; ends with NULL. */
extern const char *const docs_split_names[];

/* Defaults of a struct input_opts and a struct docs_opts. */
#define DOCS_INPUT_DEFAULTS                        \
    {                                              \
        .max_ratio = 10000, .max_members = 1000000 \
    }
#define DOCS_DEFAULTS                                   \
    {                                                   \
        .field = "text", .limit.most = (size_t)64 << 20 \
    }
/* Rows of the option table for struct input_opts i and struct docs_opts o. */
#define DOCS_OPTIONS(i, o)                                                     \
    OPT_GROUP("input"),                                                        \
        OPT_STR(0, "lang", &(i).lang, "name",                                  \
            "name of the source of all text (default: the file's name)"),      \
        OPT_STR(0, "lang-field", &(i).lang_field, "field",                     \
            "JSON field that holds the source, one of --lang a,b,c"),          \
        OPT_FLAG(0, "lang-path", &(i).lang_path,                               \
            "take the source, one of --lang a,b,c, from each file's path"),    \
        OPT_STR(0, "field", &(o).field, "field",                               \
            "JSON field that holds the text"),                                 \
        OPT_FLAG(0, "jsonl", &(i).jsonl, "read all input as JSONL"),           \
        OPT_ENUM(0, "split", &(o).split, docs_split_names, "by",               \
            "what ends a document of plain text"),                             \
        OPT_SIZE(0, "max-doc", &(o).limit.most, 16, 1 << 30, "bytes",          \
            "refuse documents of more bytes"),                                 \
        OPT_FLAG(0, "split-long", &(o).limit.split,                            \
            "cut plain text longer than --max-doc into several documents"),    \
        OPT_FLAG(0, "strict", &(o).strict,                                     \
            "refuse invalid UTF-8 instead of replacing it by U+FFFD"),         \
        OPT_FLAG(0, "lossy", &(i).lossy,                                       \
            "accept NUL bytes and any share of invalid UTF-8"),                \
        OPT_SIZE(0, "max-ratio", &(i).max_ratio, 0, 0x1p40, "n",               \
            "refuse input that unpacks to more than n times its size (0: any " \
            "number)"),                                                        \
        OPT_SIZE(0, "max-members", &(i).max_members, 0, 0x1p40, "n",           \
            "refuse archives of more members (0: any number)")

/* Refuse options that contradict each other, and --lang auto: only clean has
 * it, and removes it before this call.  0, or -1 and *e (EX_USAGE). */
int docs_check(const struct input_opts *i, const struct docs_opts *o,
    struct err *e);
/* Call at the end: warns of files that were not UTF-8, notes the files that
 * were skipped, and releases s->passed. */
void docs_note(struct docs_sums *s);

#endif
