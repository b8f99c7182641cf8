/* Distils a model by recipes/own.mk; see distil.h and retort-distil(1). */
#include "distil.h"
#include "programs.h"
#include "watch.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/quota.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/shared.h"
#include "docs/inputs.h"
#include "kern/kern.h"
#include "model/files/model.h"
#include "model/pass/compute.h"
#include "tok/tok.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The options; those that were not given are NULL or NAN. */
struct asked {
    const char *model, *out, *held_out, *into;
    double params, ratio, max_time, answers, tokens;
    size_t threads;
    int compute, dry; /* compute: index in compute_names; -1: not given */
    char **text;      /* NULL-terminated */
};

/* ---- arguments ---- */

/* Refuse a path with a character that is special to make(1). */
static void
check_path(const char *what, const char *path)
{
    for (const char *p = path; *p != '\0'; p++)
        if (!isalnum((unsigned char)*p) && strchr("_./,+@=-", *p) == NULL &&
            (unsigned char)*p < 0x80)
            die(EX_USAGE,
                "%s: %s: a path with the character '%c', which make cannot "
                "read: name a link without it",
                what, path, *p);
}

/* Return the names of scripts/get-model -l, separated by ", ".  *found: 1 if
 * `name` is one of them. */
static char *
fetched_names(const char *share, const char *name, int *found)
{
    char *command = xasprintf("'%s/scripts/get-model' -l", share);
    char line[200];
    struct buf names = { 0 };
    FILE *f = popen(command, "r");

    *found = 0;
    buf_adds(&names, "");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        *found |= strcmp(line, name) == 0;
        buf_addf(&names, "%s%s", names.n > 0 ? ", " : "", line);
    }
    if (f != NULL)
        pclose(f);
    free(command);
    return names.p;
}

/* Refuse a model that cannot be opened, or has no tokenizer. */
static void
check_whole(const char *path)
{
    const int said = verbosity;
    struct tokenizer *t;
    struct model m;
    struct err e;

    verbosity = -1; /* the programs say it again */
    if (model_open(&m, path, &e) < 0 || (t = tok_open(path, &e)) == NULL)
        die_err(&e);
    verbosity = said;
    tok_free(t);
    model_close(&m);
}

/* Refuse a number of parameters for the student that the teacher does not
 * exceed. */
static void
check_params(const struct asked *a)
{
    char *fetched = xasprintf("%s/%s.gguf", a->out, a->model);
    struct model m;
    struct err e;

    if (model_open(&m, io_exists(a->model) ? a->model : fetched, &e) < 0)
        die_err(&e);
    if (a->params >= (double)model_params(&m))
        die(EX_USAGE,
            "--params %.4g M: the teacher has %.4g M, and the student must "
            "have fewer",
            1e-6 * a->params, 1e-6 * (double)model_params(&m));
    model_close(&m);
    free(fetched);
}

static void
check_named_teacher(const char *share, const char *path)
{
    const char *dot = strrchr(path, '.');
    struct stat s;
    const int there = stat(path, &s) == 0;
    char *names;
    int found;

    check_path("-m", path);
    if (there &&
        (S_ISDIR(s.st_mode) || (dot != NULL && strcmp(dot, ".gguf") == 0))) {
        check_whole(path);
        return;
    }
    names = fetched_names(share, path, &found);
    if (there || !found)
        die(EX_SYS,
            "-m: %s: %s; a model is a Hugging Face directory, a .gguf file, "
            "hf:ORG/NAME of the local cache, or one of the names of "
            "scripts/get-model: %s",
            path,
            there ? "is neither a folder nor a .gguf file"
                  : "there is no such file or folder",
            names);
    free(names);
}

/* Refuse text that cannot be read, and folders without any. */
static void
check_text(const char *what, char **text)
{
    const struct input_opts o = { 0 };
    const int said = verbosity;
    struct inputs in;
    struct err e;

    for (char **p = text; *p != NULL; p++)
        check_path(what, *p);
    verbosity = -1; /* clean says it again */
    if (inputs_list(&in, text, &o, &e) < 0)
        die_err(&e);
    verbosity = said;
    inputs_release(&in);
}

/* Name of a model, without the folders and suffix of its path; that of a
 * snapshot in the Hugging Face cache is in models--ORG--NAME. */
