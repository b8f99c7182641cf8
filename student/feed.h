/* The input of student: batches, and the teacher's tensors in them. */
#ifndef STUDENT_FEED_H
#define STUDENT_FEED_H

#include "base/err.h"
#include "format/ckpt.h"
#include "format/targets.h"
#include "model/files/model.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>

/* An open input and its current batch, unpacked. */
struct feed {
    struct msg_in *in;
    const char *name;
    struct batch batch;
    struct position pos; /* place of the last batch read */
    struct stream_info info;
    struct model teacher;    /* --teacher, used for its head */
    int have_model;          /* 1: teacher is open */
    unsigned char *head_mem; /* memory of a head from the stream, or NULL */
    unsigned char *bias_mem; /* of its bias, or NULL */
    struct weight head;
    char head_hash[33];  /* hash of the head of the stream's teacher, or "" */
    int taught;          /* 1: the stream has a `teacher` message */
    size_t vocab;        /* number of ids of the teacher, as its message says;
                          * 0: not given */
    double temperature;  /* --temperature of the stream's teacher; NAN: not
                          * given */
    size_t *map;         /* [L] teacher block of each student block; NULL: the
                          * blocks cannot be compared */
    const char *map_how; /* how the map was found, for a note */
    size_t tL, td;       /* number and width of the teacher's blocks */
    double cap;          /* cap of the teacher's logits, as config.final_cap */
    size_t L, d, V;      /* blocks, width and ids of the student */
    int half;            /* argument of feed_open */
    struct targets targets; /* the teacher's targets in the batch */
    struct msg first;       /* if `ahead`: the first batch, not yet unpacked */
    int ahead;
};
/* Open input, and read up to its first batch.  Dies if the input cannot be
 * used.  teacher_path: --teacher, or NULL; ahead: bytes of the next message to
 * read ahead, 0: all; half: products are in bfloat16, so an fp32 head is stored
 * as bfloat16. */
void feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, int half, const struct model *student);
/* Rows and tokens of the first batch, [2]; only while `ahead`. */
const size_t *feed_shape(const struct feed *f);
/* Kind of tensors in the first batch to read the teacher's distributions from:
 * final states if there is a head for them, else draws, else top tokens shared
 * by two tokenizers, else top tokens, else none. */
enum targets_kind feed_kind(const struct feed *f);
/* Does the first batch have the outputs of all blocks that the map names? */
int feed_has_hidden(const struct feed *f);
/* Make feed_next set f->targets to the teacher's distributions and, with
 * `hidden`, to the outputs of blocks.  For top tokens or draws, dies if the
 * stream does not state their vocabulary and temperature, or if the temperature
 * is not tau.  If teacher and student have different numbers of ids, both
 * distributions are restricted to the ids that teacher, student and tokenizer
 * share. */
void feed_use(struct feed *f, enum targets_kind kind, int hidden, double tau);
/* Begin again at the first batch; the input must not be a pipe.  After -1 only
 * feed_again and feed_close may be called. */
int feed_again(struct feed *f, const char *input, size_t ahead, struct err *e);
/* Die unless the next batch follows p.  recorded: 1: the input is a file or
 * folder, which may hold the batches up to p too: read and check them first. */
void feed_follow(struct feed *f, const struct position *p, int recorded);
/* Read the next batch.  Returns 1; 0: the input has ended; -1 and *e: the input
 * is damaged. */
int feed_next(struct feed *f, struct err *e);
void feed_close(struct feed *f);

#endif
