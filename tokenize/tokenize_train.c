/* tokenize --train; see tokenize_train.h. */
#include "tokenize_train.h"

#include "base/io.h"
#include "base/prog.h"
#include "data/tokenizer_train.h"
#include "data/unicode.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

static void
take_text(void *ctx, const char *text, size_t n)
{
    trainer_text(ctx, text, n);
}

static int
save(const json_t *tok, const struct train_opts *o, struct err *e)
{
    const size_t n = strlen(o->out);
    const int file = n > 5 && strcmp(o->out + n - 5, ".json") == 0;
    const char *slash = strrchr(o->out, '/');
    char *dir = !file ? xstrdup(o->out) : slash ?
        xasprintf("%.*s", (int)(slash - o->out + 1), o->out) : xstrdup(".");
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

int
train_run(const struct inputs *in, const struct run_opts *run,
    const struct train_opts *o, struct run_sums *sum, struct err *e)
{
    const struct trainer_spec spec = { .vocab = o->vocab,
        .min_frequency = o->min_frequency, .special = &o->eos,
        .nspecial = 1 };
    struct trainer *t;
    struct run_opts mine = *run;
    json_t *j = NULL;
    size_t n;
    int r;

    if (!*o->eos || uni_valid(o->eos, strlen(o->eos)) < strlen(o->eos))
        return err_set(e, EX_USAGE, "--eos: is no text");
    t = trainer_new(o->digits);
    mine.t = NULL;
    mine.text = take_text;
    mine.put = NULL;
    mine.ctx = t;
    mine.threads = 1;
    r = run_inputs(in, &mine, sum, e);
    if (r == 0 && sum->docs == 0)
        r = err_set(e, EX_INPUT, "no text to train on");
    if (r == 0 && (j = trainer_run(t, &spec, e)) == NULL)
        r = -1;
    if (r == 0)
        r = save(j, o, e);
    n = json_object_size(js_get(j, "model.vocab"));
    if (r == 0 && n < o->vocab)
        note("the vocabulary has %zu entries: no other pair is there %zu "
            "times", n, o->min_frequency);
    json_decref(j);
    trainer_free(t);
    return r;
}
