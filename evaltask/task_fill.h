/* Texts of a form, filled with an item's fields. */
#ifndef TASK_FILL_H
#define TASK_FILL_H

#include "task_form.h"
#include "base/mem.h"
#include "format/json.h"

/* The text that f makes of an item; fill_list: one text for each entry of a
 * list, where f is a single field.  -1 and *e: a field is missing, or of
 * another kind. */
int fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e);
int fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e);
/* Is there such a filter, with so many arguments? */
int filter_check(const struct fill_step *s, struct err *e);

#endif
