/* Filling the texts of a form with an item's fields. */
#ifndef TASK_FILL_H
#define TASK_FILL_H

#include "task_form.h"
#include "base/mem.h"
#include "format/json.h"

/* Append the text of f, filled with an item's fields.  -1 and *e: a field is
 * missing or has another type. */
int fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e);
/* Append the text of f as fill_text does.  If f is a single field whose value
 * is a list, append a text for each entry of the list instead. */
int fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e);
#endif
