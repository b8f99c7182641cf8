/* Files of masks, masks.safetensors of a checkpoint. */
#ifndef STUDENT_MASKS_H
#define STUDENT_MASKS_H

#include "model/pass/backward.h"

/* Write the masks of a model that has masks (tmodel_mask_bytes). */
int save_masks(const char *file, const struct tmodel *t, struct err *e);
/* Read the masks.  Refuses a mask that leaves out a weight which is not zero,
 * unless the masks will be chosen again. */
int load_masks(const char *file, struct tmodel *t, struct err *e);

#endif
