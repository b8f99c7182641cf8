/* A small model's configuration: 6 query heads in 3 groups, 96 channels, tied;
 * a Gemma has a window in every other block. */
#ifndef TESTS_LIB_SMALL_CONFIG_H
#define TESTS_LIB_SMALL_CONFIG_H

#include "model/model.h"

#include <stdio.h>
#include <string.h>

/* D: size of a head. */
static inline struct config
small_config(const char *family, size_t V, size_t d, size_t L, size_t D)
{
    const int gemma = strcmp(family, "gemma3_text") == 0;
    struct config c = { .V = V,
        .d = d,
        .L = L,
        .H = 6,
        .KV = 3,
        .D = D,
        .mlp = 96,
        .max_pos = 1024,
        .eps = 1e-5,
        .theta = 1e4,
        .theta_local = gemma ? 1e3 : 0,
        .window = gemma ? 90 : 0,
        .tied = 1,
        .init_range = 0.15,
        .attn_scalar = gemma ? D : 0 };

    snprintf(c.arch, sizeof c.arch, "%s", family);
    for (size_t i = 0; gemma && i < L; i++)
        config_set_local(&c, i, i % 2 == 1);
    return c;
}

#endif
