/* Moments in parts of ranks: they cover each group once, and a model of real
 * size is shared evenly; the norm and the parameters of one rank do not depend
 * on the parts being cut finely. */
#include "base/err.h"
#include "kern/kern.h"
#include "model/backward.h"
#include "train/adamw.h"

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

/* Rank r of n of SmolLM2-135M. */
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

int
main(void)
{
    struct tmodel t;
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
    tmodel_release(&t);
    return done_testing();
}
