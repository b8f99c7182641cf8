/* Machines, models and tables that are built in; the files are in plan/. */
#ifndef PLAN_SHIPPED_H
#define PLAN_SHIPPED_H

#include "base/mem.h"

#include <jansson.h>

/* Text of the file of that name in plan/machines or plan/models; NULL: there is
 * none. */
const char *shipped_machine(const char *name);
const char *shipped_model(const char *name);
/* The JSON of a file of plan/, such as figures.json, which stays unchanged. */
const json_t *shipped_json(const char *name);
/* Append the names of all machines or models: "a100, h100". */
void shipped_names(struct buf *b, int machines);

#endif
