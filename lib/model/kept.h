/*
 * What a cut model has of the blocks that it was cut from: of block
 * retort.kept[i] of that model these key-value groups and MLP channels, in
 * config.json
 *   "retort": {"kept_groups": ["all", "0,2"], "kept_channels": ["0-511,640",
 *              "-"]}
 * with a word for each block, as choices have them (prune-cut(1)); a key that
 * is missing: all of each.
 */
#ifndef MODEL_KEPT_H
#define MODEL_KEPT_H

#include "base/err.h"
#include "model/model.h"

enum kept { KEPT_GROUPS, KEPT_CHANNELS, KEPT };
extern const char *const kept_keys[KEPT];

/* From a parsed config.json into m->kept; the blocks' shapes are there already.
 * -1: EX_INPUT, by its JSON path. */
int kept_read(struct model *m, const json_t *j, struct err *e);
/* m->kept into that of config_to_json. */
void kept_write(const struct model *m, json_t *j);
/* The groups or channels of that model that block i has, in its order: a
 * malloc'd list of as many as it has; NULL: all. */
size_t *kept_list(const struct model *m, enum kept k, size_t i);

#endif
