/*
 * Following the text of a JSON document byte by byte: is the text the beginning
 * of a document that the schema allows, in the form that generate-run(1)
 * describes?
 *
 * A state is a set of threads, each a way to read the text so far: alternatives
 * that begin alike are followed together, as in a nondeterministic automaton.
 * Each thread can still become a whole document.  When there would be more than
 * JSON_THREADS, those of later alternatives are dropped: fewer documents can be
 * written then, but all of them are allowed.
 *
 * A thread's open arrays and objects are a list of frames, the innermost first.
 * Threads share frames, which never change.
 */
#ifndef GEN_JSON_STATE_H
#define GEN_JSON_STATE_H

#include "gen/schema.h"

#include <stddef.h>
#include <stdint.h>

enum { JSON_THREADS = 64, JSON_TOKEN = 255 /* bytes of a token, at most */ };

/* The part of the document that a thread expects next or is inside of.  gap:
 * white space may come first. */
enum json_mode {
    READ_VALUE,      /* gap, then a value of the place `id` */
    READ_FIRST_ITEM, /* gap, then an array's first item, or ] */
    READ_FIRST_NAME, /* gap, then an object's first name, or } */
    READ_NEXT_NAME,  /* gap, then another name */
    READ_COLON,      /* the colon before a value of the place `id` */
    READ_AFTER,      /* a value has ended: gap, then ] or }; or a comma */
    READ_LITERAL,    /* text number `from` to `to` - 1 of kind `id`, of which
                      * n bytes are read */
    READ_NAME,       /* the same of the names of the frame's kind */
    READ_ANY_NAME,   /* inside a name of a KIND_MAP */
    READ_STRING,     /* inside a string of kind `id` with n code points */
    READ_NUMBER      /* inside a number of kind `id`; n digits of its part
                      * are read, with bounds their value in from and to */
};
struct json_thread {
    uint8_t mode;
    uint8_t sub;    /* gap, or part of the string or number: see json_state.c,
                     * json_number.c */
    uint8_t depth;  /* frames in the list */
    uint8_t minus;  /* 1: in a number with bounds that begins with - */
    uint32_t frame; /* index of the innermost frame + 1; 0: none */
    uint32_t id;
    uint32_t n; /* in a gap: number of spaces that may still follow; else see
                 * json_mode */
    uint32_t from, to;
};
/* An open array or object. */
struct json_frame {
    uint32_t outer; /* index of the frame outside + 1; 0: none */
    uint32_t kind;
    uint32_t n; /* KIND_ARRAY: items that have ended; KIND_OBJECT: the first
                 * property that may come next.  Counts that change nothing any
                 * more stay as they are. */
};

/* A state that is kept between tokens. */
struct json_state {
    struct json_thread *thread;
    struct json_frame *frame;
    size_t threads, frames;
};
/* Set *s to the beginning of a document. */
void json_state_begin(struct json_state *s, const struct schema *schema);
void json_state_release(struct json_state *s);

/* A stack of states, for one thread of the program.  State 0 is that of a text;
 * state i + 1 is the state after one more byte. */
struct json_room {
    const struct schema *schema;
    struct json_thread *thread;
    struct json_frame *frame;
    size_t thread_cap, frame_cap;
    struct {
        size_t first, n; /* threads */
        size_t frames;   /* frames of this state and those before */
    } at[JSON_TOKEN + 2];
};
void json_room_release(struct json_room *r);
/* Set state 0 to *s, a state of the schema. */
void json_room_load(struct json_room *r, const struct schema *schema,
    const struct json_state *s);
/* Make state number at + 1 from state number `at` and a byte.  Returns its
 * number of threads; 0: no document goes on in this way. */
size_t json_room_byte(struct json_room *r, size_t at, unsigned char c);
/* Set *s to state number `at`. */
void json_room_keep(const struct json_room *r, size_t at, struct json_state *s);
/* Is the document complete in state number `at`?  It may also go on: 1 and
 * 12. */
int json_room_complete(const struct json_room *r, size_t at);
/* Do all threads of the state stand inside a UTF-8 character of a string? */
int json_room_halved(const struct json_room *r, size_t at);

/* Where a string stands: between characters, or inside one or an escape. */
enum { JSON_PLAIN = 0, JSON_BROKEN = 255 };
/* Return the part that a string is in after byte c, or JSON_BROKEN if c may not
 * come there.  c is no quote that ends the string.  Sets *begun to 1 if a
 * character begins with c, else to 0. */
uint8_t json_string_next(uint8_t part, unsigned char c, int *begun);
/* Is the part inside a UTF-8 character? */
int json_string_halved(uint8_t part);

#endif
