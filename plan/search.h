/* The search of plan-search(1), for other commands. */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

#include "job.h"
#include "sweep.h"

#include <stddef.h>

/* Set *j to its fastest layout that fits into memory.  Keys that operands name
 * stay as they are.  Dies (EX_SYS) if none fits, and says what would. */
void search_fastest(struct job *j, const struct ranges *r);
/* The keys that a search varies; ended by NULL. */
extern const char *const search_keys[];

#endif
