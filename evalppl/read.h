/* Putting documents, batches and texts into rows by the protocols of
 * evalppl(1). */
#ifndef EVALPPL_READ_H
#define EVALPPL_READ_H

#include "pack.h"
#include "msg/batch.h"

#include <stddef.h>
#include <stdint.h>

struct reader {
    struct eval *e;
    struct pack pack;
    int ready;     /* 1: pack has been made */
    uint32_t *ids; /* [n] tokens of a docs message, or of the joined text */
    size_t n, cap;
    size_t nwindow;  /* llama.cpp: windows scored so far */
    uint64_t tokens; /* tokens read */
    struct msg_in *in;
    struct batch batch;
};

/* Make r->pack for rows of T tokens, if it has not been made. */
void reader_start(struct reader *r, size_t T);

struct window {
    const uint32_t *ids; /* [n] */
    size_t n;            /* at most T + 1: the last of T + 1 is only a target */
    size_t from;         /* index of the first target, > 0 */
    const unsigned char *mask; /* [n] 0: do not score the token; NULL: all */
    size_t unit;
    size_t pos;    /* place of ids[0] in its document */
    double weight; /* weight of each prediction */
};
/* Put a window into a row; if no row has room, all rows are scored first.
 * Windows begin at multiples of the attention's tile, so that a document's
 * figures do not depend on other windows in the row. */
void reader_window(struct reader *r, const struct window *w);

/* If the input was made with another tokenizer than j's, warn and set
 * j->foreign.  If it was made with j's, make e->vocab unless e has one. */
void reader_tokenizer(struct eval *e, struct eval_model *j);

/* Score the filled rows and free r's memory; dies if nothing has been scored.
 */
void reader_finish(struct reader *r);

/* Read the stream at addr and score it; dies on damage. */
void eval_stream(struct eval *e, const char *addr);
/* Score the text of e->kld.in; dies on damage. */
void eval_base(struct eval *e);

#endif
