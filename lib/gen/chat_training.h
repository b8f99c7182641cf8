/* Chat templates that mark what the assistant says, for training. */
#ifndef GEN_CHAT_TRAINING_H
#define GEN_CHAT_TRAINING_H

/* The training variant of the template `text`, with generation blocks; NULL:
 * there is none for this text. */
const char *chat_training_variant(const char *text);

#endif
