/* Sampling where nothing else is said; see defaults.h. */
#include "gen/defaults.h"
#include "format/json.h"
#include "gen/params.h"
#include "model/files/tokfile.h"

static const struct sampling own[] = {
    [DEFAULTS_RUN] = SAMPLING_DEFAULTS,
    [DEFAULTS_CHAT] = { .temperature = 0.7,
        .top_p = 0.95,
        .typical = 1.0,
        .repetition = 1.0 },
    [DEFAULTS_SERVE] = { .temperature = 1.0,
        .top_p = 1.0,
        .typical = 1.0,
        .repetition = 1.0 },
};

/* A new object with the members of j that a model may say. */
static json_t *
said_by_model(const json_t *j)
{
    static const char *const names[] = { "temperature", "top_k", "top_p",
        "min_p", "typical_p", "repetition_penalty" };
    json_t *said = json_object();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *v = json_object_get(j, names[i]);

        if (v != NULL)
            json_object_set(said, names[i], v);
    }
    return said;
}

int
defaults_read(struct sampling *s, enum defaults_of what, const char *model,
    struct err *e)
{
    struct gen_params p = { .n = 1, .how = own[what] };
    json_t *j, *said;
    int samples, r;

    *s = own[what];
    if (what == DEFAULTS_RUN)
        return 0;
    if ((j = generation_config(model, e)) == NULL)
        return -1;
    if ((r = js_bool(j, "do_sample", &samples, e)) == 1 && samples)
        p.how.temperature = p.how.top_p = 1.0;
    said = said_by_model(j);
    if (r >= 0 && (r = params_read(&p, said, SIZE_MAX, e)) == 0) {
        *s = p.how;
        if (js_bool(j, "do_sample", &samples, e) == 1 && !samples)
            s->temperature = 0.0;
    }
    if (r < 0)
        err_prefix(e, "%s: generation_config.json", model);
    json_decref(said);
    json_decref(j);
    return r;
}

static void
fill_value(double *v, double by)
{
    *v = isnan(*v) ? by : *v;
}

void
defaults_fill(struct sampling *s, const struct sampling *by)
{
    fill_value(&s->temperature, by->temperature);
    fill_value(&s->top_p, by->top_p);
    fill_value(&s->min_p, by->min_p);
    fill_value(&s->typical, by->typical);
    fill_value(&s->repetition, by->repetition);
    if (s->top_k == SIZE_MAX)
        s->top_k = by->top_k;
}
