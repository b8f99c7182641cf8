/*
 * A template at work.  jinja_run.c has statements and rendering, jinja_eval.c
 * expressions, jinja_call.c calls of functions and macros, jinja_filter.c
 * filters and tests, jinja_method.c methods.
 */
#ifndef GEN_JINJA_RUN_H
#define GEN_JINJA_RUN_H

#include "gen/jinja.h"
#include "gen/jinja_node.h"

#define JRUN_DEPTH 400 /* nested expressions, statements, macros */
#define JRUN_WORK ((size_t)20 << 20) /* values that may be visited */
#define JRUN_MEMORY ((size_t)256 << 20)
#define JRUN_OUTPUT ((size_t)64 << 20)

struct jvariable {
    struct jtext name;
    struct jval v;
};

struct jrun {
    struct jmem mem;
    struct buf *out; /* where text is printed now */
    struct jinja_out *result;
    /* The template's variables, then those of each scope entered, the innermost
     * scope last. */
    struct jvariable *var;
    size_t nvar, cap;
    size_t scope; /* index of the innermost scope's first variable */
    size_t outer; /* a macro sees the variables [0,outer) and [inner,nvar) */
    size_t inner;
    size_t top; /* number of the template's variables when the outermost scope
                 * was entered */
    int depth, line;
    size_t work;
    const struct tm *now;
    struct err *e;
};

/* Set the error to "line N: why"; returns -1. */
int jrun_fail(struct jrun *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Count n values visited.  -1: too many. */
int jrun_work(struct jrun *r, size_t n);
/* As jmem_alloc; NULL: the error is set to "needs too much memory". */
void *jrun_alloc(struct jrun *r, size_t n, size_t size);
/* Copy *b to *out, a text, and release b.  -1: no memory. */
int jrun_text(struct jrun *r, struct buf *b, struct jval *out);

/* Variables.  jrun_get of an undefined name returns J_UNDEFINED with the
 * name. */
struct jval jrun_get(const struct jrun *r, struct jtext name);
int jrun_set(struct jrun *r, struct jtext name, struct jval v);

/* Values of expressions.  All return 0; -1: the error is set. */
int jrun_eval(struct jrun *r, const struct jnode *n, struct jval *out);
/* Member of an object, namespace or loop; undefined if there is none. */
int jrun_member(struct jrun *r, const struct jval *v, struct jtext name,
    struct jval *out);
/* Set *out to the elements of a list, the names of an object or the characters
 * of a text; undefined: no elements. */
int jrun_elements(struct jrun *r, const struct jval *v, struct jlist *out);
int jrun_compare(struct jrun *r, int op, const struct jval *a,
    const struct jval *b, int *is);

/* Values of a call's arguments, by position and by name. */
#define JARGS 16
struct jargs {
    struct jval v[JARGS];
    struct jtext name[JARGS]; /* n 0: by position */
    size_t n;
};
int jrun_arguments(struct jrun *r, const struct jnode *list, struct jargs *a);
/* Set slot[k] to the value in *a of the row's parameter number k; NULL: *a has
 * none. */
int jrun_bind(struct jrun *r, const struct jname *row, const struct jargs *a,
    const struct jval *slot[JNAME_PARAMS]);
int jrun_call(struct jrun *r, const struct jnode *n, struct jval *out);
int jrun_macro(struct jrun *r, const struct jnode *macro, const struct jargs *a,
    struct jval *out);

/* Filters, tests and methods; row->id says which. */
int jrun_filter(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out);
int jrun_test(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *arg, int *is);
int jrun_method(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out);

/* Methods that filters use too.  chars: characters to strip; NULL: white space.
 * sides: 1 the beginning, 2 the end, 3 both. */
int jtext_strip(struct jrun *r, struct jtext t, const struct jval *chars,
    int sides, struct jval *out);
enum jcase { JCASE_UPPER, JCASE_LOWER, JCASE_CAPITAL };
int jtext_case(struct jrun *r, struct jtext t, enum jcase how,
    struct jval *out);
int jtext_replace(struct jrun *r, struct jtext t,
    const struct jval *const *slot, struct jval *out);
/* Join the elements of v, as str() prints them. */
int jtext_join(struct jrun *r, struct jtext between, const struct jval *v,
    struct jval *out);
int jdict_items(struct jrun *r, const struct jval *v, struct jval *out);

/* Statements. */
int jrun_body(struct jrun *r, const struct jnode *list);

#endif
