/*
 * Stores documents of other projects' files in a shard directory.  The caller
 * sets info, cut, tok, guess, wide, dir, so, input and source_id, and all other
 * members to 0.  Dies on errors.
 */
#ifndef SHARD_FOREIGN_SINK_H
#define SHARD_FOREIGN_SINK_H

#include "base/mem.h"
#include "msg/msg.h"
#include "shard/make.h"
#include "ids.h"

#include <stddef.h>
#include <stdint.h>

/* Ids at which a file without document boundaries is split. */
struct split {
    int64_t bos, eos; /* an id; -1: none */
};

struct sink {
    struct stream_info info; /* describes the stream to write; ids are <
                              * vocab */
    struct split cut;        /* how files without boundaries are split */
    struct split tok;        /* the tokenizer's BOS and EOS */
    int guess;               /* the user gave neither BOS nor EOS: find out from
                              * the ids whether documents have the
                              * tokenizer's */
    const char *dir;         /* the directory to write, and its options */
    const struct shard_opts *so;
    struct shard_make *k; /* NULL before the first document */
    const char *input;    /* file being read; number of its source; number of
                           * its next document */
    uint16_t source_id;
    uint64_t record;
    uint64_t docs, empty; /* documents stored; documents without tokens, which
                           * are left out */
    /* The message being filled.  wide: 1: its ids have 4 bytes; masked: 1: it
     * has a loss mask. */
    int wide, masked;
    struct buf ids, len, source, key, mask;
};
/* Store the document of n ids from id `from` of v on.  mask [n]: its loss mask;
 * NULL: all 1.  Dies if an id is not below the vocabulary.  Empty documents are
 * counted and left out. */
void sink_doc(struct sink *s, const struct ids_view *v, size_t from, size_t n,
    const unsigned char *mask);
/* Split a view without boundaries.  A document ends after cut.eos or, if that
 * is -1, before the next cut.bos.  If both are -1, the view is one document. */
void sink_split(struct sink *s, const struct ids_view *v);
/* Store the last message, and end the stream. */
void sink_end(struct sink *s);
/* Free everything except what info points to. */
void sink_release(struct sink *s);

#endif
