/* What the two files of cleaning share; see tokenize_clean.h: tokenize_clean.c
 * has documents in memory, tokenize_clean_long.c those that are longer. */
#ifndef TOKENIZE_CLEAN_IMPL_H
#define TOKENIZE_CLEAN_IMPL_H

#include "tokenize_clean.h"
#include "tokenize_gopher.h"
#include "tokenize_keys.h"
#include "tokenize_minhash.h"
#include "tokenize_words.h"

#include "base/io.h"

#include <xxhash.h>

#define LINE_WORDS 3                /* shorter lines are no boilerplate */

enum { R_MIN_CHARS, R_MAX_CHARS, R_MIN_WORDS, R_MAX_WORDS, R_BOILERPLATE,
    R_EXACT, R_NEAR, R_GOPHER, R_END = R_GOPHER + G_END };

/* What a thread needs. */
struct worker {
    struct gopher_scratch *gopher;
    struct words words;
    XXH3_state_t *state;
    struct buf text;                /* without boilerplate */
    uint64_t value[MINHASH_MOST];
};

/* What stage leaves in doc.sig, followed by the bytes of removed lines and
 * the keys. */
struct left {
    double value;                   /* why it was dropped */
    size_t lines, bytes, keys;
};

struct clean {
    struct clean_opts o;
    struct inputs *in;
    int lang, exact, near;
    size_t bands, rows;
    size_t first, und;              /* sources that --lang auto gives */
    struct fold *fold;
    struct minhash minhash;
    struct worker *worker;
    size_t nworker;
    struct keys *exacts, *nears, *lines;
    uint64_t count[R_END], *of_source, removed;
    struct io_out out;              /* --dropped */
    int open;
    struct buf line;
};

/* The rule that a text of that length breaks, or some of values v[to - from] of
 * Gopher's rules: a reason, or R_END; and what was measured. */
size_t clean_length(const struct clean_opts *o, size_t nchars, size_t nwords,
    double *value);
size_t clean_rules(const double *v, int from, int to, double *value);

/* Set the source of d to its language. */
void clean_detect(const struct clean *c, struct doc *d, const char *text,
    size_t n);
/* The key of a line from the hashes of its words; 0: too few to be one. */
uint64_t clean_line_key(const XXH3_state_t *state, size_t words);

/* Append a key; those of all bands, from w->value. */
void clean_add_key(struct buf *b, XXH128_hash_t h);
void clean_add_bands(const struct clean *c, const struct worker *w,
    struct buf *out);
/* Is it a duplicate of one that was kept, by its n keys at `at`?  If not, keep
 * them: R_END; more than that: *e. */
size_t clean_duplicate(struct clean *c, const char *at, size_t n,
    struct err *e);

/* d is dropped for that reason. */
void clean_counted(struct clean *c, struct doc *d, size_t reason);
/* A line of --dropped, where that is asked for; value < 0: there is none.  The
 * text is text[n] or what is in the spool, unless that is NULL. */
int clean_record(struct clean *c, const struct doc *d, const char *reason,
    double value, const char *text, size_t n, const struct spool *spool,
    struct err *e);

/* run_opts.judge */
int clean_judge(void *ctx, size_t worker, struct doc *d, struct spool *text,
    struct err *e);

#endif
