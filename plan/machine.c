/* Files of machines: see job.h */
#include "job.h"
#include "shipped.h"
#include "base/io.h"
#include "base/state.h"
#include "base/text.h"
#include "cli/die.h"
#include "format/json.h"

#include <stdlib.h>
#include <string.h>

/* Read a figure: [number, "source"]. */
static int
read_machine_figure(struct job *j, const struct key *k, const json_t *f,
    struct err *e)
{
    const json_t *v = json_array_get(f, 0);
    const char *source = json_string_value(json_array_get(f, 1));
    const double x = json_number_value(v);

    if (f == NULL)
        return k->optional ? 0
                           : err_set(e, EX_INPUT, "%s: is missing", k->name);
    if (json_array_size(f) != 2 || !json_is_number(v) || source == NULL ||
        *source == '\0')
        return err_set(e, EX_INPUT, "%s: write [number, \"source\"]", k->name);
    if (!(x >= k->lo && x <= k->hi))
        return err_set(e, EX_INPUT, "%s: is %g, not %g to %g", k->name, x,
            k->lo, k->hi);
    *job_value(j, k) = x;
    return 0;
}

/* Set keys of the layout to the machine's defaults: usual is an object whose
 * members are such keys, with their values as texts. */
static int
read_usual(struct job *j, json_t *usual, struct err *e)
{
    const char *name;
    json_t *v;

    json_object_foreach(usual, name, v)
    {
        const char *text = json_string_value(v);

        if (text == NULL)
            return err_set(e, EX_INPUT, "usual.%s: write a text", SHOWN(name));
        if (job_set(j, name, text, e) < 0)
            return err_prefix(e, "usual");
    }
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

        if (table < RATES && rates_read(&j->m.rates[table], table, f, e) < 0)
            return -1;
        if (table == RATES && strcmp(name, "about") != 0 &&
            strcmp(name, "usual") != 0 && (k == NULL || !k->machine))
            return err_set(e, EX_INPUT, "%s: is not known", SHOWN(name));
    }
    for (const struct key *k = job_keys(); k->name != NULL; k++)
        if (k->machine &&
            read_machine_figure(j, k, json_object_get(file, k->name), e) < 0)
            return -1;
    return read_usual(j, json_object_get(file, "usual"), e);
}

char *
machine_kept(void)
{
    return state_file("machine.json");
}

/* The path of the calibration of this machine.  Dies if there is none. */
static char *
find_kept(void)
{
    char *path = machine_kept();

    if (path == NULL || !io_exists(path))
        die(EX_USAGE,
            "--machine this: this machine has not been measured: plan "
            "calibrate does it, in some minutes, and keeps the figures");
    return path;
}

static void
open_machine_file(struct job *j, const char *name)
{
    const char *text = shipped_text("machines", name);
    struct buf b = { 0 };
    json_t *file;
    struct err e;

    shipped_machines(&b);
    if (text == NULL && !io_exists(name))
        die(EX_USAGE, "--machine %s is neither a file nor one of %s",
            SHOWN(name), b.p);
    buf_release(&b);
    file = text != NULL ? js_parse(text, strlen(text), &e)
                        : js_load(name, JS_MAX, &e);
    if (file == NULL)
        die_err(&e);
    if (read_machine(j, file, &e) < 0)
        die(e.code, "%s: %s", SHOWN(name), e.msg);
    json_decref(file);
}

void
machine_open(struct job *j, const char *name)
{
    char *kept = strcmp(name, "this") == 0 ? find_kept() : NULL;

    open_machine_file(j, kept != NULL ? kept : name);
    free(kept);
}
