/*
 * The groups and channels that a pruned model kept of the original model.
 * Block i of the pruned model comes from the original's block retort.kept[i].
 * Two lists of config.json say which key-value groups and MLP channels of that
 * block it has:
 *   "retort": {"kept_groups": ["all", "0,2"], "kept_channels": ["0-511,640",
 *              "-"]}
 * Each list has a word for each block, in the syntax of a choice
 * (prune-cut(1)).  If the list is missing, every block has all groups, or all
 * channels.
 */
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include "base/err.h"
#include "model/files/model.h"

enum origin_part { ORIGIN_GROUPS, ORIGIN_CHANNELS, ORIGIN_PARTS };
extern const char *const origin_keys[ORIGIN_PARTS];

/* Set m->origin from a parsed config.json.  The blocks' shapes must be set
 * already.  -1: EX_INPUT; the error names the JSON path. */
int origin_read(struct model *m, const json_t *j, struct err *e);
/* Add m->origin to the config.json j that config_to_json made. */
void origin_write(const struct model *m, json_t *j);
/* The numbers, in the original, of the groups or channels that block i has:
 * ascending, malloc'd, freed by the caller.  NULL: the block has all. */
size_t *origin_list(const struct model *m, enum origin_part k, size_t i);

#endif
