/* Options whose value has several parts: see settings.h. */
#include "settings.h"
#include "student.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/die.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Parse WORD or, for words from index `numbered` on, WORD:NUMBER.  Returns the
 * index of the word, and the number in *x; -1: text is not valid. */
static int
word_number(const char *text, const char *const *words, int numbered, double *x)
{
    const size_t n = strcspn(text, ":");

    for (int i = 0; words[i] != NULL; i++)
        if (strlen(words[i]) == n && strncmp(words[i], text, n) == 0)
            return text[n] == '\0' ||
                    (i >= numbered && number_real(text + n + 1, 0, 1, x) == 0)
                ? i
                : -1;
    return -1;
}

/* A number of a list, and its range. */
struct part {
    double *to, lo, hi;
};

/* Parse n numbers separated by commas. */
static int
list_numbers(const struct part *part, int n, const char *text)
{
    char *copy = xstrdup(text), *at = copy;
    int r = 0;

    for (int i = 0; i < n && r == 0; i++) {
        char *end = at + strcspn(at, ",");
        const int last = *end == '\0';

        *end = '\0';
        r = last == (i + 1 == n)
            ? number_real(at, part[i].lo, part[i].hi, part[i].to)
            : -1;
        at = end + 1;
    }
    free(copy);
    return r;
}

/* Parse BETA1,BETA2,EPS.  Epsilon must be above 0, or weights without gradients
 * would become NaN. */
static int
adam_numbers(struct settings *s, const char *text)
{
    const struct part part[] = { { &s->beta1, 0, 0.9999999 },
        { &s->beta2, 0, 0.9999999 }, { &s->eps, 1e-20, 1 } };

    return list_numbers(part, 3, text);
}

/* Parse LR,MOMENTUM. */
static void
parse_outer(struct settings *s, const char *text)
{
    const struct part part[] = { { &s->outer_rate, 1e-6, 10 },
        { &s->outer_momentum, 0, 0.9999 } };

    if (list_numbers(part, 2, text) < 0)
        die(EX_USAGE,
            "--outer: '%s' is not lr,momentum: take a rate from 1e-6 to 10 and "
            "a momentum from 0 to 0.9999, as 1,0 or 0.7,0.9",
            text);
}

/* Parse PATTERN=X, ... */
static void
parse_rates(struct rates *r, const struct opt_list *list)
{
    r->n = list->n;
    if (list->n == 0)
        return;
    r->v = xcalloc(list->n, sizeof *r->v);
    for (size_t i = 0; i < list->n; i++) {
        const char *text = list->v[i], *equals = strrchr(text, '=');
        struct rate *v = &r->v[i];

        if (equals == NULL || equals == text ||
            number_real(equals + 1, 0, 1e6, &v->x) < 0)
            die(EX_USAGE,
                "--rates: '%s' is not pattern=x: give a pattern of tensors' "
                "names and a factor, as *embed_tokens*=0",
                text);
        v->pattern = xasprintf("%.*s", (int)(equals - text), text);
        v->used = xcalloc(1, sizeof *v->used);
    }
}

double
settings_rate(const void *ctx, const char *name)
{
    const struct rates *r = ctx;
    double x = 1.0;

    for (size_t i = 0; i < r->n; i++)
        if (fnmatch(r->v[i].pattern, name, 0) == 0) {
            *r->v[i].used = 1;
            x = r->v[i].x;
        }
    return x;
}

void
settings_rates_used(const struct rates *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!*r->v[i].used)
            die(EX_USAGE,
                "--rates: no tensor has a name such as '%s'; names are those "
                "of model.safetensors, as model.layers.0.mlp.up_proj.weight",
                r->v[i].pattern);
}

