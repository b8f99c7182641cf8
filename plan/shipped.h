/* Built-in machines and models: the files of plan/machines and plan/models,
 * unchanged. */
#ifndef PLAN_SHIPPED_H
#define PLAN_SHIPPED_H

#include "base/mem.h"

/* The text of NAME.json; NULL: there is none. */
const char *shipped_machine(const char *name);
const char *shipped_model(const char *name);
/* Append the names of all machines (machines != 0) or models: "a, b". */
void shipped_names(struct buf *b, int machines);

#endif
