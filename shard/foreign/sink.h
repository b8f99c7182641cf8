/*
 * Documents of other projects' files on their way into a shard directory.
 * Begins as zeros with info, cut, tok, guess, wide, dir, so, input and
 * source_id set; what is wrong ends the program.
 */
#ifndef SHARD_FOREIGN_SINK_H
#define SHARD_FOREIGN_SINK_H

#include "base/mem.h"
#include "msg/msg.h"
#include "shard/make.h"
#include "ids.h"

#include <stddef.h>
#include <stdint.h>

/* Ids at which a file without bounds of documents is cut. */
struct split {
    int64_t bos, eos; /* or -1 */
};

struct sink {
    struct stream_info info; /* of the stream; its vocabulary bounds ids */
    struct split cut;        /* where files without bounds are cut */
    struct split tok;        /* the tokenizer's */
    int guess;               /* the user gave neither BOS nor EOS: the ids show
                              * whether documents have the tokenizer's */
    const char *dir;         /* where it is stored, and how */
    const struct shard_opts *so;
    struct shard_make *k; /* NULL before the first document */
    const char *input;    /* the file being read, its source, and the number of
                           * its next document */
    uint16_t source_id;
    uint64_t record;
    uint64_t docs, empty; /* stored; left out, since they have no token */
    /* The message being filled; ids in the width of the stream. */
    int wide, masked;
    struct buf ids, len, source, key, mask;
};
/* Store the document view[from .. from+n), with its loss mask or NULL.  Dies
 * when an id is not below the vocabulary.  Empty documents are counted and left
 * out. */
void sink_doc(struct sink *s, const struct ids_view *v, size_t from, size_t n,
    const unsigned char *mask);
/* A view without bounds: a document ends after eos; without one it begins at
 * bos; with neither it is one document. */
void sink_split(struct sink *s, const struct ids_view *v);
/* Store the last message and end the stream. */
void sink_end(struct sink *s);
/* Release all but what info points to. */
void sink_release(struct sink *s);

#endif