static char *
teacher_name(const char *path)
{
    static const char cached[] = "/models--", suffix[] = ".gguf";
    const char *at = strstr(path, cached), *from, *p;
    size_t n = strlen(path);

    if (at != NULL && strstr(at, "/snapshots/") != NULL) {
        from = at + sizeof cached - 1;
        n = strcspn(from, "/");
        for (p = from; p + 2 < from + n; p++)
            if (p[0] == '-' && p[1] == '-')
                return xasprintf("%.*s", (int)(n - (size_t)(p + 2 - from)),
                    p + 2);
        return xasprintf("%.*s", (int)n, from);
    }
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (from = path + n; from > path && from[-1] != '/';)
        from--;
    n -= (size_t)(from - path);
    if (n > sizeof suffix && strncmp(from + n - 5, suffix, 5) == 0)
        n -= 5;
    return xasprintf("%.*s", (int)n, from);
}

static void
check_asked(const struct asked *a, const char *share)
{
    const int sizes = !isnan(a->ratio) + !isnan(a->params) + (a->into != NULL);
    char *held_out[2] = { (char *)(uintptr_t)a->held_out, NULL };

    if (a->model == NULL)
        die(EX_USAGE, "-m names the teacher");
    if (*a->text == NULL)
        die(EX_USAGE, "name the text to train on: files or folders");
    if (sizes > 1)
        die(EX_USAGE,
            "--ratio, --params and --into each say what the student is: give "
            "one of them");
    if (!isnan(a->tokens) && a->max_time > 0.0)
        die(EX_USAGE,
            "--max-time and --tokens each say how long the run is: give one "
            "of them");
    if (a->max_time > 0.0 && a->max_time < 60.0)
        die(EX_USAGE,
            "--max-time: %g seconds are too short for any run; minutes have an "
            "m, such as 30m",
            a->max_time);
    check_text("text", a->text);
    if (held_out[0] != NULL)
        check_text("--held-out", held_out);
    check_named_teacher(share, a->model);
    if (a->into != NULL) {
        check_path("--into", a->into);
        if (!io_exists(a->into))
            die(EX_SYS, "--into: %s: there is no such file or folder", a->into);
        check_whole(a->into);
    }
    check_path("-o", a->out);
}

/* Refuse a folder with files that are not those of a run of this command. */
static void
check_out(const char *out)
{
    char *ours = xasprintf("%s/%s", out, RUN_LOG);
    DIR *d = opendir(out);
    const struct dirent *f;

    while (d != NULL && !io_exists(ours) && (f = readdir(d)) != NULL)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
            die(EX_USAGE,
                "%s: holds other files than those of a run: name another "
                "folder by -o",
                out);
    if (d != NULL)
        closedir(d);
    else if (io_exists(out))
        die(EX_USAGE, "%s: is no folder", out);
    free(ours);
}

/* ---- the recipe ---- */

/* The command line of make, without its target. */
static char **
make_words(const struct asked *a, const char *share)
{
    struct buf text = { 0 };
    char **v = xcalloc(24, sizeof *v), *build = program_build();
    size_t n = 0;

    for (char **p = a->text; *p != NULL; p++)
        buf_addf(&text, "%s%s", p > a->text ? " " : "", *p);
    v[n++] = xstrdup("make");
    v[n++] = xstrdup("-s");
    v[n++] = xstrdup("--no-print-directory");
    v[n++] = xstrdup("-f");
    v[n++] = xasprintf("%s/recipes/own.mk", share);
    v[n++] = xstrdup("-o"); /* -o programs: do not build the programs */
    v[n++] = xstrdup("programs");
    v[n++] = xasprintf("WORK=%s", a->out);
    v[n++] = xasprintf("TEACHER=%s", a->model);
    v[n++] = xasprintf("TEXT=%s", text.p);
    v[n++] = xasprintf("THREADS=%zu", a->threads);
    v[n++] = xasprintf("MEMORY=%zu", quota_memory("").available);
    if (a->held_out != NULL)
        v[n++] = xasprintf("HELD_OUT_TEXT=%s", a->held_out);
    if (!isnan(a->ratio))
        v[n++] = xasprintf("RATIO=%g", a->ratio);
    if (!isnan(a->params))
        v[n++] = xasprintf("PARAMS=%.0f", a->params);
    if (a->into != NULL)
        v[n++] = xasprintf("READY=%s", a->into);
    if (!isnan(a->tokens))
        v[n++] = xasprintf("TOKENS=%.0f", a->tokens);
    if (a->max_time > 0.0)
        v[n++] = xasprintf("MAX_TIME=%.0f", a->max_time);
    if (!isnan(a->answers))
        v[n++] = xasprintf("ANSWERS=%.0f", 100.0 * a->answers);
    if (a->compute > 0)
        v[n++] = xasprintf("COMPUTE=%s", compute_names[a->compute]);
    v[n++] = xstrdup("SMOKE=");
    v[n++] = build != NULL ? xasprintf("BUILD=%s", build)
                           : xasprintf("BUILD=%s/build", share);
    free(build);
    buf_release(&text);
    return v;
}

