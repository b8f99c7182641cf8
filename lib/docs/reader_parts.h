/* The reader's struct, for reader.c, which unpacks, and cut.c, which cuts
 * records. */
#ifndef DOCS_READER_PARTS_H
#define DOCS_READER_PARTS_H

#include "docs/reader.h"
#include "docs/unpack.h"

#include <archive.h>

struct reader {
    const struct inputs *in;
    const struct input *input;
    struct unpack *u;
    struct archive *a;     /* reads the content of u; NULL: read u instead */
    struct err fault;      /* error of u while `a` was read */
    char *feed;            /* [BLOCK] bytes for `a` */
    uint64_t seen, filled; /* bytes given to `a`; bytes up to the last of these
                            * that is not zero */
    uint64_t fed;          /* number of bytes in feed, the last given to `a` */
    struct archive_entry *entry; /* header read in advance, or NULL */
    int fd;
    int packed; /* 1: the input is an archive with members */
    int end;    /* 1: the current member has ended */
    int last;   /* 1: no other member follows */
    enum split_by split;
    struct origin *from;
    char *block;      /* [BLOCK] bytes read from the member */
    const char *text; /* block or back.p; text[p..n-1] is not read yet */
    size_t p, n;
    struct buf back;        /* text cut off a record, to be read again */
    struct doc_place place; /* of text[p] */
    size_t entries;         /* number of members whose headers were read */
    uint64_t content;       /* bytes of content read, of all members */
    struct passed passed;   /* skipped members */
    int whole;              /* 1: </mediawiki> was seen, or the dump is empty */
    struct buf tag, title;
    const struct doc_limit *limit;
};

/* If p == n, read the next block.  1: text[p..n-1] has bytes; 0: this member
 * has ended; -1 and *e. */
int reader_fill(struct reader *r, struct err *e);

/* Skip n bytes of text. */
static inline void
reader_pass(struct reader *r, size_t n)
{
    r->p += n;
    r->place.at += n;
}

#endif