void
settings_parse(struct settings *s, const struct args *a)
{
    static const char *const directions[] = { "forward", "reverse", "js",
        NULL };
    static const char *const schedules[] = { "constant", "invsqrt", "cosine",
        "linear", "wsd", NULL };
    static const enum sched sched[] = { SCHED_CONST, SCHED_INVSQRT,
        SCHED_COSINE, SCHED_LINEAR, SCHED_WSD };
    int i = KL_FORWARD;

    parse_rates(&s->rates, &a->rates);
    s->beta = 0.5;
    if (a->direction != NULL) /* the command has the option */
        i = word_number(a->direction, directions, KL_JS, &s->beta);
    if (i < 0)
        die(EX_USAGE,
            "--kl-direction: '%s' is neither forward, reverse, js nor js:beta",
            a->direction);
    if (!(s->beta > 0.0 && s->beta < 1.0))
        die(EX_USAGE,
            "--kl-direction %s: take a beta above 0 and below 1; at both ends "
            "that divergence is 0: use forward or reverse",
            a->direction);
    s->direction = (enum kl_direction)i;
    s->by = strcmp(a->schedule, "wsd") == 0 ? 0.2 : 0.0;
    i = word_number(a->schedule, schedules, 2, &s->by);
    if (i < 0)
        die(EX_USAGE,
            "--schedule: '%s' is none of constant, invsqrt, cosine, linear and "
            "wsd, or, with the last rate as a share of the peak, cosine:0.1 "
            "and linear:0.1, or, with the share of the steps that decay, "
            "wsd:0.2",
            a->schedule);
    s->schedule = sched[i];
    if (a->outer != NULL) /* the command has the option */
        parse_outer(s, a->outer);
    if (adam_numbers(s, a->adam) < 0)
        die(EX_USAGE,
            "--adam: '%s' is not beta1,beta2,eps: take both betas from 0 to "
            "0.9999999 and eps from 1e-20 to 1, as 0.9,0.95,1e-8",
            a->adam);
}

/* If the option `name` has the value `word` in `old`, make the value
 * WORD:NUMBER, with the number of `part`, an option of older versions. */
static void
join_part(json_t *old, const char *name, const char *word, const char *part)
{
    const json_t *x = json_object_get(old, part);
    const char *text = json_string_value(json_object_get(old, name));

    if (json_is_number(x) && text != NULL && strcmp(text, word) == 0)
        json_object_set_new(old, name,
            json_sprintf("%s:%.15g", word, json_number_value(x)));
}

/* Text of an option in `from`, or else in `instead`. */
static const char *
option_text(const json_t *from, const json_t *instead, const char *name)
{
    const char *text = json_string_value(json_object_get(from, name));

    return text != NULL ? text
                        : json_string_value(json_object_get(instead, name));
}

static struct settings
recorded_settings(const json_t *from, const json_t *instead)
{
    const struct args a = {
        .direction = option_text(from, instead, "kl-direction"),
        .schedule = option_text(from, instead, "schedule"),
        .adam = option_text(from, instead, "adam"),
    };
    struct settings s;

    settings_parse(&s, &a);
    return s;
}

/* If the option is in `old`, give it the text that it has in `now`. */
static void
take_text(json_t *old, const json_t *now, const char *name)
{
    if (json_object_get(old, name) != NULL)
        json_object_set(old, name, json_object_get(now, name));
}

void
settings_join(json_t *old, const json_t *now)
{
    const json_t *b1 = json_object_get(old, "beta1"),
                 *b2 = json_object_get(old, "beta2"),
                 *eps = json_object_get(old, "eps");
    struct settings s, t;

    if (json_is_number(b1) && json_is_number(b2) && json_is_number(eps))
        json_object_set_new(old, "adam",
            json_sprintf("%.15g,%.15g,%.15g", json_number_value(b1),
                json_number_value(b2), json_number_value(eps)));
    join_part(old, "kl-direction", "js", "kl-beta");
    join_part(old, "schedule", "cosine", "min-lr-ratio");
    join_part(old, "schedule", "linear", "min-lr-ratio");
    s = recorded_settings(old, now);
    t = recorded_settings(now, now);
    if (s.direction == t.direction && s.beta == t.beta)
        take_text(old, now, "kl-direction");
    if (s.schedule == t.schedule && s.by == t.by)
        take_text(old, now, "schedule");
    if (s.beta1 == t.beta1 && s.beta2 == t.beta2 && s.eps == t.eps)
        take_text(old, now, "adam");
}
