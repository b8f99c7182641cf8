/*
 * Options.  One table serves the parser and -h.  -h prints for each option its
 * default (the value of its variable before parsing) and the words of an
 * OPT_ENUM, so `help` need not say them; " (0: all)" at the end of `help` says
 * what 0 means.  Every program also has -h, -V, -q, -v.  A number must be the
 * whole argument and within its range; else the program exits 2.  The first
 * line of -h is the SYNOPSIS of the man page.
 */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum opt_kind {
    OPT_K_END,
    OPT_K_FLAG,
    OPT_K_STR,
    OPT_K_SIZE,
    OPT_K_REAL,
    OPT_K_COUNT,
    OPT_K_TIME,
    OPT_K_ENUM,
    OPT_K_LIST,
    OPT_K_GROUP
};

/* The values of an option that may be given several times; { 0 } is empty. */
struct opt_list {
    char **v; /* pointers into argv */
    size_t n;
};

struct opt {
    enum opt_kind kind;
    int ch;           /* short letter, or 0 */
    const char *name; /* long name, or NULL */
    void *dst;
    const char *arg;           /* name of the value in -h */
    const char *help;          /* one line, begins in lower case */
    double lo, hi;             /* range, inclusive */
    const char *const *choice; /* NULL-terminated words for OPT_ENUM */
};

/* int *dst, which the option sets to 1.  There is no --no-NAME. */
#define OPT_FLAG(c, n, d, h)                                \
    {                                                       \
        OPT_K_FLAG, c, n, (int *){ d }, NULL, h, 0, 0, NULL \
    }
/* const char **dst */
#define OPT_STR(c, n, d, a, h)                                  \
    {                                                           \
        OPT_K_STR, c, n, (const char **){ d }, a, h, 0, 0, NULL \
    }
/* const char **dst.  The value may be left out: if the next argument begins
 * with a hyphen or there is none, *dst becomes opt_absent.  After '=' any text
 * is the value. */
extern const char opt_absent[];
#define OPT_MAYBE(c, n, d, a, h)                                \
    {                                                           \
        OPT_K_STR, c, n, (const char **){ d }, a, h, 1, 0, NULL \
    }
/* Initial values of an option without a fixed default: OPT_NONE in a size_t,
 * NAN in a double, -1 in an OPT_ENUM.  `help` should say what the program does
 * without the option. */
#define OPT_NONE SIZE_MAX
/* size_t *dst; suffixes K M G T are powers of 1024 */
#define OPT_SIZE(c, n, d, l, u, a, h)                       \
    {                                                       \
        OPT_K_SIZE, c, n, (size_t *){ d }, a, h, l, u, NULL \
    }
/* double *dst, finite */
#define OPT_REAL(c, n, d, l, u, a, h)                       \
    {                                                       \
        OPT_K_REAL, c, n, (double *){ d }, a, h, l, u, NULL \
    }
/* double *dst, a count: suffixes K M G T are powers of 1000, and a fraction
 * that is left is cut off */
#define OPT_COUNT(c, n, d, l, u, a, h)                       \
    {                                                        \
        OPT_K_COUNT, c, n, (double *){ d }, a, h, l, u, NULL \
    }
/* double *dst, seconds; suffixes s (default) m h d */
#define OPT_TIME(c, n, d, l, u, a, h)                       \
    {                                                       \
        OPT_K_TIME, c, n, (double *){ d }, a, h, l, u, NULL \
    }
/* int *dst: index of the word given */
#define OPT_ENUM(c, n, d, w, a, h)                    \
    {                                                 \
        OPT_K_ENUM, c, n, (int *){ d }, a, h, 0, 0, w \
    }
/* struct opt_list *dst */
#define OPT_LIST(c, n, d, a, h)                                      \
    {                                                                \
        OPT_K_LIST, c, n, (struct opt_list *){ d }, a, h, 0, 0, NULL \
    }
/* a heading in -h */
#define OPT_GROUP(h)                                    \
    {                                                   \
        OPT_K_GROUP, 0, NULL, NULL, NULL, h, 0, 0, NULL \
    }
#define OPT_END                                          \
    {                                                    \
        OPT_K_END, 0, NULL, NULL, NULL, NULL, 0, 0, NULL \
    }

/*
 * Parse argv.  Sets progname and verbosity, and arms the closing line (prog.h).
 * Exits 0 for -h and -V, 2 for misuse.  A value that -h calls model or
 * tokenizer may be an id (hub.h).
 * about: a sentence for -h.
 * operands: their synopsis, such as "[file ...]".
 * min, max: how many operands are accepted; max -1: any number.
 * Returns the operands, NULL-terminated, inside argv; *n_operands (may be NULL)
 * gets their number.
 */
char **opt_parse(int argc, char **argv, const struct opt *table,
    const char *about, const char *operands, int min, int max, int *n_operands);

/* Append "--NAME", tab, value, newline for each option, except those named in
 * `leave_out` (ends with NULL).  Values are those that the variables have now;
 * numbers have all their digits. */
void opt_write(struct buf *b, const struct opt *table,
    const char *const *leave_out);

/* Append those lines of opt_write whose values differ from the defaults, which
 * are the values before opt_parse. */
void opt_changes(struct buf *b, const struct opt *table,
    const char *const *leave_out);

#endif
