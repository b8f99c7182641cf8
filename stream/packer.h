/*
 * Packs pieces of documents into rows of T tokens.
 *
 *   best    keeps a window of PACK_WINDOW pieces.  A row takes the longest
 *           piece, and then the set of pieces that fills the rest of the row
 *           best, few long pieces rather than many.  If a gap is left, the row
 *           begins with the next longest piece instead, at most PACK_TRIES
 *           times.  A piece that has waited for PACK_AGE rows is taken first.
 *   concat  one document after the other; a row ends at T tokens, and the
 *           document continues in a later row
 *   none    one piece per row
 *
 * No token is lost or given twice.  A piece is cut only if it is longer than T
 * (for concat: than the rest of the row); its remainder is drawn later.
 *
 * Best-fit packing is that of Ding et al., Fewer Truncations Improve Language
 * Modeling, arXiv:2404.10830, with two changes: documents come as a stream, and
 * a row is filled by a set of pieces chosen together.  For lognormal documents
 * of mean 823, padding is 0.02 % at T = 2048 and 0.3 % at T = 1024.  Taking the
 * longest piece that fits, again and again, leaves 0.5 % at T = 2048.
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
    uint32_t source, frame, doc; /* its document, see struct sampled */
    uint32_t off, len;           /* first token in the document, and number of
                                  * tokens */
    uint64_t key;                /* key of the document */
    uint64_t born;      /* number of rows that had been written when the
                                  * piece was drawn */
    int masked;         /* mask has a 0 */
    unsigned char *ids; /* [T] elements, owned by the packer */
    uint8_t *mask;      /* [T] 1: the token counts in the loss; valid
                                  * if masked */
};

/* draw: set *p, except born, to the next piece of at most max tokens; p->ids
 * and p->mask have room for T.  1: drawn.  0: there are no more pieces.  -1: an
 * error. */
struct pack_from {
    int (*draw)(void *ctx, size_t max, struct piece *p, struct err *e);
    void *ctx;
};

/* The rows of a batch being made; zeroed by pack_rows_init. */
struct pack_rows {
    size_t T, id_size;
    size_t B, capB;     /* number of rows; rows that fit */
    unsigned char *ids; /* [B,T]; 0 after the last piece of a row */
    uint8_t *mask;      /* [B,T] loss mask; 0 after the last piece; valid if
                         * masked */
    int masked;         /* a piece has a mask */
    size_t P, capP;     /* number of pieces; pieces that fit */
    uint32_t *row, *len, *off; /* [P] row, number of tokens, and first token in
                                * the document, of each piece */
    uint16_t *source;          /* [P] */
    uint64_t *key;             /* [P] */
    uint64_t tokens;           /* without padding */
};
void pack_rows_init(struct pack_rows *r, size_t T, size_t id_size);
void pack_rows_clear(struct pack_rows *r);
void pack_rows_release(struct pack_rows *r);

struct packer {
    enum pack how;
    size_t T, id_size;
    size_t n;                        /* pieces in the window */
    struct piece piece[PACK_WINDOW]; /* oldest first */
    size_t order[PACK_WINDOW];       /* indices into piece: longest first, of
                                      * equally long ones the oldest first */
    int dry;                         /* draw has returned 0 */
    uint64_t *sums;                  /* sets of sums, as bits: see fill_rest */
};
void packer_init(struct packer *p, enum pack how, size_t T, size_t id_size);
void packer_release(struct packer *p);
/* To restore the window of a resumed stream: packer_slot, for which p->n must
 * be < PACK_WINDOW, returns the place of the next piece; the caller fills it,
 * and packer_keep adds the piece. */
struct piece *packer_slot(struct packer *p);
void packer_keep(struct packer *p);
/* Append row `number` of the stream.  1: appended.  0: there are no more rows.
 * -1: an error. */
int packer_row(struct packer *p, const struct pack_from *from, uint64_t number,
    struct pack_rows *r, struct err *e);

#endif
