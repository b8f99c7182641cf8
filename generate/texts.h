/* Generating several texts at a time; see generate-run(1). */
#ifndef GENERATE_TEXTS_H
#define GENERATE_TEXTS_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/model.h"
#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

enum text_end { TEXT_GOES_ON, TEXT_EOS, TEXT_STOP, TEXT_LENGTH };

struct text {
    const uint32_t *ids; /* [n] the prompt, n > 0 */
    size_t n;
    uint64_t draw_key; /* with texts_opt.seed the key of its random numbers */
    /* results, released by text_release */
    struct tok_ids next; /* generated tokens, without EOS */
    struct buf bytes;    /* bytes of `next`, cut where a stop string begins */
    enum text_end end;
    uint32_t newest;    /* the newest token, perhaps EOS */
    double first, done; /* clock_now at the first and the last token */
};
void text_release(struct text *t);

struct texts_opt {
    size_t at_once;    /* texts to generate at a time */
    size_t longest;    /* tokens of the longest prompt */
    size_t most;       /* tokens to generate for a text, at most */
    double tau;        /* temperature; 0: the most probable token */
    double top_p;      /* in (0,1]; probability of the nucleus */
    uint64_t seed;     /* seed of the random numbers */
    char *const *stop; /* [nstop] stop strings, none of them empty */
    size_t nstop;
    const struct tokenizer *tok; /* NULL: ids alone, without bytes */
    int no_eos;                  /* go on past EOS */
};

struct texts;
/* Make room for the texts; m, pool and what o points to outlive the result. */
struct texts *texts_new(const struct model *m, struct pool *pool,
    const struct texts_opt *o);
void texts_free(struct texts *w);
/* Bytes of the cache of keys and values. */
size_t texts_cache_bytes(const struct texts *w);
/* Bytes of all memory of *w. */
size_t texts_bytes(const struct texts *w);
/* Generate n texts, at_once at a time: when one ends, the next begins.  A text
 * depends on its prompt, its draw_key and the options alone.  Calls on_token
 * (or NULL) after each token of a text, and when it has ended.  Dies when a
 * logit is not finite. */
void texts_run(struct texts *w, struct text *t, size_t n,
    void (*on_token)(void *ctx, struct text *t), void *ctx);

/* Print a note of the memory that generation takes: `bytes` besides the model m
 * and the program, of which `cache` are keys and values.  Dies if there is not
 * enough. */
void tell_texts(const struct model *m, const struct pool *pool, size_t at_once,
    size_t longest, size_t cache, size_t bytes);

#endif
