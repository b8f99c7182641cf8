/* Values of a Jinja template and their memory.  jinja_run.h has the operations
 * that count their steps, as they take longer with larger values. */
#ifndef GEN_JINJA_VALUE_H
#define GEN_JINJA_VALUE_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that is freed as a whole.  Blocks live until jmem_release. */
struct jmem_chunk;
struct jmem {
    struct jmem_chunk *last;
    size_t room; /* bytes left in *last */
    size_t used; /* bytes of all chunks */
    size_t most; /* limit of `used` */
};
/* Allocate n * size bytes, zeroed, aligned for any type.  NULL: the limit is
 * reached. */
void *jmem_alloc(struct jmem *m, size_t n, size_t size);
void jmem_release(struct jmem *m);

enum jkind {
    J_UNDEFINED, /* text: the name that is not defined */
    J_NONE,
    J_BOOL, /* i */
    J_INT,  /* i */
    J_REAL, /* d */
    J_TEXT,
    J_LIST,
    J_TUPLE,    /* as a list */
    J_DICT,     /* names are texts, in order of insertion */
    J_SPACE,    /* a namespace: as a dict, but its members can be set */
    J_LOOP,     /* the variable `loop` */
    J_MACRO,    /* macro */
    J_CALLER,   /* caller: the block of a call statement */
    J_FUNCTION, /* i: enum jfunction */
    J_METHOD,   /* text: a name that Python has a method for; not called */
    J_KINDS
};

struct jtext {
    const char *p; /* UTF-8, no NUL at the end */
    size_t n;
};
struct jlist {
    struct jval *v;
    size_t n;
};
struct jdict {
    struct jtext *name;
    struct jval *v;
    size_t n, cap;
};
/* A loop over a list, now at element number `at`. */
struct jloop {
    struct jlist list;
    size_t at;
};
struct jval {
    enum jkind kind;
    union {
        int safe; /* J_TEXT: 1: Markup, which escapes what is added to it */
        int lazy; /* J_LIST: 1: a generator in jinja2, true also if empty */
    };
    union {
        int64_t i;
        double d;
        struct jtext t;
        struct jlist list;
        struct jdict *dict;
        const struct jloop *loop;
        const struct jnode *macro;
        const struct jcaller *caller;
    };
};

struct jval jval_int(int64_t i);
struct jval jval_bool(int is);
struct jval jval_text(const char *p, size_t n);

int jtext_is(struct jtext t, const char *want);
int jtext_equal(struct jtext a, struct jtext b);
/* Bytes of t that an error message shows. */
int jtext_shown(struct jtext t);
/* Number of characters. */
size_t jtext_length(struct jtext t);
/* Offset of the byte at which character i begins; t.n: i is the number of
 * characters or more. */
size_t jtext_at(struct jtext t, size_t i);
/* Bytes of the white space, as Python's str.isspace has it, at the beginning
 * (jtext_leading) or the end (jtext_trailing) of t. */
size_t jtext_leading(struct jtext t);
size_t jtext_trailing(struct jtext t);

/* Name of a kind, as an error says it: "a text". */
const char *jval_kind(const struct jval *v);
int jval_true(const struct jval *v);
int jval_is_number(const struct jval *v);
double jval_real(const struct jval *v);
/* Convert j to a value, which points into j's texts.  -1: no memory. */
int jval_of_json(struct jmem *m, const json_t *j, struct jval *out);

#endif
