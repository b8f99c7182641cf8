/* Shared by the parsers of statements (jinja_parse.c) and of expressions
 * (jinja_expression.c). */
#ifndef GEN_JINJA_PARSE_H
#define GEN_JINJA_PARSE_H

#include "gen/jinja_node.h"

#define JPARSE_DEPTH 64 /* statements or brackets, nested */

struct jparse {
    struct jinja *t;
    const struct jtoken *tok; /* the next token */
    int depth;
    /* Around the next token: */
    int loops;    /* loops; 0 in a macro, call or generation block: a jump
                   * cannot leave these */
    int scopes;   /* loops and with blocks */
    int macros;   /* macros and call blocks */
    int buffered; /* macros, and call, filter, set and generation blocks */
    int chosen;   /* 1: the next token is in a branch of an if, which jinja2
                   * may never evaluate */
    const struct jnode *unknown; /* the first filter or test with an unknown
                                  * name that is in no branch; NULL: none */
    int caller;                  /* 1: the innermost macro has named `caller` */
    struct err *e;
};

/* A new node at the next token's line.  NULL and *e: the template is too
 * large. */
struct jnode *jparse_node(struct jparse *p, enum jnode_kind kind);
/* Set *e to "line N: why"; returns NULL. */
struct jnode *jparse_fail(struct jparse *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* jparse_is, jparse_name_is: is the next token this operator, this name?
 * jparse_skip, jparse_skip_name: if it is, step over it and return 1, else 0.
 * jparse_want: step over this operator; -1 and *e: another token is next. */
int jparse_is(const struct jparse *p, const char *operator);
int jparse_name_is(const struct jparse *p, const char *name);
int jparse_skip(struct jparse *p, const char *operator);
int jparse_skip_name(struct jparse *p, const char *name);
int jparse_want(struct jparse *p, const char *operator);

/* Parse an expression.  NULL and *e. */
struct jnode *jparse_expression(struct jparse *p);
/* Parse the filter whose name is next, of the value a. */
struct jnode *jparse_filter(struct jparse *p, struct jnode *a);
/* Parse a tuple (expressions with commas between them, without brackets), or a
 * single expression.  choice: 1: an expression may be "a if b else c". */
struct jnode *jparse_tuple(struct jparse *p, int choice);

#endif
