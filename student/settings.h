/* Options of student whose value has several parts. */
#ifndef STUDENT_SETTINGS_H
#define STUDENT_SETTINGS_H

#include "format/json.h"
#include "train/schedule.h"
#include "train/step.h"

/* --rates PATTERN=X, ..., parsed. */
struct rate {
    char *pattern;
    double x;
    int *used; /* set to 1 when `pattern` matches a tensor's name */
};
struct rates {
    struct rate *v; /* [n] */
    size_t n;
};

struct settings {
    enum kl_direction direction; /* --kl-direction NAME, or js:BETA */
    double beta;
    enum sched schedule;               /* --schedule NAME, or NAME:BY */
    double by;                         /* argument of sched_lr */
    double beta1, beta2, eps;          /* --adam BETA1,BETA2,EPS */
    double outer_rate, outer_momentum; /* --outer LR,MOMENTUM */
    struct rates rates;                /* never freed */
};

struct args;
/* The factor of a tensor's learning rate: x of the last pattern that matches
 * its name, or 1.  ctx: struct rates. */
double settings_rate(const void *ctx, const char *name);
/* Die (EX_USAGE) if a pattern has matched no name. */
void settings_rates_used(const struct rates *r);
/* Die (EX_USAGE) if a value cannot be read. */
void settings_parse(struct settings *s, const struct args *a);
/* Make the options of an options.json, `old`, comparable with the options of
 * this run, `now`.  An older version's beta1, beta2 and eps become adam, its
 * kl-beta and min-lr-ratio become parts of kl-direction and schedule.  A value
 * in `old` that means the same as the value in `now` gets the latter's text. */
void settings_join(json_t *old, const json_t *now);

#endif
