/* Texts that a model goes on with, several at a time; see generate-run(1). */
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
    uint64_t chance; /* with the seed, whose draws it has */
    /* what comes of it; released by text_release */
    struct tok_ids next; /* without EOS */
    struct buf said;     /* their bytes, cut where a stop string begins */
    enum text_end end;
    uint32_t newest;    /* token, EOS too */
    double first, done; /* clock_now: first token, last one */
};
void text_release(struct text *t);

struct texts_opt {
    size_t at_once;    /* texts */
    size_t longest;    /* prompt, tokens */
    size_t most;       /* tokens to add to each */
    double tau;        /* temperature; 0: the most probable token */
    double top_p;      /* in (0,1]; the nucleus that is drawn from */
    uint64_t seed;     /* of chance */
    char *const *stop; /* [nstop] texts that end a text, none of them empty */
    size_t nstop;
    const struct tokenizer *tok; /* NULL: ids alone, nothing is said */
    int no_eos;                  /* go on past EOS */
};

struct texts;
/* m, pool and what o points to outlive it. */
struct texts *texts_new(const struct model *m, struct pool *pool,
    const struct texts_opt *o);
void texts_free(struct texts *w);
/* Memory of keys and values; of all. */
size_t texts_cache_bytes(const struct texts *w);
size_t texts_bytes(const struct texts *w);
/*
 * Go on with n texts: the next one begins when one ends.  What becomes of a
 * text depends on its prompt and its chance alone.  told (or NULL) is called
 * after every token of a text, and when it has ended.  Dies when a logit is not
 * finite.
 */
void texts_run(struct texts *w, struct text *t, size_t n,
    void (*told)(void *ctx, struct text *t), void *ctx);

/* Note the memory of texts on their way, and die if there is less: `bytes`,
 * `cache` of them keys and values, beside the weights of m. */
void tell_texts(const struct model *m, const struct pool *pool, size_t at_once,
    size_t longest, size_t cache, size_t bytes);

#endif
