/* A parsed Jinja template: a tree of statements and expressions. */
#ifndef GEN_JINJA_NODE_H
#define GEN_JINJA_NODE_H

#include "gen/jinja_lex.h"
#include "gen/jinja_names.h"
#include "gen/jinja_value.h"

#define JNODE_ARGS 16 /* most arguments of a call */

/* Members a, b, c, d of a node, by its kind; lists are linked by `next`. */
enum jnode_kind {
    /* statements */
    JN_DATA,       /* name: the text */
    JN_PRINT,      /* a: what is printed */
    JN_IF,         /* a: condition, b: body, c: list of the else branch */
    JN_FOR,        /* a: targets, b: what is walked, c: body, d: else branch,
                    * filter: condition or NULL */
    JN_SET,        /* a: targets, b: value, or NULL and c: body of a block,
                    * filter: filters of JN_BLOCK or NULL */
    JN_WITH,       /* a: list of JN_ARG, c: body */
    JN_FILTERED,   /* c: body, filter: filters of JN_BLOCK */
    JN_MACRO,      /* name, a: parameters, c: body; a parameter with op 1,
                    * `caller`, is given by name only */
    JN_CALLED,     /* a: parameters of the block, b: JN_CALL, c: body */
    JN_GENERATION, /* c: body */
    JN_BREAK,
    JN_CONTINUE,
    /* expressions */
    JN_CONST,   /* value */
    JN_NAME,    /* name */
    JN_BLOCK,   /* the text of a filter or set block, the value of its first
                 * filter */
    JN_MEMBER,  /* a.name */
    JN_ITEM,    /* a[b] */
    JN_SLICE,   /* a[b:c:d]; b, c and d may be NULL */
    JN_CALL,    /* a(b: list of JN_ARG) */
    JN_ARG,     /* name (n 0: by position), a: value */
    JN_FILTER,  /* a | id(b: arguments) */
    JN_TEST,    /* a is id(b: arguments) */
    JN_LIST,    /* a: elements */
    JN_TUPLE,   /* a: elements */
    JN_DICT,    /* a: names and values in turn */
    JN_NOT,     /* a */
    JN_NEGATE,  /* -a */
    JN_AND,     /* a, b */
    JN_OR,      /* a, b */
    JN_BINARY,  /* op: + - * / % ~, 'd' //, '^' **; a, b */
    JN_COMPARE, /* a, b: list of JN_ARG, each with op: = ! < > 'l' <= 'g' >=
                 * 'i' in, 'n' not in */
    JN_CHOICE   /* b if a else c; c may be NULL */
};
struct jnode {
    enum jnode_kind kind;
    int line, op;
    struct jtext name;
    struct jval value;
    const struct jname *id;
    struct jnode *a, *b, *c, *d, *filter, *next;
};

struct jinja {
    char *src;       /* the template, with \n line ends */
    struct jmem mem; /* nodes and texts */
    struct jnode *body;
    int marks; /* 1: the template has a generation block */
};

#endif
