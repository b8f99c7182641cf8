/*
 * The model card README.md of an exported folder, as the Hugging Face hub shows
 * it: YAML front matter, parents with their hashes, options, scores, and how to
 * load the model.
 */
#ifndef MODEL_CARD_H
#define MODEL_CARD_H

#include "base/err.h"
#include "format/gguf_write.h"
#include "model/files/model.h"

/* Facts that a card states besides those of the model.  A string may be NULL
 * unless its comment says "not NULL". */
struct card {
    const char *by;       /* program and version; not NULL */
    const char *from;     /* path of the parent model; not NULL */
    const char *hash;     /* ckpt_hash_model of `from`; NULL: card_write
                           * computes it */
    const char *teacher;  /* XXH3-128 of the teacher's head */
    const char *taught;   /* path of another model that taught this one, or
                           * wrote texts that it learnt */
    const char *tag;      /* "pruned", "distillation" */
    const char *relation; /* base_model_relation of the hub: "finetune" */
    size_t adapted;      /* parameters, if it is an adapter of `from`; else 0 */
    const char *options; /* lines of opt_changes */
    const char *scores;  /* lines "name<tab>value" */
};

/*
 * Write the card of m, whose name is `name`, into the folder dir.
 *   license, license_name, license_link, language: the parent's, from its
 *     README.md, or from general.* of its GGUF
 *   tags: the parent's, "retort" and c->tag
 *   base_model: the parent's id if it lies in the hub's cache, else the
 *     parent's base_model
 *   taught_by: a list of "NAME, LICENCE": the parent's, that of the model
 *     c->taught, and c->taught itself
 * Unknown fields are left out.  The last line is a comment with the XXH3-128 of
 * the text before it.  A README.md without that line, or of another hash, is
 * the user's: it stays.
 */
int card_write(const struct card *c, const struct model *m, const char *dir,
    const char *name, struct err *e);
/* Can a card name the model at `path`?  0; -1 and *e (EX_INPUT, "PATH: why"):
 * it is no model, or its README.md or GGUF cannot be read. */
int card_can_name(const char *path, struct err *e);
/* The last component of a path, without trailing slashes; the caller frees
 * it. */
char *card_name(const char *path);
/* Write license, tags, languages and base_model of the README.md in the model
 * directory `from` to general.* of a GGUF, as llama.cpp's converter does, and
 * taught_by to retort.taught_by.  from NULL or a file: nothing is written. */
int card_to_gguf(const char *from, struct gguf_out *o, struct err *e);

#endif
