/* RUN/options.json: how a run was begun, which --resume must not change; see
 * retort-checkpoint(5). */
#include "record.h"
#include "save.h"
#include "settings.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/opt_values.h"
#include "cli/prog.h"
#include "format/ckpt.h"
#include "format/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* An object with the hash of each content, or null if the run has no such
 * file. */
static json_t *
content_values(const struct record *r)
{
    json_t *all = json_object();

    for (size_t i = 0; i < r->depends->n; i++) {
        const struct content *c = &r->depends->v[i];

        json_object_set_new(all, c->name,
            *c->value != '\0' ? json_string(c->value) : json_null());
    }
    return all;
}

/* Set the weight of a loss, unless it is not known (NAN). */
static void
set_weight(json_t *j, const char *name, double w)
{
    if (!isnan(w))
        json_object_set_new(j, name, json_real(w));
}

/* Make the file's content: program, options and inputs of the run. */
static json_t *
describe_run(const struct record *r)
{
    json_t *j = json_object(), *run = json_object();
    char *program = xasprintf("%s %s", progname, prog_version());

    json_object_set_new(j, "version", json_integer(VERSION));
    json_object_set_new(j, "program", json_string(program));
    json_object_set_new(j, "options", opt_values(r->options));
    json_object_set_new(j, "run", run);
    json_object_set_new(run, "command", json_string(r->command));
    set_weight(run, "ce", r->ce);
    set_weight(run, "kl", r->kl);
    set_weight(run, "squarehead", r->squarehead);
    json_object_set_new(run, "steps", json_integer((json_int_t)r->steps));
    if (r->rows > 0) {
        json_object_set_new(run, "rows", json_integer((json_int_t)r->rows));
        json_object_set_new(run, "length", json_integer((json_int_t)r->length));
    }
    json_object_set_new(j, "inputs", content_values(r));
    free(program);
    return j;
}

/* Text of a value for messages; malloc'd. */
static char *
shown_value(const json_t *v)
{
    return json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
}

/* Is name among the comma-separated names of --override? */
static int
is_overridden(const char *names, const char *name)
{
    const size_t n = strlen(name);

    while (names != NULL && *names != '\0') {
        const size_t k = strcspn(names, ",");

        if (k == n && strncmp(names, name, n) == 0)
            return 1;
        names += k + (names[k] == ',');
    }
    return 0;
}

/* Print a note of a difference that --override allows, and append it to
 * `changes`; append any other difference to *refused, its name to *names. */
static void
note_difference(const struct record *r, const char *name, const json_t *was,
    const json_t *is, json_t *changes, struct buf *refused, struct buf *names)
{
    char *before = shown_value(was), *now = shown_value(is);

    if (is_overridden(r->override, name) && changes != NULL) {
        note("%s: %s was %s, and is %s after step %" PRIu64, r->run, name,
            before, now, r->step);
        json_array_append_new(changes,
            json_pack("{s:I,s:s,s:O,s:O}", "step", (json_int_t)r->step, "name",
                name, "was", was, "is", is));
    } else if (!is_overridden(r->override, name)) {
        buf_addf(refused, "%s%s is %s, not %s", refused->n ? "; " : "", name,
            now, before);
        buf_addf(names, "%s%s", names->n ? "," : "", name);
    }
    free(before);
    free(now);
}

/* Die if the run was begun with an option that this version does not have under
 * a new name either. */
static void
refuse_gone(const struct record *r, const json_t *options)
{
    const json_t *factor = json_object_get(options, "lr-embed");
    const char *name = json_is_true(json_object_get(options, "decay-embed"))
        ? "decay-embed"
        : json_is_number(factor) && json_number_value(factor) != 1.0
        ? "lr-embed"
        : NULL;

    if (name != NULL)
        die(EX_USAGE,
            "%s: was begun with --%s, which student no longer has: go on with "
            "the version that began it, or begin another run",
            r->run, name);
}

/* The content's value in `inputs` of options.json, by its name or by the one
 * that earlier versions gave it; NULL: the file has neither. */
static const json_t *
old_content(const json_t *inputs, const char *name)
{
    const json_t *v = json_object_get(inputs, name);

    if (v == NULL &&
        (strcmp(name, "reference") == 0 || strcmp(name, "score-with") == 0)) {
        v = json_object_get(inputs, "teacher");
        return json_is_string(v) ? v : NULL;
    }
    return v;
}

/* The value of `name` in `was`, part i of options.json (0: options, 1: run, 2:
 * inputs); NULL: there is none, or --resume does not compare the option. */
static const json_t *
old_value(const struct record *r, size_t i, const json_t *was, const char *name)
{
    const json_t *v =
        i == 2 ? old_content(was, name) : json_object_get(was, name);

    if (v == NULL && i == 0) /* an option of a later version */
        v = json_object_get(r->defaults, name);
    return i == 0 && depends_reason(name) != NULL ? NULL : v;
}

