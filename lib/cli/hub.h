/* Models by their ids on the Hugging Face hub. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

/* The path at which the model or tokenizer called name is opened: name itself
 * if it exists or has not the form ORG/NAME of an id; else the snapshot
 * refs/main in the cache of Hugging Face's programs ($HF_HUB_CACHE,
 * $HF_HOME/hub or ~/.cache/huggingface/hub).  Valid to the end of the program.
 * Dies (EX_SYS) if the cache has none, and says how to get it. */
const char *hub_path(const char *name);

#endif
