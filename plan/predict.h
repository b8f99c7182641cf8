/*
 * The prediction: memory of the fullest rank (memory.h), time of a step
 * (step.h), and from these rates, days, energy and cost.  retort-plan(7) has
 * the formulas, their sources, and comparisons with published figures.
 */
#ifndef PLAN_PREDICT_H
#define PLAN_PREDICT_H

#include "figures.h"
#include "job.h"

/* Set *f to all figures of j, a job with a machine that job_check accepts. */
void predict(struct figures *f, const struct job *j);

#endif
