/*
 * The original model, which a model was cut from: block i has of the original's
 * block retort.kept[i] these key-value groups and MLP channels, in config.json
 *   "retort": {"kept_groups": ["all", "0,2"], "kept_channels": ["0-511,640",
 *              "-"]}
 * with a word for each block, in the syntax of a choice (prune-cut(1)).  Where
 * a key is missing, every block has all groups, or all channels.
 */
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include "base/err.h"
#include "model/model.h"

enum origin_part { ORIGIN_GROUPS, ORIGIN_CHANNELS, ORIGIN_PARTS };
extern const char *const origin_keys[ORIGIN_PARTS];

/* From a parsed config.json into m->origin; the blocks' shapes are there
 * already. -1: EX_INPUT, by its JSON path. */
int origin_read(struct model *m, const json_t *j, struct err *e);
/* Add m->origin to the config.json j of config_to_json. */
void origin_write(const struct model *m, json_t *j);
/* Numbers in the original of the groups or channels of block i, ascending: a
 * malloc'd list of as many as block i has, which the caller frees; NULL:
 * all. */
size_t *origin_list(const struct model *m, enum origin_part k, size_t i);

#endif
