/* The input of student: batches, and the teacher's part of them. */
#ifndef STUDENT_FEED_H
#define STUDENT_FEED_H

#include "base/err.h"
#include "format/ckpt.h"
#include "format/targets.h"
#include "model/model.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>

/* An open input, its last batch unpacked, and what the teacher says of it. */
struct feed {
    struct msg_in *in;
    const char *name;
    struct batch batch;
    struct position pos; /* of the last batch read */
    struct stream_info info;
    struct model teacher; /* --teacher: its head is used */
    int have_model;
    unsigned char *head_mem; /* memory of a head that the stream brought */
    struct weight head;
    char head_hash[33]; /* hash of the head of the stream's teacher, or "" */
    int taught;         /* the stream has a `teacher` message */
    /* numbers of that message, 0 and NAN where it does not have them */
    size_t vocab;
    double temperature;
    size_t *map;         /* [L] teacher block of each student block, or NULL */
    const char *map_how; /* how the map was found, for a note */
    size_t tL, td;       /* number and width of the teacher's blocks */
    size_t L, d, V;      /* blocks, width and ids of the student */
    int half;            /* argument of feed_open */
    struct targets targets; /* teacher's part of the batch */
    struct msg first;       /* first batch, not yet unpacked, while `ahead` */
    int ahead;
};
/* Open input, read the preamble and the first batch.  teacher_path may be
 * NULL.  ahead: bytes to read ahead of a message, 0: all.  half: products are
 * in bfloat16, so a head that came in fp32 is kept as bfloat16.  Dies if the
 * input cannot be used. */
void feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, int half, const struct model *student);
/* Rows and tokens of the first batch, [2]; only while `ahead`. */
const size_t *feed_shape(const struct feed *f);
/* How the first batch tells the distributions of tokens: by final states if
 * there is a head for them, else by draws, else by top tokens. */
enum targets_kind feed_kind(const struct feed *f);
/* Does the first batch have the outputs of all blocks of the map? */
int feed_has_hidden(const struct feed *f);
/* Have feed_next put the teacher's distributions, and with `hidden` outputs of
 * blocks, into f->targets.  Dies if tokens are another vocabulary's, or made
 * for another temperature than tau.  Where a head has another number of ids
 * than the student, both distributions are over the ids of the stream's
 * tokenizer. */
void feed_use(struct feed *f, enum targets_kind kind, int hidden, double tau);
/* Read again from the first batch on; the input is no pipe.  After -1 only
 * feed_again, or the end of the program, may follow. */
int feed_again(struct feed *f, const char *input, size_t ahead, struct err *e);
/* Die unless the first batch is the one after p. */
void feed_check_successor(struct feed *f, const struct position *p);
/* Read the next batch: 1, 0 at the end, -1 and *e if it is damaged. */
int feed_next(struct feed *f, struct err *e);
void feed_close(struct feed *f);

#endif