/* Read a file of the run; NULL if there is none. */
static char *
read_result(const struct asked *a, const char *file)
{
    char *path = xasprintf("%s/" DIR_FULL "/%s", a->out, file), *text = NULL;
    struct err e;
    size_t n;

    if (io_exists(path) && io_slurp(path, 1 << 20, &text, &n, &e) < 0)
        die_err(&e);
    free(path);
    return text;
}

/* Print a file of the run on standard output. */
static void
print_file(const struct asked *a, const char *file)
{
    char *text = read_result(a, file);

    if (text != NULL)
        out_put(text, strlen(text));
    free(text);
}

/* Does the plan say that the run fits? */
static int
plan_fits(const struct asked *a)
{
    char *text = read_result(a, "plan.txt");
    const int fits = text != NULL && strstr(text, "\n  fits\n") != NULL;

    free(text);
    return fits;
}

/* A size in MB, "" if there is no such file. */
static char *
megabytes(const char *path)
{
    struct stat s;

    if (stat(path, &s) < 0 || !S_ISREG(s.st_mode))
        return xstrdup("");
    return xasprintf("%.4g MB", 1e-6 * (double)s.st_size);
}

/* Return the type of the weights in student.gguf, such as "Q5_K_M". */
static char *
student_type(const struct asked *a)
{
    static const char key[] = "ROUND=";
    char *text = read_result(a, "judged"), *type;
    const char *at = text != NULL ? strstr(text, key) : NULL;

    if (at == NULL)
        die(EX_INPUT, "%s/" DIR_FULL "/judged: has no line %s", a->out, key);
    at += strlen(key);
    type = xasprintf("%.*s", (int)strcspn(at, "\n"), at);
    for (char *p = type; *p != '\0'; p++)
        *p = (char)toupper((unsigned char)*p);
    free(text);
    return type;
}

/* A beginning of held-out text to type to a shell. */
static char *
beginning(const struct asked *a)
{
    char *text = read_result(a, "prompts.txt"), *p = text, *line;

    while (p != NULL && (line = strsep(&p, "\n")) != NULL) {
        line = strchr(line, ':');
        if (line != NULL && line[1] != '\0' && strpbrk(line, "'\\") == NULL) {
            line = xstrdup(line + 1);
            free(text);
            return line;
        }
    }
    free(text);
    return xstrdup("Once upon a");
}

/* Is the student's file at least as large as the teacher's?  So it may be if
 * the teacher's weights have fewer bits.  0 if the teacher is a folder. */
static int
not_smaller(const char *student, const char *teacher)
{
    struct stat s, t;

    return stat(student, &s) == 0 && stat(teacher, &t) == 0 &&
        S_ISREG(t.st_mode) && s.st_size >= t.st_size;
}

/* Print the paths of the results, their sizes, the minutes that this command
 * took, and a command that talks to the student. */
static void
print_end(const struct asked *a, const char *self, double seconds)
{
    char *settings = read_result(a, "answers.settings");
    char *file = xasprintf("%s/student.gguf", a->out);
    char *student = megabytes(file), *teacher = megabytes(a->model);
    char *prompt = beginning(a), *type = student_type(a);
    struct buf b = { 0 };

    buf_addf(&b, "\ntime:   %.1f min since the last start\n", seconds / 60.0);
    buf_addf(&b,
        "page:   %s/report.html\nmodel:  %s/student (Hugging Face "
        "directory), %s (%s, %s%s%s)\n",
        a->out, a->out, file, type, student,
        *teacher != '\0' ? "; teacher: " : "", teacher);
    if (not_smaller(file, a->model))
        buf_addf(&b,
            "smaller: %s convert --dtype q4_k_m %s/student %s/small.gguf\n"
            "        (student.gguf is not smaller than the teacher's file, "
            "whose weights have fewer bits)\n",
            self, a->out, a->out);
    if (settings != NULL && strstr(settings, "FOLLOWS=yes") != NULL &&
        io_exists_in(a->out, DIR_FULL "/answers.jsonl"))
        buf_addf(&b, "talk:   %s generate chat -m %s\n", self, file);
    else
        buf_addf(&b, "write:  %s generate run -m %s '%s'\n", self, file,
            prompt);
    out_put(b.p, b.n);
    buf_release(&b);
    free(settings);
    free(file);
    free(student);
    free(teacher);
    free(prompt);
    free(type);
}

/* ---- the command ---- */

