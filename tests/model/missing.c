/* config.json is read as by transformers, in each family: missing keys have the
 * values that transformers assumes, and a value that changes transformers'
 * logits either changes the configuration or is refused.  The golden file is
 * made by scripts/oracle/config_missing.py. */
#include "format/json.h"
#include "model/config/config.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value of `name`, a name of the golden file, in c or, if blocks differ, in
 * block i; NAN: the name is unknown. */
static double
number(const struct config *c, const char *name, size_t i)
{
    const struct {
        const char *name;
        double v;
    } of[] = { { "V", (double)c->V }, { "d", (double)c->d },
        { "mlp", (double)c->mlp }, { "L", (double)c->L }, { "H", (double)c->H },
        { "KV", (double)c->KV }, { "D", (double)c->D },
        { "max_pos", (double)c->max_pos },
        { "window", (double)config_window(c, i) }, { "eps", c->eps },
        { "init_range", c->init_range }, { "theta", c->theta },
        { "theta_local", c->theta_local }, { "tied", c->tied },
        { "bos", (double)c->bos },
        { "eos", c->neos ? (double)c->eos[0] : -1.0 },
        { "pad", (double)c->pad }, { "rope_factor", c->rope_factor },
        { "no_rope", !config_rope(c, i) },
        { "rotary", (double)config_rotary(c) },
        { "attn_scalar", (double)c->attn_scalar }, { "attn_cap", c->attn_cap },
        { "final_cap", c->final_cap }, { "attn_scale", c->attn_scale },
        { "embed_scale", c->embed_scale },
        { "residual_scale", c->residual_scale },
        { "logit_scale", c->logit_scale }, { "logit_factor", c->logit_factor },
        { "experts", (double)c->router.n }, { "used", (double)c->router.k },
        { "expert_mlp", (double)c->expert_mlp }, { "scale", c->router.scale },
        { "shared", (double)c->shared_mlp }, { "parallel", c->parallel },
        { "attn_bias", c->attn_bias }, { "exact_gelu", c->exact_gelu },
        { "dense", config_whole_block(c, i).experts == 0 },
        { "params", (double)config_params(c, NULL) } };

    for (size_t k = 0; k < sizeof of / sizeof *of; k++)
        if (strcmp(of[k].name, name) == 0)
            return of[k].v;
    return NAN;
}

/* The name of the first member of `want` whose value differs from that in c;
 * NULL: all are the same. */
static const char *
wrong(const struct config *c, const json_t *want)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)want, name, v)
    {
        const size_t n = json_is_array(v) ? json_array_size(v) : 1;

        for (size_t i = 0; i < n; i++) {
            const json_t *x = json_is_array(v) ? json_array_get(v, i) : v;
            const double is = number(c, name, i), to = json_number_value(x);

            if (!(fabs(is - to) <= 1e-9 * fabs(to))) {
                printf("# %s of block %zu: %g, transformers: %g\n", name, i, is,
                    to);
                return name;
            }
        }
    }
    return NULL;
}

static void
check_missing(const char *family, const json_t *of)
{
    const json_t *full = js_get(of, "full"), *list = js_get(of, "missing");
    const char *key;
    json_t *changes;

    json_object_foreach((json_t *)list, key, changes)
    {
        json_t *want = json_copy((json_t *)js_get(of, "want"));
        json_t *j = *key ? json_copy((json_t *)full)
                         : json_pack("{s:s}", "model_type", family);
        struct config c;
        struct err e = { 0 };

        json_object_del(j, key);
        json_object_update(want, changes);
        ok(config_from_json(&c, j, &e) == 0 && wrong(&c, want) == NULL,
            "a %s without %s has transformers' values %s", family,
            *key ? key : "any key", e.msg);
        json_decref(j);
        json_decref(want);
    }
}

static void
check_changed(const char *family, const json_t *of)
{
    const json_t *full = js_get(of, "full"), *list = js_get(of, "changed");
    struct config base, c;
    struct err e = { 0 };
    const char *key;
    json_t *v;

    ok(config_from_json(&base, full, &e) == 0 &&
            wrong(&base, js_get(of, "want")) == NULL,
        "a %s of all keys is read as by transformers %s", family, e.msg);
    json_object_foreach((json_t *)list, key, v)
    {
        json_t *j = json_copy((json_t *)full);

        json_object_set(j, key, v);
        ok(config_from_json(&c, j, &e) < 0 || memcmp(&c, &base, sizeof c) != 0,
            "%s, which changes a %s, is refused or changes the configuration",
            key, family);
        json_decref(j);
    }
}

int
main(void)
{
    char *path =
        xasprintf("%s/tests/golden/config/missing.json", getenv("RETORT_TOP"));
    struct err e = { 0 };
    json_t *all = js_load(path, JS_MAX, &e), *of;
    const char *family;

    if (!ok(all != NULL, "the values of transformers are read %s", e.msg))
        return done_testing();
    json_object_foreach(all, family, of)
    {
        if (*family == '\0')
            continue;
        check_missing(family, of);
        check_changed(family, of);
    }
    json_decref(all);
    free(path);
    return done_testing();
}
