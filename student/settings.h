/* Options of student whose value has several parts. */
#ifndef STUDENT_SETTINGS_H
#define STUDENT_SETTINGS_H

#include "train/adamw.h"
#include "train/step.h"

struct settings {
    enum kl_direction direction; /* --kl-direction NAME, or js:BETA */
    double beta;
    enum sched schedule;      /* --schedule NAME, or NAME:FLOOR */
    double floor;             /* last rate of the schedule over the peak rate */
    double beta1, beta2, eps; /* --adam BETA1,BETA2,EPS */
};

struct args;
/* Die (EX_USAGE) if a value cannot be read. */
void settings_parse(struct settings *s, const struct args *a);

#endif
