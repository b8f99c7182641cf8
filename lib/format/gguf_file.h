/*
 * A model's .gguf file, or all parts of a split one, mapped into memory.
 * llama-gguf-split names the parts NAME-00001-of-00003.gguf and so on; the
 * first part has the metadata, every part has tensors.  gguf_open of any part
 * opens all of them.
 */
#ifndef FORMAT_GGUF_FILE_H
#define FORMAT_GGUF_FILE_H

#include "base/io.h"
#include "format/gguf.h"

/* Does the path end in .gguf? */
int gguf_is_name(const char *path);

struct gguf_file {
    struct gguf g; /* metadata of the first part; tensors of all parts, in
                    * order */
    size_t n;      /* number of parts; 1: not split */
    char **name;   /* [n] paths */
    struct io_map *map;
    struct gguf *part;
};

/* Open the file at path and, if it is a part, the other parts.  Errors are
 * "file: why": EX_INPUT for a part that is missing, of another model or under
 * another name.  *f is overwritten; nothing to close on failure. */
int gguf_open(struct gguf_file *f, const char *path, struct err *e);
/* Read only metadata; of a split file only the first part is opened. */
int gguf_open_metadata(struct gguf_file *f, const char *path, struct err *e);
void gguf_close(struct gguf_file *f);

#endif
