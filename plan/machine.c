/* Files of machines: see machine.h */
#include "machine.h"
#include "shipped.h"
#include "base/io.h"
#include "base/text.h"
#include "format/json.h"

#include <string.h>

/* Read a figure: [number, "source"]. */
static int
read_machine_figure(struct job *j, const struct key *k, const json_t *f,
    struct err *e)
{
    const json_t *v = json_array_get(f, 0);
    const char *source = json_string_value(json_array_get(f, 1));
    const double x = json_number_value(v);

    if (json_array_size(f) != 2 || !json_is_number(v) || source == NULL ||
        *source == '\0')
        return err_set(e, EX_INPUT, "%s: write [number, \"source\"]", k->name);
    if (!(x >= k->lo && x <= k->hi))
        return err_set(e, EX_INPUT, "%s: is %g, not %g to %g", k->name, x,
            k->lo, k->hi);
    *job_value(j, k) = x;
    return 0;
}

static int
read_machine(struct job *j, json_t *file, struct err *e)
{
    const char *name;
    json_t *f;

    if (!json_is_object(file))
        return err_set(e, EX_INPUT, "is no object of JSON");
    json_object_foreach(file, name, f)
    {
        const struct key *k = job_key(name);
        const enum rates_of table = rates_named(name);

        if (table < RATES) {
            if (rates_read(&j->m.rates[table], table, f, e) < 0)
                return -1;
            continue;
        }
        if (strcmp(name, "about") != 0 && (k == NULL || !k->machine))
            return err_set(e, EX_INPUT, "%s: is not known", SHOWN(name));
    }
    for (const struct key *k = job_keys(); k->name != NULL; k++) {
        const json_t *v = json_object_get(file, k->name);

        if (!k->machine)
            continue;
        if (v == NULL && k->optional)
            continue;
        if (v == NULL)
            return err_set(e, EX_INPUT, "%s: is missing", k->name);
        if (read_machine_figure(j, k, v, e) < 0)
            return -1;
    }
    return 0;
}

int
machine_open(struct job *j, const char *name, struct err *e)
{
    const char *text = shipped_text("machines", name);
    struct buf b = { 0 };
    json_t *file;
    int r;

    if (text == NULL && !io_exists(name)) {
        shipped_machines(&b);
        err_set(e, EX_USAGE, "--machine %s is neither a file nor one of %s",
            SHOWN(name), b.p);
        buf_release(&b);
        return -1;
    }
    file = text != NULL ? js_parse(text, strlen(text), e)
                        : js_load(name, JS_MAX, e);
    if (file == NULL)
        return -1;
    if ((r = read_machine(j, file, e)) < 0)
        err_prefix(e, "%s", SHOWN(name));
    json_decref(file);
    return r;
}
