/* Training on documents; see train.h. */
#include "train.h"
#include "trainer.h"
#include "weights.h"

#include "base/io.h"
#include "base/note.h"
#include "cli/progress.h"
#include "format/json.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* State of counting words.  If the weights depend on the size of each source,
 * each source is counted separately first. */
struct count {
    struct trainer *t;
    struct trainer **apart; /* [nsource], or NULL: count into t directly */
    uint64_t *bytes;        /* [nsource] bytes of text read */
    uint64_t left;          /* sum of bytes * factor that can still be counted
                             * without overflow */
    struct weights w;
};

/* Fail if a count could overflow by adding n bytes `factor` times. */
static int
reserve_counts(struct count *c, uint64_t n, uint64_t factor, struct err *e)
{
    if (n > 0 && factor > c->left / n)
        return err_set(e, EX_INPUT,
            "--weights: so much text with such weights cannot be counted in 64 "
            "bits");
    c->left -= n * factor;
    return 0;
}

static int
take_doc(void *ctx, const struct doc *d, struct err *e)
{
    struct count *c = ctx;
    const uint64_t factor = c->w.factor[d->source];

    c->bytes[d->source] += d->text.n;
    if (c->apart) {
        trainer_text(c->apart[d->source], d->text.p, d->text.n, 1);
        return 0;
    }
    if (reserve_counts(c, d->text.n, factor, e) < 0)
        return -1;
    trainer_text(c->t, d->text.p, d->text.n, factor);
    return 0;
}

static int
balance(struct count *c, struct err *e)
{
    int r = 0;

    weights_balance(&c->w, c->bytes);
    for (size_t i = 0; i < c->w.n && r == 0; i++) {
        r = reserve_counts(c, c->bytes[i], c->w.factor[i], e);
        if (r == 0)
            trainer_add(c->t, c->apart[i], c->w.factor[i]);
        trainer_free(c->apart[i]);
        c->apart[i] = NULL;
    }
    return r;
}

static int
count_begin(struct count *c, const struct inputs *in,
    const struct train_opts *o, struct err *e)
{
    memset(c, 0, sizeof *c);
    if (weights_parse(&c->w, o->weights, in, e) < 0)
        return -1;
    c->t = trainer_new();
    c->left = INT64_MAX;
    c->bytes = xcalloc(c->w.n, sizeof *c->bytes);
    if (!c->w.equal)
        return 0;
    c->apart = xcalloc(c->w.n, sizeof(struct trainer *));
    for (size_t i = 0; i < c->w.n; i++)
        c->apart[i] = trainer_new();
    return 0;
}

static void
count_end(struct count *c)
{
    for (size_t i = 0; c->apart && i < c->w.n; i++)
        trainer_free(c->apart[i]);
    trainer_free(c->t);
    weights_release(&c->w);
    free(c->apart);
    free(c->bytes);
}

static int
save_tokenizer(const json_t *tok, const struct train_opts *o, struct err *e)
{
    const size_t n = strlen(o->out);
    const int file = n > 5 && strcmp(o->out + n - 5, ".json") == 0;
    const char *slash = strrchr(o->out, '/');
    char *dir = !file ? xstrdup(o->out)
        : slash       ? xasprintf("%.*s", (int)(slash - o->out + 1), o->out)
                      : xstrdup(".");
    char *path = file ? xstrdup(o->out) : xasprintf("%s/tokenizer.json", dir);
    char *config = xasprintf("%s/tokenizer_config.json", dir);
    json_t *c = json_pack("{s:s, s:s, s:b, s:I}", "tokenizer_class",
        "PreTrainedTokenizerFast", "eos_token", o->eos,
        "clean_up_tokenization_spaces", 0, "model_max_length",
        (json_int_t)1000000000);
    int r = io_mkdirs(dir, e);

    if (r == 0)
        r = js_save(tok, path, e);
    if (r == 0)
        r = js_save(c, config, e);
    json_decref(c);
    free(dir);
    free(path);
    free(config);
    return r;
}

/* Count the words of all inputs. */
static int
count_inputs(struct count *c, const struct inputs *in,
    const struct docs_opts *read, struct docs_sums *sum, struct err *e)
{
    struct docs_opts mine = *read;
    int r;

    mine.put = take_doc;
    mine.ctx = c;
    r = docs_run(in, &mine, sum, e);
    if (r == 0)
        r = docs_found(in, sum, e);
    if (r == 0 && sum->docs == 0)
        r = err_set(e, EX_INPUT, "no text to train on");
    if (r == 0 && c->apart)
        r = balance(c, e);
    return r;
}

static void
tick(size_t n)
{
    progress_at((double)n, NULL);
}

int
train_run(const struct inputs *in, const struct docs_opts *read,
    const struct train_opts *o, struct docs_sums *sum, struct err *e)
{
    struct trainer_spec spec = { .vocab = o->vocab,
        .special = &o->eos,
        .nspecial = 1,
        .tick = tick };
    struct count c;
    json_t *j = NULL;
    size_t n;
    int r;

    if (!*o->eos || uni_valid(o->eos, strlen(o->eos)) < strlen(o->eos))
        return err_set(e, EX_USAGE, "--eos-token: is no text");
    if (count_begin(&c, in, o, e) < 0)
        return -1;
    r = count_inputs(&c, in, read, sum, e);
    spec.min_frequency = o->min_frequency * c.w.unit;
    progress_begin("merged", (double)o->vocab, "entries");
    if (r == 0 && (j = trainer_run(c.t, &spec, e)) == NULL)
        r = -1;
    progress_end();
    if (r == 0)
        r = save_tokenizer(j, o, e);
    n = json_object_size(js_get(j, "model.vocab"));
    if (r == 0 && n < o->vocab)
        note("the vocabulary has %zu entries: no other pair is there %zu times",
            n, o->min_frequency);
    json_decref(j);
    count_end(&c);
    return r;
}
