/* Adapters in PEFT's format; see adapter_file.h. */
#include "model/files/adapter_file.h"
#include "base/io.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "model/config/family.h"
#include "model/files/open.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "base_model.model."
#define HEAD PREFIX "lm_head."
#define MERGE ": merge the adapter into the model with PEFT (merge_and_unload)"
enum { RANK_MOST = 1 << 16, NAME_MOST = 200 };

/* An adapter that is being read. */
struct reading {
    struct adapter *a;
    struct model *m;
    const char *path;
    const json_t *config;
    const struct st *st;
    unsigned char *used; /* [st->nt] */
};

const char *
adapter_module(const struct config *c, size_t k, size_t *n)
{
    const char *name = block_tensor_name(c, (int)k), *dot, *end;

    if (name == NULL || block_is_vector((int)k) ||
        block_is_of_experts((int)k) || block_is_delta((int)k))
        return NULL;
    name = block_stored(c, (int)k, 0).name;
    dot = strchr(name, '.');
    end = strrchr(name, '.');
    name = dot != end ? dot + 1 : name;
    *n = (size_t)(end - name);
    return name;
}

/* The path of the module of matrix k of block i. */
static void
module_path(const struct config *c, size_t i, size_t k, char name[NAME_MOST])
{
    const char *t = block_stored(c, (int)k, 0).name;

    snprintf(name, NAME_MOST, "%s%zu.%.*s", family_blocks(c), i,
        (int)(strrchr(t, '.') - t), t);
}

/* ---- adapter_config.json ---- */

/* Does the path `module` end with the whole names in `key`?  "q_proj" and
 * "self_attn.q_proj" match model.layers.0.self_attn.q_proj; "proj" does not. */
static int
key_matches(const char *key, const char *module)
{
    const size_t n = strlen(key), all = strlen(module);

    return n <= all && strcmp(module + all - n, key) == 0 &&
        (n == all || module[all - n - 1] == '.');
}

/* The rank or alpha of a module in adapter_config.json: the value of the first
 * key of the object `pattern` that matches the module; if no key does, the
 * value of `all`, which is 8 in PEFT if missing. */
static double
module_number(const json_t *config, const char *pattern, const char *all,
    const char *module)
{
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(config, pattern), key, v)
    {
        if (key_matches(key, module))
            return json_number_value(v);
    }
    v = json_object_get(config, all);
    return v != NULL ? json_number_value(v) : 8.0;
}

/* Does an element of `list`, an array of strings, match the module? */
static int
list_matches(const json_t *list, const char *module)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));

        if (name != NULL && key_matches(name, module))
            return 1;
    }
    return 0;
}

/* Check that adapter_config.json selects the module, which is in block i; i is
 * SIZE_MAX for the embedding.  PEFT ignores tensors of other modules. */
static int
check_target(const json_t *config, const char *module, size_t i, struct err *e)
{
    const json_t *targets = json_object_get(config, "target_modules");
    const json_t *not = json_object_get(config, "exclude_modules");
    const json_t *only = json_object_get(config, "layers_to_transform");
    int in = json_is_integer(only) ? (size_t)json_integer_value(only) == i
                                   : json_array_size(only) == 0;

    for (size_t k = 0; k < json_array_size(only); k++)
        in |= (size_t)json_integer_value(json_array_get(only, k)) == i;
    if ((in || i == SIZE_MAX) && !list_matches(not, module) &&
        (!json_is_array(targets) || list_matches(targets, module)))
        return 0;
    return err_set(e, EX_INPUT,
        "%s: has tensors, but adapter_config.json leaves it out "
        "(target_modules, exclude_modules, layers_to_transform)",
        module);
}

/* Check that a pattern's keys are plain and its values positive numbers. */
static int
check_pattern(const json_t *config, const char *name, struct err *e)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(config, name), key, v)
    {
        if (key[strspn(key, plain)] != '\0')
            return err_set(e, EX_INPUT,
                "%s: the key '%.80s' is a regular expression: write names, "
                "such as layers.0.self_attn.q_proj",
                name, key);
        if (!(json_number_value(v) > 0.0))
            return err_set(e, EX_INPUT, "%s: '%.80s' has no number above 0",
                name, key);
    }
    return 0;
}

/* Does the value leave the model as it is: null, false or empty; for bias
 * "none"; for init_lora_weights true, or an initialisation that does not change
 * the model's weights? */
