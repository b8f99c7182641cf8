/*
 * Errors.  Library functions that can fail for reasons outside the program
 * return -1 (or NULL) and fill a struct err; programs end with its message and
 * code (cli/die.h).  Mistakes of the programmer are assert()s.  Exit codes: see
 * retort(7).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EX_OK = 0,
    EX_SYS = 1,   /* the system fails: no such file, no memory, disk full */
    EX_USAGE = 2, /* wrong arguments */
    EX_INPUT = 3, /* input is damaged, foreign or incomplete */
    EX_NUM = 4,   /* a value is not finite */
    EX_STOP = 5,  /* interrupted, and saved cleanly */
    EX_RANK = 6   /* a rank is lost, or a fault changed its parameters */
};

/* code: an EX_ above other than EX_OK.  msg: part of a sentence, "file: what:
 * why", without newline; for bad input it holds a byte offset. */
struct err {
    int code;
    char msg[600];
};

/* Set *e (may be NULL) and return -1.  A trailing ':' in fmt adds the text of
 * errno. */
int err_set(struct err *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Set *e to EX_INPUT and "offset AT: ..."; returns -1. */
int err_at(struct err *e, uint64_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "fmt: " in front of e->msg; returns -1. */
int err_prefix(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Format into out[n].  A trailing ':' in fmt adds the text of errno. */
void err_format(char *out, size_t n, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

#endif
