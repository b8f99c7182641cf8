/* Variants of chat templates for training, see chat_training.h.
 * scripts/oracle/chat_training.py made the files lib/gen/training/NAME.jinja
 * from the templates of TRL 1.16.0 (copyright 2020-2026 The HuggingFace Team,
 * Apache License 2.0), and the Makefile makes training.h from these files. */
#include "gen/chat_training.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const struct {
    const char *name; /* NAME-HASH.jinja: XXH3 of the published template */
    const char *text;
} variant[] = {
#include "training.h"
};

const char *
chat_training_variant(const char *text)
{
    size_t n = strlen(text);
    char hash[24];

    n -= n > 0 && text[n - 1] == '\n';
    snprintf(hash, sizeof hash, "%016" PRIx64 ".jinja", XXH3_64bits(text, n));
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++)
        if (strcmp(strchr(variant[i].name, '-') + 1, hash) == 0)
            return variant[i].text;
    return NULL;
}
