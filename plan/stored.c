/* Parameters in safetensors files: see stored.h */
#include "stored.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "format/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Is the tensor a constant that older files store, such as GPT-2's mask? */
static int
tensor_is_constant(const char *name)
{
    static const char *const ends[] = { ".attn.bias", ".masked_bias",
        ".attention.bias", ".inv_freq" };
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i]);

        if (n > m && strcmp(name + n - m, ends[i]) == 0)
            return 1;
    }
    return 0;
}

/* Count the parameters of one file by its header. */
static int
count_file(double *n, const char *path, struct err *e)
{
    struct io_map m;
    struct st st;

    if (io_map(&m, path, e) < 0)
        return -1;
    if (st_parse(&st, m.p, m.n, e) < 0) {
        io_unmap(&m);
        return err_prefix(e, "%s", path);
    }
    *n = 0.0;
    for (size_t i = 0; i < st.nt; i++)
        *n += tensor_is_constant(st.t[i].name) ? 0.0 : (double)st.t[i].n;
    st_release(&st);
    io_unmap(&m);
    return 0;
}

/* Count the parameters that an index tells: metadata.total_parameters, or
 * metadata.total_size bytes of the type in config.json; 0: it tells neither. */
static int
count_index(double *n, const char *path, const json_t *config, struct err *e)
{
    const char *type = js_text_of(config, "dtype");
    json_t *j = js_load(path, JS_MAX, e);
    double each;
    int r;

    if (j == NULL)
        return -1;
    *n = 0.0;
    type = *type != '\0' ? type : js_text_of(config, "torch_dtype");
    each = strcmp(type, "float32") == 0                                 ? 4.0
        : strcmp(type, "bfloat16") == 0 || strcmp(type, "float16") == 0 ? 2.0
                                                                        : 0.0;
    r = js_real(j, "metadata.total_parameters", 1.0, 1e18, n, e);
    if (r == 0 && each > 0.0) {
        r = js_real(j, "metadata.total_size", 1.0, 1e18, n, e);
        *n /= each;
    }
    json_decref(j);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}

int
stored_check(const struct shape *s, const json_t *j, const char *dir,
    struct err *e)
{
    char *file = xasprintf("%s/model.safetensors", dir);
    char *index = xasprintf("%s/model.safetensors.index.json", dir);
    const double told = shape_params(s);
    double n = 0.0;
    int r = 0;

    if (js_get(j, "quantization_config") == NULL && js_get(j, "retort") == NULL)
        r = io_exists(index)  ? count_index(&n, index, j, e)
            : io_exists(file) ? count_file(&n, file, e)
                              : 0;
    if (r == 0 && n > 0.0 && !(fabs(n / told - 1.0) <= 0.01) &&
        !(s->tied > 0 && fabs(n / (told + s->V * s->d) - 1.0) <= 0.01))
        r = err_set(e, EX_INPUT,
            "%s: has %.6g parameters, but config.json means %.6g: plan does "
            "not know this model's shape",
            io_exists(index) ? index : file, n, told);
    free(file);
    free(index);
    return r;
}
