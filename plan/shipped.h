/* Machines, models and tables that are built in; the files are in plan/. */
#ifndef PLAN_SHIPPED_H
#define PLAN_SHIPPED_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>

/* Text of plan/FOLDER/NAME.json, of the folder "machines" or "models", in small
 * letters or capitals; NULL: there is none. */
const char *shipped_text(const char *folder, const char *name);
/* Text of plan/models/NAME.json.  NULL: there is none, or the current folder
 * has a file or folder of that name, which is preferred. */
const char *shipped_model(const char *name);
/* What the member "about" of such a file says; NULL: there is no such file. */
const char *shipped_about(const char *folder, const char *name);
/* Bytes to fetch for a model that is built in: its member "fetched_mb", or 2 a
 * parameter. */
double shipped_bytes(const char *model, double parameters);
/* Check that a model is built in, or that there is a file or folder of that
 * name.  Returns -1 (EX_SYS) otherwise; the message has the name that the user
 * probably meant, or says where models come from. */
int shipped_or_file(const char *name, struct err *e);
/* The JSON of a file of plan/, such as figures.json, which stays unchanged. */
const json_t *shipped_json(const char *name);
/* Append the names of all machines: "a100, h100". */
void shipped_machines(struct buf *b);

#endif
