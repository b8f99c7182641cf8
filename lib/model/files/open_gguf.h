/* Opening a model in a GGUF. */
#ifndef MODEL_OPEN_GGUF_H
#define MODEL_OPEN_GGUF_H

#include "model/files/open.h"

int open_gguf(struct model *m, struct model_source *s, struct err *e);

#endif
