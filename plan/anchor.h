/* An anchor: one measured run of the user's own software, which scales
 * predictions. */
#ifndef PLAN_ANCHOR_H
#define PLAN_ANCHOR_H

#include "job.h"

/* Set the key `anchor` of *j to measured / predicted time of a step.  text is
 * "step=SECONDS,key=value,...": the measured seconds, and changes that make *j
 * the measured job.  -1 and *e. */
int anchor_set(struct job *j, const char *text, struct err *e);

#endif
