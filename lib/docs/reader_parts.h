/* The reader, for reader.c, which unpacks, and cut.c, which cuts records. */
#ifndef DOCS_READER_PARTS_H
#define DOCS_READER_PARTS_H

#include "docs/reader.h"
#include "docs/unpack.h"

#include <archive.h>

struct reader {
    const struct inputs *in;
    const struct input *input;
    struct unpack *u;
    struct archive *a;     /* of the unpacked; NULL: u is read as it is */
    struct err fault;      /* an error of u while a was read */
    char *feed;            /* BLOCK bytes for a */
    uint64_t seen, filled; /* bytes that a was given; those up to the last one
                             * that is not zero */
    uint64_t fed;          /* bytes in feed, the last of `seen` */
    struct archive_entry *entry; /* a header that waits to be looked at */
    int fd, packed, end; /* packed: it has members; end: this one ended */
    int last;            /* no other member follows */
    enum split_by split;
    struct origin *from;
    char *block;      /* BLOCK bytes that were read */
    const char *text; /* block or back, of which p..n are left */
    size_t p, n;
    struct buf back;        /* text that was cut off and is read again */
    struct doc_place place; /* of text[p] */
    size_t entries;         /* headers read */
    uint64_t content;       /* bytes read of all members */
    struct passed passed;   /* members */
    int whole;              /* a dump's </mediawiki> has been seen */
    struct buf tag, title;
    const struct doc_limit *limit;
};

/* 1: text[p..n] is not empty; 0: the end of this member; -1. */
int reader_fill(struct reader *r, struct err *e);

/* Pass n bytes of text over. */
static inline void
reader_pass(struct reader *r, size_t n)
{
    r->p += n;
    r->place.at += n;
}

#endif