static int
is_idle(const char *key, const json_t *v)
{
    static const char *const init[] = { "gaussian", "orthogonal", "eva", NULL };
    const char *s = json_string_value(v);

    if (strcmp(key, "init_lora_weights") == 0 && json_is_boolean(v))
        return 1;
    for (size_t i = 0; s != NULL && init[i] != NULL; i++)
        if (strcmp(key, "init_lora_weights") == 0 && strcmp(s, init[i]) == 0)
            return 1;
    if (strcmp(key, "bias") == 0 && s != NULL)
        return strcmp(s, "none") == 0;
    return v == NULL || json_is_null(v) || json_is_false(v) ||
        ((json_is_object(v) || json_is_array(v)) && json_object_size(v) == 0 &&
            json_array_size(v) == 0);
}

/* Refuse what changes the model in a way that is not implemented.  turned: the
 * model's matrices are stored as [in,out], which fan_in_fan_out says. */
static int
check_config(const json_t *config, int turned, struct err *e)
{
    static const char *const idle[] = { "bias", "lora_bias", "fan_in_fan_out",
        "init_lora_weights", "layer_replication", "target_parameters",
        "trainable_token_indices", "use_bdlora", "use_qalora", "kasa_config",
        "velora_config", "monteclora_config", "alora_invocation_tokens",
        "loftq_config", "corda_config", "arrow_config" };
    static const char *const numbers[] = { "r", "lora_alpha" };
    const char *type = json_string_value(json_object_get(config, "peft_type"));

    if (type == NULL || strcmp(type, "LORA") != 0)
        return err_set(e, EX_INPUT, "peft_type: is %.40s, not LORA",
            type != NULL ? type : "missing");
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (!is_idle(idle[i], json_object_get(config, idle[i])) &&
            !(turned && strcmp(idle[i], "fan_in_fan_out") == 0))
            return err_set(e, EX_INPUT,
                "%s: has a value that is not implemented" MERGE, idle[i]);
    for (size_t i = 0; i < 2; i++) {
        const json_t *v = json_object_get(config, numbers[i]);

        if (v != NULL && !(json_number_value(v) > 0.0))
            return err_set(e, EX_INPUT, "%s: is no number above 0", numbers[i]);
    }
    if (check_pattern(config, "rank_pattern", e) < 0)
        return -1;
    return check_pattern(config, "alpha_pattern", e);
}

/* ---- adapter_model.safetensors ---- */

/* Find the tensor PREFIX module.suffix and mark it as used; NULL: there is no
 * such tensor. */
static const struct st_tensor *
module_tensor(struct reading *r, const char *module, const char *suffix)
{
    char name[2 * NAME_MOST];
    const struct st_tensor *t;

    snprintf(name, sizeof name, PREFIX "%s.%s", module, suffix);
    t = st_find(r->st, name);
    if (t != NULL)
        r->used[t - r->st->t] = 1;
    return t;
}

/* Check a tensor's shape [rows,cols], or [cols] if rows is 0. */
static int
check_shape(const struct st_tensor *t, const char *module, size_t rows,
    size_t cols, struct err *e)
{
    const int ndim = rows > 0 ? 2 : 1;

    if (t == NULL)
        return err_set(e, EX_INPUT,
            "the tensors lora_A and lora_B of %s, and for DoRA "
            "lora_magnitude_vector, are not all there",
            module);
    if (t->ndim != ndim || t->shape[ndim - 1] != cols ||
        (rows > 0 && t->shape[0] != rows))
        return err_set(e, EX_INPUT, "tensor %.120s: its shape is not [%zu,%zu]",
            t->name, rows > 0 ? rows : 1, cols);
    if (t->dtype != DT_F32 && t->dtype != DT_F16 && t->dtype != DT_BF16)
        return err_set(e, EX_INPUT, "tensor %.120s: its type %s is no float",
            t->name, dtype_name(t->dtype));
    return 0;
}

/* Set *rank to the rank of the adapter of a module in block i: the number of
 * rows of the module's tensor `suffix`.  A module without this tensor has no
 * adapter, and *rank becomes 0.  -1 and *e: the tensor is no matrix of 1 to
 * RANK_MOST rows, or adapter_config.json has another rank or does not select
 * the module. */
