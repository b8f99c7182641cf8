/* Weights of sources, and their change in a stream: see weights.h */
#include "weights.h"
#include "base/io.h"
#include "base/mem.h"
#include "mix.h"
#include "base/number.h"
#include "base/weights.h"
#include "msg/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int
weights_parse(uint64_t *r, const struct dirs *d, const char *text,
    struct err *e)
{
    const size_t n = d->info.nsource;
    const char **number = xcalloc(n, sizeof *number);
    double *share = xcalloc(n, sizeof *share);
    char *copy = xstrdup(text);
    int bad = weights_split(number, d->info.source, n, copy, NULL, e);

    for (size_t k = 0; !bad && k < n; k++)
        if (number[k] != NULL && number_real(number[k], 0, 1e15, &share[k]) < 0)
            bad = err_set(e, EX_USAGE,
                "--weights: the weight of %.100s is no number: give 0 to 1e15",
                d->info.source[k]);
    if (!bad && mix_quantise(r, share, n) < 0)
        bad = err_set(e, EX_USAGE, "--weights: all are 0; give one above 0");
    free(number);
    free(copy);
    free(share);
    return bad;
}

/* Tokens of each source, from the manifests; the caller frees the array. */
static double *
source_tokens(const struct dirs *d)
{
    double *n = xcalloc(d->info.nsource, sizeof *n);

    for (size_t i = 0; i < d->n; i++) {
        const struct manifest *m = set_manifest(d->set[i]);

        /* the manifest lists sources in the order of the stream message */
        for (size_t k = 0; k < m->nsource && k < d->nsource[i]; k++)
            n[d->source[i][k]] += (double)m->source[k].tokens;
    }
    return n;
}

int
weights_alpha(uint64_t *r, const struct dirs *d, double a, struct err *e)
{
    double *share = source_tokens(d);
    int bad = 0;

    for (size_t i = 0; i < d->info.nsource; i++)
        share[i] = share[i] > 0.0 ? pow(share[i], a) : 0.0;
    if (mix_quantise(r, share, d->info.nsource) < 0)
        bad = err_set(e, EX_INPUT, "%s: holds no tokens", dirs_name(d, 0));
    free(share);
    return bad;
}

int
weights_unimax(uint64_t *r, const struct dirs *d, double cap, double budget,
    struct err *e)
{
    const size_t n = d->info.nsource;
    double *has = source_tokens(d), *share = xcalloc(n, sizeof *share);
    double all = 0.0;
    int bad = 0;

    for (size_t i = 0; i < n; i++)
        all += has[i];
    if (mix_unimax(share, has, n, cap, budget) < 0)
        bad = err_set(e, EX_USAGE,
            "--unimax %g: all sources together have %.0f tokens, so often "
            "repeated not the %.0f asked for",
            cap, all, budget);
    else if (mix_quantise(r, share, n) < 0)
        bad = err_set(e, EX_INPUT, "%s: holds no tokens", dirs_name(d, 0));
    free(has);
    free(share);
    return bad;
}

/* Check that each source with a weight has tokens. */
static int
check_has_tokens(const uint64_t *w, const struct dirs *d, struct err *e)
{
    double *has = source_tokens(d);
    int bad = 0;

    for (size_t i = 0; !bad && i < d->info.nsource; i++)
        if (w[i] > 0 && !(has[i] > 0.0))
            bad = err_set(e, EX_USAGE,
                "source %s has a weight but no documents: leave it out",
                d->info.source[i]);
    free(has);
    return bad;
}

/* Parse a line: TOKENS, then weights NAME=X,... or alpha A or natural. */
static int
read_stage(struct cursor_stage *g, const struct dirs *d, char *line,
    struct err *e)
{
    char *rest = NULL, *at = strtok_r(line, " \t", &rest);
    char *how = strtok_r(NULL, " \t", &rest);
    char *what = strtok_r(NULL, " \t", &rest);
    size_t tokens;
    double a = 1.0;

    if (number_size(at, 0, 9007199254740992.0, &tokens) < 0)
        return err_set(e, EX_USAGE, "\"%.40s\" is no number of tokens", at);
    g->at = tokens;
    if (strtok_r(NULL, " \t", &rest))
        return err_set(e, EX_USAGE,
            "there is more than a number, a word and a value: remove the rest");
    if (how && what && strcmp(how, "weights") == 0)
        return weights_parse(g->w, d, what, e) < 0
            ? -1
            : check_has_tokens(g->w, d, e);
    if (how &&
        ((what && strcmp(how, "alpha") == 0 &&
             number_real(what, 0, 10, &a) == 0) ||
            (!what && strcmp(how, "natural") == 0)))
        return weights_alpha(g->w, d, a, e);
    return err_set(e, EX_USAGE,
        "the line is not TOKENS followed by \"weights NAME=X,...\", "
        "\"alpha A\" or \"natural\"");
}

static int
read_stages(struct cursor_spec *s, const struct dirs *d, char *text,
    struct err *e)
{
    char *rest = NULL;
    size_t number = 0;

    for (char *line = text; line; line = rest) {
        struct cursor_stage *g;

        number++;
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        line[strcspn(line, "#\r")] = '\0';
        if (line[strspn(line, " \t")] == '\0')
            continue;
        s->stage = xreallocarray(s->stage, s->nstage + 1, sizeof *s->stage);
        g = &s->stage[s->nstage++];
        g->w = xcalloc(d->info.nsource, sizeof *g->w);
        if (read_stage(g, d, line, e) < 0)
            return err_prefix(e, "line %zu", number);
        if (s->nstage > 1 && g->at <= g[-1].at)
            return err_set(e, EX_USAGE,
                "line %zu: its tokens are not above those of the line before",
                number);
    }
    return s->nstage ? 0 : err_set(e, EX_USAGE, "holds no line");
}

int
curriculum_read(struct cursor_spec *s, const struct dirs *d, const char *path,
    struct err *e)
{
    char *text;
    size_t n;
    int r;

    if (io_slurp(path, 1 << 20, &text, &n, e) < 0)
        return -1;
    s->staged = 1;
    chain_of(&s->curriculum, text, n);
    r = strlen(text) == n ? read_stages(s, d, text, e)
                          : err_set(e, EX_USAGE, "is no text");
    free(text);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}

void
curriculum_release(struct cursor_spec *s)
{
    for (size_t i = 0; i < s->nstage; i++)
        free(s->stage[i].w);
    free(s->stage);
    s->stage = NULL;
    s->nstage = 0;
}
