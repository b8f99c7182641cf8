/* Options of student whose value has several parts. */
#ifndef STUDENT_SETTINGS_H
#define STUDENT_SETTINGS_H

#include "format/json.h"
#include "train/adamw.h"
#include "train/step.h"

struct settings {
    enum kl_direction direction; /* --kl-direction NAME, or js:BETA */
    double beta;
    enum sched schedule;      /* --schedule NAME, or NAME:BY */
    double by;                /* argument of sched_lr */
    double beta1, beta2, eps; /* --adam BETA1,BETA2,EPS */
};

struct args;
/* Die (EX_USAGE) if a value cannot be read. */
void settings_parse(struct settings *s, const struct args *a);
/* Make options of an options.json, `old`, comparable with those of this run,
 * `now`.  An older version's beta1, beta2 and eps become adam, its kl-beta and
 * min-lr-ratio parts of kl-direction and schedule.  A value that means the same
 * as that in `now` gets its text. */
void settings_join(json_t *old, const json_t *now);

#endif