static int
module_rank(struct reading *r, const char *module, size_t i, const char *suffix,
    size_t *rank, struct err *e)
{
    const struct st_tensor *t = module_tensor(r, module, suffix);
    double want;

    *rank = 0;
    if (t == NULL)
        return 0;
    if (t->ndim != 2 || t->shape[0] == 0 || t->shape[0] > RANK_MOST)
        return err_set(e, EX_INPUT,
            "tensor %.120s: is no matrix of 1 to %d "
            "rows",
            t->name, RANK_MOST);
    if (check_target(r->config, module, i, e) < 0)
        return -1;
    *rank = t->shape[0];
    want = module_number(r->config, "rank_pattern", "r", module);
    if ((double)*rank != want)
        return err_set(e, EX_INPUT,
            "tensor %.120s: has rank %zu, but adapter_config.json says %g (r, "
            "rank_pattern)",
            t->name, *rank, want);
    return 0;
}

/* alpha / rank or, for rsLoRA, alpha / sqrt(rank). */
static float
module_scale(const struct reading *r, const char *module, size_t rank)
{
    const double alpha =
        module_number(r->config, "alpha_pattern", "lora_alpha", module);

    return (float)(json_is_true(json_object_get(r->config, "use_rslora"))
            ? alpha / sqrt((double)rank)
            : alpha / (double)rank);
}

/* A fused family stores several matrices as one tensor.  Set *all to the rows
 * of the stored tensor that contains matrix k of block i, and *before to how
 * many of them come before the first row of k. */
static void
stored_rows_of(const struct model *m, size_t i, size_t k, size_t *before,
    size_t *all)
{
    const struct stored_rows s = block_stored(&m->c, (int)k, 0);

    *before = *all = 0;
    for (size_t j = (size_t)s.first; j < (size_t)(s.first + s.n); j++) {
        *before = j == k ? *all : *before;
        *all += m->block[i].w[j].rows;
    }
}

/* Widen rows r0..r0+n-1 of t, each of `cols` numbers. */
static void
widen_rows(float *out, const struct st_tensor *t, size_t r0, size_t n,
    size_t cols)
{
    const size_t size = t->dtype == DT_F32 ? 4 : 2; /* by check_shape */

    weight_widen(out, t->dtype,
        (const unsigned char *)t->data + r0 * cols * size, n * cols);
}

static int
read_matrix(struct reading *r, size_t i, size_t k, struct err *e)
{
    struct low_rank *l = &r->a->low[i * W_N + k];
    const struct weight *w = &r->m->block[i].w[k];
    const struct st_tensor *a, *b, *m;
    char module[NAME_MOST];
    size_t all, before;

    if (l->rank == 0)
        return 0;
    stored_rows_of(r->m, i, k, &before, &all);
    module_path(&r->m->c, i, k, module);
    a = module_tensor(r, module, "lora_A.weight");
    b = module_tensor(r, module, "lora_B.weight");
    m = module_tensor(r, module, "lora_magnitude_vector");
    if (check_shape(a, module, l->rank, w->cols, e) < 0 ||
        check_shape(b, module, all, l->rank, e) < 0 ||
        (l->m != NULL && check_shape(m, module, 0, all, e) < 0))
        return -1;
    l->scale = module_scale(r, module, l->rank);
    weight_widen(l->a, a->dtype, a->data, a->n);
    for (size_t row = 0; row < w->rows; row++) {
        const size_t from = block_stored_row(&r->m->c, (int)k, before, row);

        widen_rows(l->b + row * l->rank, b, from, 1, l->rank);
        if (l->m != NULL)
            widen_rows(l->m + row, m, from, 1, 1);
    }
    return 0;
}

/* Point w to a tensor [rows,cols] that was saved whole. */
static int
take_saved(struct weight *w, const struct st_tensor *t, const char *module,
    struct err *e)
{
    if (check_shape(t, module, w->rows, w->cols, e) < 0)
        return -1;
    return weight_set(w, t->data, t->dtype, w->rows, w->cols);
}

/* The path of the embedding's module. */
static const char *
embed_path(const struct config *c)
{
    static char path[40];
    const char *name = family_outer_name(c, OUTER_EMBED, 0);

    snprintf(path, sizeof path, "%.*s", (int)(strrchr(name, '.') - name), name);
    return path;
}

