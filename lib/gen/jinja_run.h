/*
 * Rendering of a template.  Each part of the language has a file:
 *
 *   jinja_run.c     statements: {% if %}, {% for %}, {% set %}
 *   jinja_name.c    variables, by name, and their scopes
 *   jinja_eval.c    expressions: operators, attributes, subscripts, slices
 *   jinja_call.c    calls: functions such as range(), and the template's macros
 *   jinja_filter.c  filters and tests: x | join, x is defined
 *   jinja_method.c  methods: s.strip(), d.items(), which Python's types have
 *   jinja_text.c    what these do with texts: split, replace, str.format
 *   jinja_order.c   comparison and sorting: x < y, x | sort
 *   jinja_print.c   the text that {{ x }} prints for a value
 *
 * Work is counted in steps.  An operation counts its steps by jrun_work or
 * jrun_bytes before it takes them, and takes memory only by jrun_alloc and
 * jrun_add, which refuse what is beyond the bounds of jinja.h.
 */
#ifndef GEN_JINJA_RUN_H
#define GEN_JINJA_RUN_H

#include "gen/jinja.h"
#include "gen/jinja_node.h"

#define JRUN_DEPTH 400  /* nested expressions, statements, macros */
#define JRUN_VALUES 200 /* nested values that are compared or printed */

struct jvariable {
    struct jtext name;
    struct jval v;
};

/* The variables that a macro or the template sees: numbers [from,to) of var in
 * struct jrun, and those of the frame `up`.  `to` of the current frame is not
 * set: its variables go on to the last one. */
struct jframe {
    const struct jframe *up;
    size_t from, to;
};
/* The block of a call statement, which a macro runs by caller(). */
struct jcaller {
    const struct jnode *node;
    const struct jframe *frame; /* of the statement; NULL: it has ended */
};

struct jrun {
    struct jmem mem;
    /* The text printed so far and, after it, the texts that are being made,
     * the outermost first. */
    struct buf *out;
    int making; /* texts that are being made */
    struct jinja_out *result;
    struct jdict given; /* variables of jinja_render's caller */
    /* The template's variables, then those of each scope entered, the innermost
     * scope last. */
    struct jvariable *var;
    size_t nvar, cap;
    size_t scope;       /* index of the innermost scope's first variable */
    struct jframe root; /* for macros: the template's variables when the
                         * outermost scope was entered */
    struct jframe top;  /* all variables outside macros */
    struct jframe *frame;
    struct jval block; /* text of the block that a filter is applied to */
    int depth, line;
    size_t work;
    const struct tm *now;
    struct err *e;
};

