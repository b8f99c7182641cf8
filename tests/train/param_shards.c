/* The parts of ranks cover each group once.  A model of real size is shared
 * evenly, at every level of sharing. */
#include "base/err.h"
#include "kern/kern.h"
#include "train/adamw.h"
#include "train/param_shards.h"

#include "../lib/tap.h"

#include <stdio.h>
#include <string.h>

static const char config[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\","
    " \"vocab_size\": 49152, \"hidden_size\": 576, \"intermediate_size\": 1536,"
    " \"num_hidden_layers\": 30, \"num_attention_heads\": 9,"
    " \"num_key_value_heads\": 3, \"rms_norm_eps\": 1e-5,"
    " \"hidden_act\": \"silu\", \"max_position_embeddings\": 2048,"
    " \"tie_word_embeddings\": true, \"rope_theta\": 10000.0}";

/* The parts of n ranks cover each group of SmolLM2-135M once, and are even. */
static void
shares(const struct tmodel *t, size_t n)
{
    double most = 0.0;
    int good = 1;

    for (size_t r = 0; r < n; r++) {
        const struct dist_group g = { "test", r, n, NULL };
        struct adamw *a = adamw_new_parts(t, DT_F32, &g, 0);
        size_t own = 0;

        for (size_t i = 0; i < t->ngroup; i++) {
            const size_t *at = adamw_part(a, i);

            good = good && at[0] == 0 && at[n] == t->group[i].n &&
                at[r] <= at[r + 1] && adamw_own(a, i) == at[r + 1] - at[r];
            own += adamw_own(a, i);
        }
        most = farther(most,
            fabs((double)own * (double)n / (double)t->nparam - 1.0));
        good = good && adamw_in_parts(a) == (n > 1) && adamw_rank(a) == r;
        adamw_free(a);
    }
    ok(good, "%zu ranks: each group is covered once", n);
    ok(most <= 0.03, "%zu ranks: 8/n bytes a parameter, off by %.2f %%", n,
        100.0 * most);
}

/* Compare the memory of each of n ranks of a model like `from`, as arenas count
 * it, with what it should be: parameters take 4 bytes each (4/n at level 3),
 * gradients 4 bytes each (4/n at levels 2 and 3).  Buffers have the size of the
 * embedding and one block at level 2, of two embeddings and three blocks at
 * level 3. */
static void
level(const struct model *from, int l, size_t n)
{
    const struct config *c = &from->c;
    const double P = (double)config_params(c, NULL);
    const double E = (double)c->V * (double)c->d;
    const double block = (P - E - (double)c->d) / (double)c->L;
    double off = 0.0;

    for (size_t r = 0; r < n; r++) {
        const struct dist_group g = { "test", r, n, NULL };
        const struct share share = { r, l > 1 ? n : 1, l > 2 };
        struct tmodel t;
        struct adamw *a;
        struct param_shards *p = NULL;
        double whole, parts, rooms;

        tmodel_init_share(&t, from, &share);
        a = adamw_new_parts(&t, DT_F32, &g, 0);
        if (l > 2 && n > 1)
            p = param_shards_new(&t, a, &g);
        whole = (double)tmodel_weight_bytes(&t);
        off = farther(off,
            fabs(whole / (4.0 * P / (l > 2 ? (double)n : 1.0)) - 1.0));
        parts = (double)tmodel_grad_bytes(&t);
        off = farther(off,
            fabs(parts / (4.0 * P / (l > 1 ? (double)n : 1.0)) - 1.0));
        rooms = (double)(tmodel_room_bytes(&t) + param_shards_bytes(p));
        off = farther(off,
            n == 1 || l < 2
                ? rooms
                : fabs(rooms / (4.0 * (l - 1) * E + 4.0 * (2 * l - 3) * block) -
                      1.0));
        off = farther(off,
            fabs((double)t.arena.used /
                    (whole + parts + (double)tmodel_room_bytes(&t)) -
                1.0));
        param_shards_free(p);
        adamw_free(a);
        tmodel_release(&t);
    }
    ok(off <= 0.03, "level %d, %zu ranks: bytes by part, off by %.2f %%", l, n,
        100.0 * off);
}

int
main(void)
{
    struct tmodel t;
    struct model shape;
    struct config c;
    struct err e;
    FILE *f;

    tap_scratch();
    f = fopen("config.json", "w");
    if (f == NULL || fputs(config, f) < 0 || fclose(f) != 0 ||
        kern_init() != NULL || config_load(&c, NULL, "config.json", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        return 1;
    }
    tmodel_layout(&t, &c, NULL, DT_F32);
    for (size_t n = 1; n <= 8; n++)
        shares(&t, n);
    /* no values, so that no memory is touched */
    shape = t.m;
    shape.embed.data = shape.norm.data = NULL;
    for (size_t i = 0; i < c.L * W_N; i++)
        shape.block[i / W_N].w[i % W_N].data = NULL;
    for (int l = 1; l <= 3; l++)
        for (size_t n = 1; n <= 8; n *= 2)
            level(&shape, l, n);
    tmodel_release(&t);
    return done_testing();
}
