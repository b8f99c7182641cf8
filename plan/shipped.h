/* Machines, models and tables that are built in; the files are in plan/. */
#ifndef PLAN_SHIPPED_H
#define PLAN_SHIPPED_H

#include "base/mem.h"

#include <jansson.h>

/* Text of plan/FOLDER/NAME.json, of the folder "machines" or "models"; NULL:
 * there is none. */
const char *shipped_text(const char *folder, const char *name);
/* Text of plan/models/NAME.json.  NULL: there is none, or the current folder
 * has a file or folder of that name, which is preferred. */
const char *shipped_model(const char *name);
/* The model of plan/models that the user probably meant by text, which may be
 * misspelt, have capitals, or end in ".gguf".  Models that only plan cluster
 * can read are never proposed.  NULL: no name is near. */
const char *shipped_nearest(const char *text);
/* The JSON of a file of plan/, such as figures.json, which stays unchanged. */
const json_t *shipped_json(const char *name);
/* Append the names of all machines: "a100, h100". */
void shipped_machines(struct buf *b);

#endif