/* Set the error to "line N: why"; returns -1. */
int jrun_fail(struct jrun *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Count n steps, each of which visits a value.  -1: too many. */
int jrun_work(struct jrun *r, size_t n);
/* Count the steps of reading or writing n bytes: one in 16 bytes. */
int jrun_bytes(struct jrun *r, size_t n);
/* Count the steps of comparing a name with n others: one in 4 short names. */
int jrun_names(struct jrun *r, size_t n, struct jtext name);
/* As jmem_alloc, but sets the error "needs too much memory" before NULL. */
void *jrun_alloc(struct jrun *r, size_t n, size_t size);

/* Set *l to a list without elements and with room for n.  -1: no memory. */
int jrun_room(struct jrun *r, size_t n, struct jlist *l);

/* Make a text: jrun_begin begins it, jrun_add and the other functions append to
 * it, and jrun_end sets *out to it; from: the result of jrun_begin. */
size_t jrun_begin(struct jrun *r);
int jrun_add(struct jrun *r, const char *p, size_t n);
int jrun_repeat(struct jrun *r, struct jtext t, size_t times);
int jrun_end(struct jrun *r, size_t from, struct jval *out);
/* Append v as Python's str() prints it.  -1: v is of another kind than text,
 * number, bool, none and undefined, or a bound is reached. */
int jrun_print(struct jrun *r, const struct jval *v);
/* Append v as Python adds it to Markup: escaped unless it is Markup itself. */
int jrun_escape(struct jrun *r, const struct jval *v);
/* Append v as Python's json.dumps writes it; indent SIZE_MAX: in one line. */
struct jjson {
    size_t indent;
    int ascii, sort;
};
int jrun_json(struct jrun *r, const struct jval *v, const struct jjson *how);

/* Variables, in jinja_name.c.  jrun_get of an undefined name sets *out to
 * J_UNDEFINED with the name.  scope_enter's result is for scope_leave. */
int jrun_get(struct jrun *r, struct jtext name, struct jval *out);
int jrun_set(struct jrun *r, struct jtext name, struct jval v);
size_t jrun_scope_enter(struct jrun *r);
void jrun_scope_leave(struct jrun *r, size_t before);
/* Member of a dict or namespace; *m NULL: there is none. */
int jdict_get(struct jrun *r, const struct jdict *d, struct jtext name,
    const struct jval **m);
int jdict_set(struct jrun *r, struct jdict *d, struct jtext name,
    struct jval v);

/* Values of expressions.  All return 0; -1: the error is set. */
int jrun_eval(struct jrun *r, const struct jnode *n, struct jval *out);
/* v.name as jinja2 has it: Python's attributes come before an object's members.
 * Undefined if there is none. */
int jrun_member(struct jrun *r, const struct jval *v, struct jtext name,
    struct jval *out);
/* v[i] as jinja2 has it: an object's members come before attributes. */
int jrun_item(struct jrun *r, const struct jval *v, const struct jval *i,
    struct jval *out);
/* Set *out to the elements of a list, the names of an object or the characters
 * of a text; undefined: no elements. */
int jrun_elements(struct jrun *r, const struct jval *v, struct jlist *out);

/* Comparisons, in jinja_order.c. */
/* Set *is: is a `op` b true?  op: as of JN_COMPARE. */
int jrun_compare(struct jrun *r, int op, const struct jval *a,
    const struct jval *b, int *is);
/* Values and the keys that they are sorted by.  The sort is stable. */
struct jkeyed {
    struct jval key, v;
};
int jrun_sort(struct jrun *r, struct jkeyed *a, size_t n, int reverse);
/* The filters that compare: sort, dictsort, unique, min, max. */
int jrun_sorted(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out);

/* Values of a call's arguments, by position and by name. */
struct jargs {
    struct jval v[JNODE_ARGS];
    struct jtext name[JNODE_ARGS]; /* n 0: by position */
    size_t n;
};
int jrun_arguments(struct jrun *r, const struct jnode *list, struct jargs *a);
/* Set slot[k] to the argument in *a for the row's parameter number k, or to
 * NULL.  -1: *a has an argument for no parameter, or lacks one. */
int jrun_bind(struct jrun *r, const struct jname *row, const struct jargs *a,
    const struct jval *slot[JNAME_PARAMS]);
int jrun_call(struct jrun *r, const struct jnode *n, struct jval *out);
/* The call of a call statement, whose block the called macro may run. */
int jrun_call_block(struct jrun *r, const struct jnode *n);

/* Filters, tests and methods; row->id says which. */
int jrun_filter(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out);
int jrun_test(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *arg, int *is);
int jrun_method(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out);
/* Member `path` of v, for a filter's attribute=: names and indices with dots
 * between them. */
int jrun_attribute(struct jrun *r, const struct jval *v,
    const struct jval *path, struct jval *out);

/* Operations on texts, in jinja_text.c.  They set no result to Markup: callers
 * do if the text is Markup. */
/* Set *at to the offset at which `part` first occurs in t at byte `from` or
 * later, jtext_last to that of the last one that ends at byte `end` or before;
 * SIZE_MAX: nowhere. */
int jtext_search(struct jrun *r, struct jtext t, struct jtext part, size_t from,
    size_t *at);
int jtext_last(struct jrun *r, struct jtext t, struct jtext part, size_t end,
    size_t *at);
/* chars: characters to strip; NULL: white space.  sides: 1 the beginning, 2 the
 * end, 3 both. */
int jtext_strip(struct jrun *r, struct jtext t, const struct jval *chars,
    int sides, struct jval *out);
enum jcase {
    JCASE_UPPER,
    JCASE_LOWER,
    JCASE_CAPITAL,
    JCASE_TITLE, /* Python's method: letters after other characters */
    JCASE_WORDS  /* the filter title: letters after a space, - or bracket */
};
int jtext_case(struct jrun *r, struct jtext t, enum jcase how,
    struct jval *out);
/* Replace slot[0] by slot[1], at most slot[2] times.  escapes: 1: escape
 * slot[1], as Markup does. */
int jtext_replace(struct jrun *r, struct jtext t,
    const struct jval *const *slot, int escapes, struct jval *out);
/* Join the elements of v, as str() prints them or as Markup takes them. */
int jtext_join(struct jrun *r, struct jtext between, const struct jval *v,
    int escapes, struct jval *out);
int jtext_indent(struct jrun *r, struct jtext t, const struct jval *const *slot,
    struct jval *out);
int jtext_format(struct jrun *r, const struct jval *t, const struct jargs *a,
    struct jval *out);
int jdict_items(struct jrun *r, const struct jval *v, struct jval *out);

/* Run a list of statements.  Returns 0, -1, or JRUN_BREAK or JRUN_CONTINUE if
 * such a statement ended it. */
enum { JRUN_BREAK = 1, JRUN_CONTINUE };
int jrun_body(struct jrun *r, const struct jnode *list);

#endif
