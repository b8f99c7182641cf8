/* Filling the texts of a form with an item's fields. */
#ifndef TASK_FILL_H
#define TASK_FILL_H

#include "task_form.h"
#include "base/mem.h"
#include "format/json.h"

/* Append the text that f makes of an item. -1 and *e: a field is missing or of
 * another kind. */
int fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e);
/* Append the texts: one for each entry of a list, where f is a single field. */
int fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e);
#endif
