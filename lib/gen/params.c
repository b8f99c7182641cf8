/* Parameters of a text; see params.h. */
#include "gen/params.h"
#include "base/mem.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

/* Copy n elements of `size` bytes; NULL if there are none. */
static void *
copy_array(const void *from, size_t n, size_t size)
{
    return n == 0 ? NULL : memcpy(xreallocarray(NULL, n, size), from, n * size);
}

void
params_copy(struct gen_params *p, const struct gen_params *from)
{
    *p = *from;
    p->stop = copy_array(from->stop, from->nstop, sizeof *p->stop);
    for (size_t i = 0; i < p->nstop; i++)
        p->stop[i] = xstrdup(from->stop[i]);
    p->end = copy_array(from->end, from->nend, sizeof *p->end);
    p->how.bias =
        copy_array(from->how.bias, from->how.biases, sizeof *from->how.bias);
}

static void
free_stops(struct gen_params *p)
{
    for (size_t i = 0; i < p->nstop; i++)
        free(p->stop[i]);
    free(p->stop);
    p->stop = NULL;
    p->nstop = 0;
}

void
params_release(struct gen_params *p)
{
    free_stops(p);
    free(p->end);
    free((void *)(uintptr_t)p->how.bias);
}

static int
add_param_stop(struct gen_params *p, const json_t *s, struct err *e)
{
    const char *text = json_string_value(s);

    if (text == NULL)
        return err_set(e, EX_INPUT, "stop: is no text and no list of texts");
    if (*text == '\0' || strlen(text) != json_string_length(s))
        return err_set(e, EX_INPUT, "stop: a text is empty or has a NUL");
    p->stop = xreallocarray(p->stop, p->nstop + 1, sizeof *p->stop);
    p->stop[p->nstop++] = xstrdup(text);
    return 0;
}

static int
read_stops(struct gen_params *p, const json_t *j, struct err *e)
{
    const json_t *v = js_get(j, "stop"), *s;
    size_t i;

    if (v == NULL)
        return 0;
    free_stops(p);
    if (!json_is_array(v))
        return add_param_stop(p, v, e);
    if (json_array_size(v) > PARAMS_STOPS)
        return err_set(e, EX_INPUT, "stop: has more than %d texts",
            PARAMS_STOPS);
    json_array_foreach(v, i, s) if (add_param_stop(p, s, e) < 0) return -1;
    return 0;
}

static int
read_ends(struct gen_params *p, const json_t *j, size_t V, struct err *e)
{
    const json_t *v = js_get(j, "stop_token_ids"), *id;
    const size_t n = json_array_size(v);
    size_t i;

    if (v == NULL)
        return 0;
    if (!json_is_array(v) || n > PARAMS_STOPS)
        return err_set(e, EX_INPUT,
            "stop_token_ids: is no list of at most %d ids", PARAMS_STOPS);
    free(p->end);
    p->end = xreallocarray(NULL, n, sizeof *p->end);
    p->nend = 0;
    json_array_foreach(v, i, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            (size_t)json_integer_value(id) >= V)
            return err_set(e, EX_INPUT,
                "stop_token_ids: %zu ids are below %zu, but not all", n, V);
        p->end[p->nend++] = (uint32_t)json_integer_value(id);
    }
    return 0;
}

static int
compare_bias(const void *a, const void *b)
{
    const struct sample_bias *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int
read_bias(struct gen_params *p, const json_t *j, size_t V, struct err *e)
{
    json_t *v = (json_t *)(uintptr_t)js_get(j, "logit_bias"), *add;
    struct sample_bias *b;
    const char *key;

    if (v == NULL)
        return 0;
    if (!json_is_object(v))
        return err_set(e, EX_INPUT,
            "logit_bias: is no object of ids with numbers");
    free((void *)(uintptr_t)p->how.bias);
    p->how.bias = b = xreallocarray(NULL, json_object_size(v), sizeof *b);
    p->how.biases = 0;
    json_object_foreach(v, key, add)
    {
        char *end;
        const unsigned long long id = strtoull(key, &end, 10);

        if (*key < '0' || *key > '9' || *end != '\0' || id >= V)
            return err_set(e, EX_INPUT, "logit_bias: \"%s\" is no id below %zu",
                key, V);
        if (!json_is_number(add))
            return err_set(e, EX_INPUT, "logit_bias: %s: is no number", key);
        b[p->how.biases++] =
            (struct sample_bias){ (uint32_t)id, (float)json_number_value(add) };
    }
    qsort(b, p->how.biases, sizeof *b, compare_bias);
    for (size_t i = 1; i < p->how.biases; i++)
        if (b[i].id == b[i - 1].id)
            return err_set(e, EX_INPUT, "logit_bias: has id %u twice", b[i].id);
    return 0;
}

/* logprobs is a number, or true with the number in top_logprobs. */
static int
read_logprobs(struct gen_params *p, const json_t *j, struct err *e)
{
    if (json_is_boolean(js_get(j, "logprobs"))) {
        p->top = 0;
        return js_bool(j, "logprobs", &p->logprobs, e) < 0
            ? -1
            : js_size(j, "top_logprobs", 0, PARAMS_TOP, &p->top, e);
    }
    switch (js_size(j, "logprobs", 0, PARAMS_TOP, &p->top, e)) {
    case 0: return 0;
    case 1: p->logprobs = 1; return 0;
    }
    return -1;
}

static int
read_top_k(struct gen_params *p, const json_t *j, struct err *e)
{
    const json_t *v = js_get(j, "top_k");

    if (json_is_integer(v) && json_integer_value(v) == -1) {
        p->how.top_k = 0;
        return 0;
    }
    return js_size(j, "top_k", 0, UINT32_MAX, &p->how.top_k, e);
}

static int
read_numbers(struct gen_params *p, const json_t *j, struct err *e)
{
    /* of several the last one in this list counts */
    static const char *const lengths[] = { "max_new_tokens", "max_tokens",
        "max_completion_tokens" };
    size_t seed = (size_t)p->seed;
    struct sampling *s = &p->how;
    const struct {
        const char *name;
        double *value; /* sampling_check checks its range */
    } reals[] = { { "temperature", &s->temperature }, { "top_p", &s->top_p },
        { "min_p", &s->min_p }, { "typical_p", &s->typical },
        { "repetition_penalty", &s->repetition },
        { "presence_penalty", &s->presence },
        { "frequency_penalty", &s->frequency } };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (js_size(j, lengths[i], 0, UINT32_MAX, &p->most, e) < 0)
            return -1;
    if (js_size(j, "min_tokens", 0, UINT32_MAX, &p->least, e) < 0 ||
        js_size(j, "n", 1, PARAMS_N, &p->n, e) < 0 ||
        js_size(j, "seed", 0, INT64_MAX, &seed, e) < 0 ||
        js_bool(j, "ignore_eos", &p->past_eos, e) < 0 ||
        js_bool(j, "skip_special_tokens", &p->hide_special, e) < 0)
        return -1;
    p->seed = seed;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        if (js_real(j, reals[i].name, -1e9, 1e9, reals[i].value, e) < 0)
            return -1;
    return 0;
}

int
params_read(struct gen_params *p, const json_t *j, size_t V, struct err *e)
{
    if (read_numbers(p, j, e) < 0 || read_top_k(p, j, e) < 0 ||
        read_logprobs(p, j, e) < 0 || read_stops(p, j, e) < 0 ||
        read_ends(p, j, V, e) < 0 || read_bias(p, j, V, e) < 0)
        return -1;
    if (sampling_check(&p->how, V, e) < 0) {
        e->code = EX_INPUT;
        return -1;
    }
    return 0;
}