static void
read_asked(int argc, char **argv, struct asked *a)
{
    const struct opt table[] = { OPT_STR('m', "model", &a->model, "model",
                                     "teacher: a model, or a name of "
                                     "scripts/get-model"),
        OPT_STR('o', "output", &a->out, "folder",
            "folder of the run (default: ./TEACHER-distilled)"),
        OPT_STR(0, "held-out", &a->held_out, "input",
            "documents to measure on, which nothing is trained on (default: "
            "a share of the text)"),
        OPT_GROUP("student"),
        OPT_REAL(0, "ratio", &a->ratio, 0, 0.95, "share",
            "remove at least this share of the parameters, such as 0.375 "
            "(default: 0.25)"),
        OPT_COUNT(0, "params", &a->params, 1, 1e15, "count",
            "keep at most this many parameters, such as 84M (84 million)"),
        OPT_STR(0, "into", &a->into, "model",
            "distil into this model of the same tokenizer; nothing is cut"),
        OPT_GROUP("run"),
        OPT_TIME(0, "max-time", &a->max_time, 0, 1e9, "time",
            "end after this time, such as 30m or 2h (0: no limit)"),
        OPT_COUNT(0, "tokens", &a->tokens, 1, 1e15, "n",
            "number of tokens of the whole run (default: 200 steps, or those "
            "of the run in the folder)"),
        OPT_REAL(0, "answers", &a->answers, 0, 1, "share",
            "share of the tokens that are answers of the teacher, if it "
            "follows instructions; 0: text alone (default: 0.5)"),
        OPT_FLAG(0, "dry-run", &a->dry, "print what would be done, and end"),
        OPT_COMPUTE_FASTEST(&a->compute), OPT_THREADS(&a->threads), OPT_END };

    a->text = opt_parse(argc, argv, table,
        "make a smaller model for your own text", "[file ...]", 0, -1, NULL);
}

/* Return the type of products of the run in the folder, an index of
 * compute_names; -1: no run has begun there.  The recipe writes the type to the
 * file `settings` as PRUNE=--compute TYPE, or as PRUNE= for f32. */
static int
begun_compute(const struct asked *a)
{
    static const char key[] = "\nPRUNE=--compute ";
    char *settings = read_result(a, "settings"), *type;
    int found = settings != NULL ? 0 : -1;

    if (settings != NULL && (type = strstr(settings, key)) != NULL) {
        type += strlen(key);
        type[strcspn(type, "\n")] = '\0';
        for (int i = 0; compute_names[i] != NULL; i++)
            found = strcmp(compute_names[i], type) == 0 ? i : found;
    }
    free(settings);
    return found;
}

/* Return the default of --compute, an index of compute_names: the type of the
 * run in the folder if it is not slow here, else the fastest type. */
static int
usual_compute(const struct asked *a)
{
    const int fastest = compute_fastest(), begun = begun_compute(a);

    if (begun < 0 || kern_init() != NULL)
        return fastest;
    kern_compute(compute_names[begun]);
    return kern_slow() ? fastest : begun;
}

int
distil_main(int argc, char **argv)
{
    struct asked a = { .params = NAN,
        .ratio = NAN,
        .answers = NAN,
        .tokens = NAN,
        .compute = -1 };
    char *share, **words, *self = xstrdup(argv[0]);
    const double began = clock_now();
    struct run run;

    self[strcspn(self, " ")] = '\0'; /* of "retort distil" */
    read_asked(argc, argv, &a);
    if ((share = program_share()) == NULL)
        die(EX_SYS,
            "recipes/own.mk is neither beside this program's folder nor in "
            "share/retort: set RETORT_SHAREDIR to the folder that has recipes "
            "and scripts");
    if (!program_in_path("make"))
        die(EX_SYS,
            "make is not installed: retort distil runs its recipe by GNU make "
            "(package make)");
    if (a.model != NULL && a.out == NULL) {
        char *name = teacher_name(a.model);

        a.out = xasprintf("./%s-distilled", name);
        free(name);
    }
    check_path("this installation", share);
    check_asked(&a, share);
    check_out(a.out);
    if (a.compute < 0)
        a.compute = usual_compute(&a);

    words = make_words(&a, share);
    run_begin(&run, a.out, words);
    run_make(&run, "settings", NULL);
    if (!io_exists(a.model))
        run_make(&run, "fetched", NULL);
    if (!isnan(a.params))
        check_params(&a);
    run_make(&run, "checked", NULL);
    run_make(&run, "plan", NULL);
    print_file(&a, "plan.txt");
    if (!plan_fits(&a))
        return EX_SYS;
    if (!a.dry) {
        run_make(&run, "made", DIR_FULL "/stages");
        print_file(&a, "summary.txt");
        print_end(&a, self, clock_now() - began);
    }
    out_done();
    return EX_OK;
}
