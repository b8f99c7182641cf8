/* Sampling in a GGUF's metadata; see gguf_sampling.h. */
#include "format/gguf_sampling.h"

#include <string.h>

/* top_k is an integer, the others are real. */
static const char *const sampling[][2] = {
    { "temperature", "general.sampling.temp" },
    { "top_k", "general.sampling.top_k" },
    { "top_p", "general.sampling.top_p" },
    { "min_p", "general.sampling.min_p" },
    { "repetition_penalty", "general.sampling.penalty_repeat" },
};
enum { SAMPLINGS = sizeof sampling / sizeof *sampling };

static int
is_top_k(size_t i)
{
    return strcmp(sampling[i][0], "top_k") == 0;
}

int
gguf_sampling(json_t *j, const struct gguf *g, struct err *e)
{
    for (size_t i = 0; i < SAMPLINGS; i++) {
        const char *key = sampling[i][1];
        double v = 0.0;
        size_t k = 0;
        const int r = is_top_k(i) ? gguf_size(g, key, 0, INT32_MAX, &k, e)
                                  : gguf_real(g, key, -1e9, 1e9, &v, e);

        if (r < 0)
            return -1;
        if (r == 0)
            continue;
        if (i == 0)
            json_object_set_new(j, "do_sample", json_boolean(v > 0.0));
        /* transformers refuses a temperature of 0 */
        if (i > 0 || v > 0.0)
            json_object_set_new(j, sampling[i][0],
                is_top_k(i) ? json_integer((json_int_t)k) : json_real(v));
    }
    return 0;
}

void
gguf_out_sampling(struct gguf_out *o, const json_t *j)
{
    const int greedy = json_is_false(json_object_get(j, "do_sample"));

    for (size_t i = 0; i < SAMPLINGS; i++) {
        const json_t *v = json_object_get(j, sampling[i][0]);

        if (i == 0 && greedy)
            gguf_out_f32(o, sampling[i][1], 0.0);
        else if (is_top_k(i) && json_is_integer(v) && json_integer_value(v) > 0)
            gguf_out_u32(o, sampling[i][1], (size_t)json_integer_value(v));
        else if (!is_top_k(i) && json_is_number(v))
            gguf_out_f32(o, sampling[i][1], json_number_value(v));
    }
}
