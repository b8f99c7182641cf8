/* Models by their ids on the Hugging Face hub. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

/* Path of the model or tokenizer called name.  If name exists, or has not the
 * form ORG/NAME of an id: name itself.  Else the snapshot refs/main in the
 * cache of Hugging Face's programs ($HF_HUB_CACHE, $HF_HOME/hub or
 * ~/.cache/huggingface/hub).  Valid to the end of the program.  If the cache
 * has no such snapshot: dies (EX_SYS), and says how to get the model. */
const char *hub_path(const char *name);

#endif