/* Does the option or content determine which tensors a checkpoint holds? */
static int
is_of_checkpoint(const char *name)
{
    static const char *const names[] = { "qat", "mask", "ema", "lora",
        "adapter" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    return 0;
}

/* Compare the record `now` of this run with `old`, that of options.json.  Die
 * if they differ in a name that --override lacks; note the other differences
 * and append them to `changes`.  changes NULL: compare only the names of
 * is_of_checkpoint. */
static void
compare_record(const struct record *r, const json_t *old, json_t *now,
    json_t *changes)
{
    static const char *const parts[] = { "options", "run", "inputs" };
    struct buf refused = { 0 }, names = { 0 };

    refuse_gone(r, json_object_get(old, "options"));
    settings_join(json_object_get(old, "options"),
        json_object_get(now, "options"));
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const json_t *was = json_object_get(old, parts[i]);
        json_t *is = json_object_get(now, parts[i]), *v;
        const char *name;

        json_object_foreach(is, name, v)
        {
            const json_t *w = old_value(r, i, was, name);

            if (w == NULL || json_equal(w, v) ||
                (changes == NULL && !is_of_checkpoint(name)))
                continue;
            /* Ignore `steps` if the schedule has no end, and `rows` if the
             * batch is the stream's last. */
            if ((r->steps == 0 && strcmp(name, "steps") == 0) ||
                (r->last && strcmp(name, "rows") == 0))
                json_object_set(is, name, (json_t *)(uintptr_t)w);
            else
                note_difference(r, name, w, v, changes, &refused, &names);
        }
        if (i > 0) /* keep what the file knows and this run does not */
            json_object_update_missing(json_object_get(now, parts[i]),
                json_object_get(old, parts[i]));
    }
    if (refused.n > 0)
        die(EX_USAGE,
            "%s: was begun otherwise: %s; give what it was begun "
            "with, or --override %s",
            r->run, refused.p, names.p);
    buf_release(&refused);
    buf_release(&names);
}

/* Die if --override has a name that --resume does not compare. */
static void
check_names(const struct record *r, const json_t *now)
{
    const char *s = r->override;

    while (s != NULL && *s != '\0') {
        const size_t n = strcspn(s, ",");
        char *name = xasprintf("%.*s", (int)n, s);
        const char *why = depends_reason(name);

        if (!json_object_get(json_object_get(now, "run"), name) &&
            !json_object_get(json_object_get(now, "inputs"), name) &&
            (why != NULL ||
                !json_object_get(json_object_get(now, "options"), name)))
            die(EX_USAGE,
                "--override: '%s' is not a name of %s, such as lr, steps or "
                "stream",
                name, r->run);
        free(name);
        s += n + (s[n] == ',');
    }
}

/* Does RUN hold the result of the run's last step? */
static int
is_finished(const struct record *r, const json_t *old)
{
    const json_t *step = json_object_get(old, "finished");

    return r->over && run_is_whole(r->run) && json_is_integer(step) &&
        (uint64_t)json_integer_value(step) == r->step;
}

void
record_check(const struct record *r)
{
    char *path = xasprintf("%s/options.json", r->run);
    json_t *now = NULL, *old = NULL;
    struct err e;

    if (io_exists(path)) {
        if ((old = js_load(path, JS_MAX, &e)) == NULL)
            die_err(&e);
        now = json_pack("{s:o, s:o}", "options", opt_values(r->options),
            "inputs", content_values(r));
        compare_record(r, old, now, NULL);
    }
    json_decref(now);
    json_decref(old);
    free(path);
}

int
record_keep(const struct record *r)
{
    char *path = xasprintf("%s/options.json", r->run);
    json_t *now = describe_run(r), *changes, *old;
    const char *by = NULL;
    struct err e;
    int finished = 0;

    check_names(r, now);
    if (r->step > 0 && !io_exists(path)) {
        note("%s: is not there: whether the options are those of the run "
             "cannot be told",
            path);
    } else if (r->step > 0) {
        if ((old = js_load(path, JS_MAX, &e)) == NULL)
            die_err(&e);
        changes = json_object_get(old, "changes");
        changes = json_is_array(changes) ? json_incref(changes) : json_array();
        compare_record(r, old, now, changes);
        finished = is_finished(r, old);
        json_object_set_new(now, "changes", changes);
        json_object_set(now, "finished", json_object_get(old, "finished"));
        (void)js_str(old, "program", &by, NULL);
        if (!finished)
            note("%s: continued with these options, of %s", path,
                by != NULL ? by : "another program");
        json_decref(old);
    }
    if (!finished && js_save(now, path, &e) < 0)
        die_err(&e);
    json_decref(now);
    free(path);
    return finished;
}

void
record_finished(const char *run, uint64_t step)
{
    char *path = xasprintf("%s/options.json", run);
    struct err e;
    json_t *now = js_load(path, JS_MAX, &e);

    if (now == NULL)
        die_err(&e);
    json_object_set_new(now, "finished", json_integer((json_int_t)step));
    if (js_save(now, path, &e) < 0)
        die_err(&e);
    json_decref(now);
    free(path);
}

/* ---- the inputs of a run ---- */

void
record_stream(const struct stream_info *i, char hash[33])
{
    struct st_out o = { 0 };

    st_out_begin(&o);
    stream_info_put(&o, i);
    st_out_end(&o);
    ckpt_hash_bytes(o.head.p, o.head.n, hash);
    st_out_release(&o);
}
