/* A small model's configuration: 6 query heads in 3 groups, an MLP of 96
 * channels, tied; a Gemma has a window in every other block.  The model has
 * all in which its family differs from Llama. */
#ifndef TESTS_LIB_SMALL_CONFIG_H
#define TESTS_LIB_SMALL_CONFIG_H

#include "model/files/model.h"

#include <stdio.h>
#include <string.h>

static inline void
small_special(struct config *c)
{
    if (strcmp(c->arch, "gemma2") == 0) {
        c->attn_cap = 2;
        c->final_cap = 4;
    } else if (strcmp(c->arch, "granite") == 0) {
        c->embed_scale = 3;
        c->attn_scale = 0.4;
        c->residual_scale = 0.6;
        c->logit_scale = 2;
    } else if (strncmp(c->arch, "cohere", 6) == 0) {
        c->logit_factor = 0.3;
        c->window = c->arch[6] == '2' ? 90 : 0;
        for (size_t i = 0; c->window > 0 && i < c->L; i++)
            config_set_local(c, i, (i + 1) % 4 != 0);
    } else if (strcmp(c->arch, "phi3") == 0) {
        c->rotary = c->D / 2 / 2 * 2;
    } else if (strcmp(c->arch, "ministral3") == 0) {
        c->rope_orig = 50;
        c->rope_query = 0.2;
    } else if (strcmp(c->arch, "qwen3_5_text") == 0) {
        c->delta = (struct delta_shape){ 2, 4, 18, 18, 0 };
        c->conv = 4;
        c->rotary = c->D / 2 / 2 * 2;
    } else if (strcmp(c->arch, "lfm2") == 0) {
        c->conv = 3;
    } else if (strcmp(c->arch, "gpt_neox") == 0) {
        c->KV = c->H = c->d % c->H == 0 ? c->H : 8;
        c->D = c->d / c->H;
        c->rotary = c->D / 2 / 2 * 2;
        c->parallel = c->attn_bias = c->exact_gelu = 1;
    } else if (strcmp(c->arch, "gpt2") == 0) {
        c->KV = c->H = c->d % c->H == 0 ? c->H : 8;
        c->D = c->d / c->H;
        c->max_pos = 600;
        for (size_t i = 0; i < c->L; i++)
            config_set_rope(c, i, 0);
    } else if (strcmp(c->arch, "phi") == 0 || strncmp(c->arch, "glm", 3) == 0) {
        c->attn_bias = c->arch[0] == 'g';
        c->rotary = c->D / 2 / 2 * 2;
    } else if (strcmp(c->arch, "exaone4") == 0 ||
        strcmp(c->arch, "olmo3") == 0) {
        c->window = 90;
        c->theta_local = c->arch[0] == 'o' ? 1e3 : 0;
        for (size_t i = 0; i < c->L; i++)
            config_set_local(c, i, (i + 1) % 4 != 0);
    } else if (strcmp(c->arch, "starcoder2") == 0 ||
        strcmp(c->arch, "mistral") == 0) {
        c->attn_bias = c->arch[0] == 's';
        c->window = 90;
        for (size_t i = 0; i < c->L; i++)
            config_set_local(c, i, 1);
    }
    if (c->conv > 0) {
        for (size_t i = 0; i < c->L; i++)
            if (i % 3 != 1)
                c->linear[i / 8] |= (unsigned char)(1u << i % 8);
    }
    for (size_t i = 1; strcmp(c->arch, "smollm3") == 0 && i < c->L; i += 2)
        config_set_rope(c, i, 0);
}

/* D: size of a head. */
static inline struct config
small_config(const char *family, size_t V, size_t d, size_t L, size_t D)
{
    const int gemma = strncmp(family, "gemma", 5) == 0;
    const int gemma3 = strcmp(family, "gemma3_text") == 0;
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
        .theta_local = gemma3 ? 1e3 : 0,
        .window = gemma ? 90 : 0,
        .tied = 1,
        .init_range = 0.15,
        .attn_scalar = gemma ? D : 0 };

    snprintf(c.arch, sizeof c.arch, "%s", family);
    for (size_t i = 0; gemma && i < L; i++)
        config_set_local(&c, i, i % 2 == 1);
    small_special(&c);
    return c;
}

#endif