/* Point m's embedding and head to tensors that were saved whole, if any. */
static int
read_whole(struct reading *r, struct err *e)
{
    const char *path = embed_path(&r->m->c);
    const struct st_tensor *under = module_tensor(r, path, "base_layer.weight"),
                           *embed = module_tensor(r, path, "weight"),
                           *head = module_tensor(r, "lm_head", "weight"),
                           *bias = module_tensor(r, "lm_head", "bias");
    const int tying =
        json_is_true(json_object_get(r->config, "ensure_weight_tying"));
    struct model *m = r->m;

    embed = embed != NULL ? embed : under;
    r->a->whole |= embed != NULL || head != NULL || r->a->embed.rank > 0;
    if (embed != NULL && take_saved(&m->embed, embed, path, e) < 0)
        return -1;
    if (embed != NULL && m->c.tied && (embed == under || tying))
        m->head = m->embed;
    else if (embed != NULL) /* a head that was tied stays as it is */
        m->c.tied = 0;
    if (head != NULL && take_saved(&m->head, head, "lm_head", e) < 0)
        return -1;
    if (head != NULL)
        m->c.tied = 0;
    if (bias != NULL && m->head_bias.rows > 0 &&
        (check_shape(bias, "lm_head", 0, m->c.V, e) < 0 ||
            weight_set(&m->head_bias, bias->data, bias->dtype, 1, m->c.V) < 0))
        return -1;
    model_set_bias(m);
    return 0;
}

/* Widen t [rows,cols] to a new array, transposed. */
static float *
transposed(const struct st_tensor *t)
{
    const size_t rows = t->shape[0], cols = t->shape[1];
    float *x = xreallocarray(NULL, t->n, sizeof *x);
    float *y = xreallocarray(NULL, t->n, sizeof *y);

    weight_widen(x, t->dtype, t->data, t->n);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            y[j * rows + i] = x[i * cols + j];
    free(x);
    return y;
}

/* Read the LoRA of the embedding E [V,d].  The file has A [rank,V] and B
 * [d,rank]: E + scale A^T B^T. */
static int
read_embed(struct reading *r, struct err *e)
{
    struct low_rank *l = &r->a->embed;
    const size_t V = r->m->c.V, d = r->m->c.d;
    const char *path = embed_path(&r->m->c);
    const struct st_tensor *a, *b;

    if (module_rank(r, path, SIZE_MAX, "lora_embedding_A", &l->rank, e) < 0)
        return -1;
    if (l->rank == 0)
        return 0;
    a = module_tensor(r, path, "lora_embedding_A");
    b = module_tensor(r, path, "lora_embedding_B");
    if (check_shape(a, path, l->rank, V, e) < 0 ||
        check_shape(b, path, d, l->rank, e) < 0)
        return -1;
    l->scale = module_scale(r, path, l->rank);
    l->a = transposed(b);
    l->b = transposed(a);
    return 0;
}

/* Refuse a file without tensors, and one with a tensor that was not read. */
static int
check_used(const struct reading *r, struct err *e)
{
    for (size_t i = 0; i < r->st->nt; i++) {
        const char *name = r->st->t[i].name;

        if (!r->used[i])
            return err_set(e, EX_INPUT,
                strncmp(name, HEAD, sizeof HEAD - 1) == 0
                    ? "tensor %.200s: an adapter of lm_head is not "
                      "supported" MERGE
                    : strstr(name, ".lora_") == NULL
                    ? "tensor %.200s: of modules_to_save only embed_tokens and "
                      "lm_head are supported" MERGE
                    : "tensor %.200s: changes nothing that this model has and "
                      "adapters may change",
                name);
    }
    return r->st->nt > 0
        ? 0
        : err_set(e, EX_INPUT, "has no tensors: the adapter changes nothing");
}

static int
read_tensors(struct reading *r, struct err *e)
{
    const size_t n = r->m->c.L * W_N;
    const int dora = json_is_true(json_object_get(r->config, "use_dora"));
    size_t *rank = xcalloc(n, sizeof *rank), some;
    int ok = 0;

    for (size_t i = 0; i < n && ok == 0; i++) {
        char module[NAME_MOST];

        if (adapter_module(&r->m->c, i % W_N, &some) == NULL)
            continue;
        module_path(&r->m->c, i / W_N, i % W_N, module);
        ok = module_rank(r, module, i / W_N, "lora_A.weight", &rank[i], e);
        if (ok == 0 && rank[i] > 0 && r->m->block[i / W_N].w[i % W_N].rows == 0)
            ok = err_set(e, EX_INPUT, "%s: this model has no such matrix",
                module);
    }
    if (ok == 0)
        adapter_alloc(r->a, r->m, rank, dora);
    free(rank);
    for (size_t i = 0; i < n && ok == 0; i++)
        ok = read_matrix(r, i / W_N, i % W_N, e);
    if (ok < 0 || read_embed(r, e) < 0 || read_whole(r, e) < 0)
        return -1;
    return check_used(r, e);
}

