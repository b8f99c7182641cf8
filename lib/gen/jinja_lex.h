/* Tokens of a Jinja template. */
#ifndef GEN_JINJA_LEX_H
#define GEN_JINJA_LEX_H

#include "gen/jinja_value.h"

enum jtoken_kind {
    JT_END,
    JT_DATA,      /* text: what is printed as it is */
    JT_PRINT,     /* {{ */
    JT_PRINT_END, /* }} */
    JT_BLOCK,     /* {% */
    JT_BLOCK_END, /* %} */
    JT_NAME,
    JT_STRING, /* text: between the quotes, escapes as they are */
    JT_INT,    /* i */
    JT_REAL,   /* d */
    JT_OPERATOR
};
struct jtoken {
    enum jtoken_kind kind;
    int line;
    struct jtext text;
    int64_t i;
    double d;
};
struct jtokens {
    struct jtoken *v; /* [n], malloc'd; the last is JT_END */
    size_t n;
};

/*
 * Cut a template into tokens.  Text outside tags is trimmed by - in tags, and
 * by trim_blocks and lstrip_blocks where tags have no +.  src has \n line ends
 * and outlives the tokens, which point into it.  -1 and *e: "line N: why"; the
 * caller frees out->v in any case.
 */
int jinja_lex(struct jtext src, struct jtokens *out, struct err *e);

#endif
