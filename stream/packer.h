/*
 * Rows of T tokens out of pieces of documents.
 *
 *   best    a window of PACK_WINDOW pieces is kept full; a row takes the
 *           longest of them, and the set of the others that fills what is left
 *           best, long pieces rather than many; where that leaves a gap, the
 *           next longest instead, PACK_TRIES lengths at most; but the oldest
 *           one, when it has waited for PACK_AGE rows
 *   concat  documents one after the other; a row ends where T is reached and
 *           the document goes on in a later row
 *   none    one piece a row
 *
 * No token is lost or given twice: a piece is cut only because it is longer
 * than T (or than the row, for concat), and its rest is drawn later.
 * After the best fit of Ding et al., Fewer Truncations Improve Language
 * Modeling, arXiv:2404.10830: here in a stream, and over sets.  Lognormal
 * documents of mean 823, T = 2048: 0.02 % padding, where taking the longest
 * piece that fits again and again leaves 0.5 %; T = 1024: 0.3 %.
 */
#ifndef STREAM_PACKER_H
#define STREAM_PACKER_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define PACK_WINDOW 64
#define PACK_AGE 256
#define PACK_TRIES 8

enum pack { PACK_BEST, PACK_CONCAT, PACK_NONE };
extern const char *const pack_names[]; /* "best", ..., NULL */

struct piece {
    uint32_t source, frame, doc; /* reference, see sampler.h */
    uint32_t off, len;           /* tokens of the document */
    uint64_t key;
    uint64_t born;      /* row number when it was drawn */
    int masked;         /* some element of mask is 0 */
    unsigned char *ids; /* [T] elements, owned by the packer */
    uint8_t *mask;      /* [T] 1: in the loss; if masked */
};

/* Draw the next piece of at most max tokens into p (all but born; ids and, if
 * it is masked, mask, which have room for T).  1; 0: there is none any more;
 * -1. */
struct pack_from {
    int (*draw)(void *ctx, size_t max, struct piece *p, struct err *e);
    void *ctx;
};

/* Where the rows of a batch grow; zeroed by pack_rows_init. */
struct pack_rows {
    size_t T, id_size;
    size_t B, capB;     /* rows so far */
    unsigned char *ids; /* [B,T]; 0 after the last piece of a row */
    uint8_t *mask;      /* [B,T]; 0 after the last piece; valid if masked */
    int masked;         /* some piece has a mask */
    size_t P, capP;
    uint32_t *row, *len, *off; /* [P] */
    uint16_t *source;
    uint64_t *key;
    uint64_t tokens;
};
void pack_rows_init(struct pack_rows *r, size_t T, size_t id_size);
void pack_rows_clear(struct pack_rows *r);
void pack_rows_release(struct pack_rows *r);

struct packer {
    enum pack how;
    size_t T, id_size;
    size_t n;                        /* pieces in the window */
    struct piece piece[PACK_WINDOW]; /* oldest first */
    size_t order[PACK_WINDOW];       /* longest first, of equals the older */
    int dry;                         /* draw has returned 0 */
    uint64_t *sums;                  /* sets of sums, as bits: see fill_rest */
};
void packer_init(struct packer *p, enum pack how, size_t T, size_t id_size);
void packer_release(struct packer *p);
/* For a resumed stream, which restores the window: fill the slot, then keep it.
 * p->n must be < PACK_WINDOW. */
struct piece *packer_slot(struct packer *p);
void packer_keep(struct packer *p);
/* Append row number `number` of the stream.  1; 0: there are no more; -1. */
int packer_row(struct packer *p, const struct pack_from *from, uint64_t number,
    struct pack_rows *r, struct err *e);

#endif