int
adapter_is_there(const char *path)
{
    char *file = xasprintf("%s/adapter_config.json", path);
    const int there = io_exists(file);

    free(file);
    return there;
}

/* Map the file of r->path and read its tensors; a->map stays until
 * adapter_close. */
static int
read_file(struct reading *r, struct err *e)
{
    char *file = xasprintf("%s/adapter_model.safetensors", r->path);
    struct io_map map;
    struct st st;
    int ok = io_map(&map, file, e);

    if (ok == 0 && st_parse(&st, map.p, map.n, e) < 0) {
        io_unmap(&map);
        ok = err_prefix(e, "%s", file);
    } else if (ok == 0) {
        r->st = &st;
        r->used = xcalloc(st.nt + 1, 1);
        ok = read_tensors(r, e);
        free(r->used);
        st_release(&st);
        r->a->map = map;
        if (ok < 0)
            err_prefix(e, "%s", file);
    }
    free(file);
    return ok;
}

int
adapter_open(struct adapter *a, const char *path, struct model *m,
    struct pool *pool, struct err *e)
{
    char *file = xasprintf("%s/adapter_config.json", path);
    struct reading r = { .a = a, .m = m, .path = path };
    json_t *config = js_load(file, JS_MAX, e);
    int ok = config != NULL ? adapter_fits(m, e) : -1;

    memset(a, 0, sizeof *a);
    r.config = config;
    if (ok == 0 && check_config(config, family_of(&m->c)->turned, e) < 0)
        ok = err_prefix(e, "%s", file);
    free(file);
    if (ok == 0)
        ok = read_file(&r, e);
    a->config = config;
    if (ok < 0) {
        adapter_close(a);
        return -1;
    }
    for (size_t i = 0; i < a->L; i++)
        for (size_t k = 0; k < a->block[i].n && ok == 0; k++)
            if (!isfinite(a->block[i].p[k]))
                ok = err_set(e, EX_NUM, "%s: a tensor is not finite", path);
    if (ok < 0) {
        adapter_close(a);
        return -1;
    }
    a->dropout = json_number_value(json_object_get(config, "lora_dropout"));
    adapter_norms(a, m, pool);
    adapter_attach(a, m);
    return 0;
}

int
model_adapt(struct model *m, const char *path, struct err *e)
{
    m->adapter = xcalloc(1, sizeof *m->adapter);
    return adapter_open(m->adapter, path, m, NULL, e);
}

/* ---- writing ---- */

/* The names of the matrices that o->targets selects, once each. */
static json_t *
target_list(const struct adapter_opt *o, const struct model *m)
{
    json_t *list = json_array();
    size_t n;

    for (size_t k = 0; k < W_N; k++) {
        const char *name = adapter_module(&m->c, k, &n);

        if (name != NULL && block_stored(&m->c, (int)k, 0).first == (int)k &&
            adapter_targets(&m->c, k, o->targets))
            json_array_append_new(list, json_stringn(name, n));
    }
    return list;
}

json_t *
adapter_config(const struct adapter_opt *o, const struct model *m)
{
    static const char *const null[] = { "alora_invocation_tokens",
        "arrow_config", "auto_mapping", "corda_config", "eva_config",
        "exclude_modules", "kasa_config", "layer_replication", "layers_pattern",
        "layers_to_transform", "lora_ga_config", "megatron_config",
        "modules_to_save", "monteclora_config", "revision", "target_parameters",
        "trainable_token_indices", "use_bdlora", "velora_config" };
    static const char *const no[] = { "ensure_weight_tying", "fan_in_fan_out",
        "lora_bias", "use_qalora" };
    static const char *const empty[] = { "alpha_pattern", "loftq_config",
        "rank_pattern" };
    json_t *j = json_pack("{s:s?,s:s,s:b,s:b,s:f,s:f,s:s,s:s,s:s,s:i,s:i,s:s,"
                          "s:b,s:b,s:o}",
        "base_model_name_or_path", m->path, "bias", "none", "inference_mode", 1,
        "init_lora_weights", 1, "lora_alpha", o->alpha, "lora_dropout",
        o->dropout, "megatron_core", "megatron.core", "peft_type", "LORA",
        "peft_version", "0.21.2", "qalora_group_size", 16, "r", (int)o->rank,
        "task_type", "CAUSAL_LM", "use_dora", o->dora, "use_rslora", o->rs,
        "target_modules", target_list(o, m));

    for (size_t i = 0; i < sizeof null / sizeof *null; i++)
        json_object_set_new(j, null[i], json_null());
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        json_object_set_new(j, no[i], json_false());
    if (family_of(&m->c)->turned)
        json_object_set_new(j, "fan_in_fan_out", json_true());
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        json_object_set_new(j, empty[i], json_object());
    if (o->alpha == floor(o->alpha))
        json_object_set_new(j, "lora_alpha", json_integer((int)o->alpha));
    return j;
}

