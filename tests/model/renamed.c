/* Model types that are read as a family (config_renamed.h): what they have that
 * the family lacks is refused by name, tensors for images are left out with one
 * note, and adapters, whose tensors have the type's own names, are refused.
 * That they compute as transformers do is in family.c and experts.c. */
#include "base/note.h"
#include "format/json.h"
#include "model/config/config.h"
#include "model/files/adapter.h"
#include "model/files/model.h"
#include "../lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char said[400]; /* the last note */
static size_t notes;

static void
listen(const char *msg)
{
    snprintf(said, sizeof said, "%s", msg);
    notes++;
}

/* Read the golden configuration of `folder` with the keys of `more` instead. */
static int
read_with(struct config *c, const char *folder, const char *more, struct err *e)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/%s/config.json", top, folder);
    json_t *j = js_load(path, JS_MAX, e), *m = json_loads(more, 0, NULL);
    int r;

    free(path);
    if (j == NULL || m == NULL) {
        printf("Bail out! %s: %s\n", folder, more);
        exit(1);
    }
    json_object_update(j, m);
    r = config_from_json(c, j, e);
    json_decref(j);
    json_decref(m);
    return r;
}

static void
refuse(const char *folder, const char *more, const char *why)
{
    struct config c;
    struct err e = { 0 };

    ok(read_with(&c, folder, more, &e) < 0 && strstr(e.msg, why) != NULL,
        "%s with %s is refused: %s", folder, more, e.msg);
}

static void
test_refusals(void)
{
    refuse("family/granitemoehybrid",
        "{\"layer_types\":[\"attention\",\"mamba\"]}",
        "layer_types: number 1 is mamba");
    refuse("family/granitemoehybrid", "{\"layer_types\":null}", "Mamba");
    refuse("family/granitemoehybrid", "{\"num_local_experts\":8}",
        "num_local_experts: 8: a granitemoehybrid with experts");
    refuse("family/granitemoehybrid", "{\"position_embedding_type\":\"nope\"}",
        "position_embedding_type: \"nope\"");
    refuse("family/ernie4_5", "{\"use_bias\":true}", "use_bias: true");
    refuse("family/seed_oss", "{\"attention_bias\":false}", "attention_bias");
    refuse("family/seed_oss", "{\"attention_out_bias\":true}",
        "attention_out_bias");
    refuse("experts/glm4_moe_lite",
        "{\"mlp_layer_types\":[\"dense\",\"sparse\",\"dense\"]}",
        "mlp_layer_types: number 2 is dense");
    refuse("experts/glm4_moe_lite", "{\"head_dim\":6}", "head_dim: differs");
    refuse("experts/deepseek_v3",
        "{\"n_routed_experts\":0,\"num_experts_per_tok\":0}",
        "n_routed_experts: 0");
}

/* Older files call blocks with attention otherwise, and the type of RoPE. */
static void
test_old_values(void)
{
    struct config c, again;
    struct err e = { 0 };

    ok(read_with(&c, "family/granitemoehybrid", "{}", &e) == 0 &&
            read_with(&again, "family/granitemoehybrid",
                "{\"layer_types\":[\"attention\",\"attention\"]}", &e) == 0 &&
            memcmp(&c, &again, sizeof c) == 0,
        "blocks of a granitemoehybrid called attention have attention %s",
        e.msg);
    ok(read_with(&c, "family/qwen2_5_vl", "{}", &e) == 0 &&
            read_with(&again, "family/qwen2_5_vl",
                "{\"rope_scaling\":{\"type\":\"default\",\"rope_type\":"
                "\"default\",\"mrope_section\":[2,1,1]}}",
                &e) == 0 &&
            memcmp(&c, &again, sizeof c) == 0,
        "the two names of RoPE in a qwen2_5_vl mean the same %s", e.msg);
    ok(read_with(&c, "family/ministral", "{\"layer_types\":null}", &e) == 0 &&
            config_window(&c, 0) == 5 && config_window(&c, 1) == 5,
        "all blocks of a ministral without layer_types have the window %s",
        e.msg);
}

/* Opening the model prints n notes, of which the last one says what is left
 * out. */
static void
test_left_out(const char *folder, size_t n, const char *what)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/%s", top, folder);
    struct model m;
    struct err e = { 0 };

    notes = 0;
    ok(model_open(&m, path, &e) == 0 && notes == n &&
            strstr(said, what) != NULL,
        "note %zu says what of %s is left out: %s", n, folder, said);
    if (*e.msg == '\0')
        model_close(&m);
    free(path);
}

static void
test_adapters(const char *folder, const char *family)
{
    const struct adapter_opt opt = { .rank = 2,
        .alpha = 2,
        .targets = "all-linear" };
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/%s", top, folder);
    struct adapter a;
    struct model m;
    struct err e = { 0 };

    ok(model_open(&m, path, &e) == 0 &&
            adapter_new(&a, &opt, &m, NULL, &e) < 0 &&
            strstr(e.msg, "convert the model first") != NULL &&
            strstr(e.msg, family) != NULL,
        "an adapter of %s is refused: %s", folder, e.msg);
    model_close(&m);
    free(path);
}

int
main(void)
{
    note_sink = listen;
    test_refusals();
    test_old_values();
    test_left_out("family/qwen2_5_vl", 1, "tensors for images are left out");
    test_left_out("family/qwen3_vl", 1, "tensors for images are left out");
    test_left_out("experts/qwen3_5_moe-sees", 2,
        "1 tensors that predict further tokens are left out");
    test_adapters("family/ernie4_5", "llama");
    test_adapters("family/granitemoehybrid", "granite");
    test_adapters("family/qwen3_vl", "qwen3");
    test_adapters("family/youtu", "deepseek_v3");
    return done_testing();
}
