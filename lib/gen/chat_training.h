/* Chat templates that mark what the assistant says, for training. */
#ifndef GEN_CHAT_TRAINING_H
#define GEN_CHAT_TRAINING_H

/* The template that takes the place of `text` in training, with generation
 * blocks; NULL: `text` is none of the templates that have one here. */
const char *chat_training_variant(const char *text);

#endif