static void
put_matrix(struct st_out *o, const char *module, const char *suffix,
    size_t rows, size_t cols, const float *p)
{
    const size_t shape[] = { rows, cols };
    char name[2 * NAME_MOST];

    snprintf(name, sizeof name, PREFIX "%s.%s", module, suffix);
    if (rows > 0)
        st_out_tensor(o, name, DT_F32, 2, shape, p);
    else
        st_out_tensor(o, name, DT_F32, 1, &cols, p);
}

/* Copy B (magnitudes 0) or the magnitudes (1) of the matrices whose rows are in
 * the stored tensor that begins with matrix k of block i, in the order of its
 * rows; the caller frees them. */
static float *
stacked(const struct adapter *a, const struct model *m, size_t i, size_t k,
    int magnitudes)
{
    const size_t n = (size_t)block_stored(&m->c, (int)k, 0).n;
    const struct low_rank *l = &a->low[i * W_N + k];
    const size_t cols = magnitudes ? 1 : l->rank;
    size_t before, all;
    float *x;

    stored_rows_of(m, i, k, &before, &all);
    x = xreallocarray(NULL, all * cols, sizeof *x);
    for (size_t j = k; j < k + n; j++, l++) {
        const float *from = magnitudes ? l->m : l->b;

        stored_rows_of(m, i, j, &before, &all);
        for (size_t r = 0; r < m->block[i].w[j].rows; r++)
            memcpy(x + block_stored_row(&m->c, (int)j, before, r) * cols,
                from + r * cols, cols * sizeof *x);
    }
    return x;
}

static int
save_tensors(const struct adapter *a, const struct model *m, const char *file,
    struct err *e)
{
    float **made = xcalloc(2 * a->L * W_N, sizeof *made);
    size_t before, all;
    struct st_out o = { 0 };
    int r;

    st_out_begin(&o);
    st_out_meta(&o, "format", "pt");
    for (size_t i = 0; i < a->L * W_N; i++) {
        const struct low_rank *l = &a->low[i];
        const size_t block = i / W_N, k = i % W_N;
        char module[NAME_MOST];

        if (l->rank == 0 || block_stored(&m->c, (int)k, 0).first != (int)k)
            continue;
        module_path(&m->c, block, k, module);
        stored_rows_of(m, block, k, &before, &all);
        made[2 * i] = stacked(a, m, block, k, 0);
        put_matrix(&o, module, "lora_A.weight", l->rank,
            m->block[block].w[k].cols, l->a);
        put_matrix(&o, module, "lora_B.weight", all, l->rank, made[2 * i]);
        if (l->m == NULL)
            continue;
        made[2 * i + 1] = stacked(a, m, block, k, 1);
        put_matrix(&o, module, "lora_magnitude_vector", 0, all,
            made[2 * i + 1]);
    }
    st_out_end(&o);
    r = st_out_save(&o, file, e);
    st_out_release(&o);
    for (size_t i = 0; i < 2 * a->L * W_N; i++)
        free(made[i]);
    free(made);
    return r;
}

int
adapter_save(const struct adapter *a, const struct model *m, const char *dir,
    struct err *e)
{
    char *tensors = xasprintf("%s/adapter_model.safetensors", dir);
    char *config = xasprintf("%s/adapter_config.json", dir);
    char *text = json_dumps(a->config, JSON_SORT_KEYS | JSON_INDENT(2));
    int r = save_tensors(a, m, tensors, e);

    if (r == 0)
        r = io_put_file(config, text, strlen(text), e);
    free(text);
    free(config);
    free(tensors);
    return r;
}
