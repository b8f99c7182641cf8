/* Models by their ids on the Hugging Face hub. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

/* Path of the model or tokenizer called name:
 *   hf:ORG/NAME, hf:NAME: the snapshot refs/main of that id in the cache of
 *       Hugging Face's programs ($HF_HUB_CACHE, $HF_HOME/hub or
 *       ~/.cache/huggingface/hub)
 *   ORG/NAME: the same, if no file is called so
 *   else: name itself
 * A label, as in LABEL=hf:ORG/NAME, stays before the path.  Valid to the end of
 * the program.  Dies if the cache has no such snapshot (EX_SYS; the message
 * says how to get the model), if what follows hf: is no id (EX_USAGE), or if it
 * is a folder of retort distil, whose model is in another (EX_SYS). */
const char *hub_path(const char *name);

#endif
