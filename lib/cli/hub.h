/* Models by their ids on the Hugging Face hub. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

/* The path that a model or tokenizer is opened by: name itself if it is there
 * or has not the form ORG/NAME of an id, else the snapshot refs/main in the
 * cache of Hugging Face's programs ($HF_HUB_CACHE, $HF_HOME/hub or
 * ~/.cache/huggingface/hub), allocated for the rest of the program.  Dies
 * (EX_SYS) where the cache has none, and says how to get it. */
const char *hub_path(const char *name);

#endif
