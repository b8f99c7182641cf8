/* Opening the models that prune's commands cut, and checking the heads of their
 * input streams. */
#ifndef PRUNE_INPUT_H
#define PRUNE_INPUT_H

#include "format/safetensors.h"
#include "model/files/model.h"
#include "msg/msg.h"

/* Open a model, and check that its weights are finite.  Dies; with EX_USAGE if
 * path is NULL. */
void input_model(struct model *m, const char *path);
/* Open a model as input_model does.  Dies if the model is a mixture of experts
 * or has blocks with the gated delta rule. */
void input_dense_model(struct model *m, const char *path);
/* Read the head of a stream.  content: "docs", "batch", or NULL for both.  Dies
 * if the stream has other content, or was not made with the tokenizer at path
 * `tokenizer`. */
void input_head(struct stream_info *info, const struct msg_in *in,
    const struct st *head, const char *content, const char *tokenizer);

#endif
