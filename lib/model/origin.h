/*
 * The groups and channels that a pruned model kept of the original model.
 * Block i has, of the original's block retort.kept[i], the key-value groups and
 * MLP channels that config.json lists:
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

/* Set m->origin from a parsed config.json; the blocks' shapes must be set.  -1:
 * EX_INPUT; the error names the JSON path. */
int origin_read(struct model *m, const json_t *j, struct err *e);
/* Add m->origin to the config.json j of config_to_json. */
void origin_write(const struct model *m, json_t *j);
/* The original's numbers of the groups or channels of block i, ascending: a
 * malloc'd list with a number for each one in block i, which the caller frees;
 * NULL: all. */
size_t *origin_list(const struct model *m, enum origin_part k, size_t i);

#endif
