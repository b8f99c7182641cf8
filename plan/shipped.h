/* Machines, models and tables that are built in; the files are in plan/. */
#ifndef PLAN_SHIPPED_H
#define PLAN_SHIPPED_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>

/* The text of the built-in file plan/FOLDER/NAME.json, in which FOLDER is
 * "machines" or "models", and NAME may have capitals.  NULL: there is no such
 * file. */
const char *shipped_text(const char *folder, const char *name);
/* Text of plan/models/NAME.json.  NULL: there is no such file, or `name` is the
 * path of an existing file or folder, which the user means then. */
const char *shipped_model(const char *name);
/* The member "about" of plan/FOLDER/NAME.json.  NULL: there is no such file. */
const char *shipped_about(const char *folder, const char *name);
/* Bytes to download for a model of plan/models: the member "fetched_mb" of its
 * JSON times 1e6 or, without that member, 2 bytes a parameter. */
double shipped_bytes(const char *model, double parameters);
/* Check that `name` is a model of plan/models or an existing file or folder.
 * Else -1 and *e (EX_SYS), whose message proposes the nearest name or lists
 * what may be given.  sizes 0: it proposes no models that are given by their
 * sizes alone, because plan run cannot read these. */
int shipped_or_file(const char *name, int sizes, struct err *e);
/* The JSON of a file of plan/, such as figures.json, which stays unchanged. */
const json_t *shipped_json(const char *name);
/* Append the names of all machines: "a100, h100". */
void shipped_machines(struct buf *b);

#endif
