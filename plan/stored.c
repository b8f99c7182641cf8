/* Parameters in safetensors files: see shape.h */
#include "shape.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "format/safetensors.h"

#include <math.h>
#include <stdlib.h>

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
        *n += (double)st.t[i].n;
    st_release(&st);
    io_unmap(&m);
    return 0;
}

/* Set *n to the number of parameters that an index names: the member
 * total_parameters of its metadata or, without it, total_size / 2 or / 4,
 * whichever is nearer to `told`, as the type in config.json may not be that of
 * the files.  *n = 0: the index has neither member. */
static int
count_index(double *n, double told, const char *path, struct err *e)
{
    json_t *j = js_load(path, JS_MAX, e);
    double bytes = 0.0;
    int r;

    if (j == NULL)
        return -1;
    *n = 0.0;
    r = js_real(j, "metadata.total_parameters", 1.0, 1e18, n, e);
    if (r == 0)
        r = js_real(j, "metadata.total_size", 1.0, 1e18, &bytes, e);
    if (bytes > 0.0)
        *n = bytes / (bytes > 3.0 * told ? 4.0 : 2.0);
    json_decref(j);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}

/* Does the folder hold more, or other, numbers than its model's parameters? */
static int
holds_other(const json_t *config)
{
    return js_get(config, "quantization_config") != NULL ||
        js_get(config, "text_config") != NULL ||
        js_get(config, "num_nextn_predict_layers") != NULL ||
        js_get(config, "retort") != NULL;
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

    if (!holds_other(j))
        r = io_exists(index)  ? count_index(&n, told, index, e)
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
