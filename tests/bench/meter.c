/*
 * meter - time command lines in turn and print a row for each figure.
 *
 *   meter FUNCTIONS REGEX < TABLE
 *
 * Rows whose name matches REGEX are measured and printed: name, value, unit,
 * reference, value / reference.  FUNCTIONS is a shell script that every
 * command can call.  The table, scripts/bench.tsv, has rows
 *
 *   NAME <tab> UNIT <tab> RUNS <tab> VALUE <tab> REFERENCE
 *
 * A value is a command of the table, its arguments and a figure:
 *
 *   [AMOUNT/]READING[/DIVISOR], [AMOUNT/]READING[*FACTOR]
 *   wall, cpu  seconds by the clock, of processors
 *   mem        peak memory in MB, summed over the processes
 *   step       median of the column "seconds" in $OUT/metrics.tsv, without the
 *              first step and the last three
 *   out:RE, err:RE   number behind RE in the last line of the output, or of
 *              the log, that matches; RE is extended, without blanks and "/"
 *
 * The AMOUNT "bytes" is the size of the command's file in 10^6 bytes.  The
 * reference is "-", a number, or such a value; "A + B" is the rate of A and B
 * one after the other.
 *
 * Rows between empty lines are a group, in which the commands run in turn,
 * RUNS times; a command that several rows name is run once for all.  A line
 * "note <tab> TEXT" behind a row runs TEXT when that row has been printed.
 *
 *   command NAME (NEEDS) SIZES
 *       LINES
 *
 * Each process of the pipe in LINES is run by sh, with the row's arguments as
 * $1 ....  The first of several feeds the others and does not count as cpu and
 * mem.  NEED:ARGUMENTS calls need_NEED; if that fails, rows of the command are
 * left out, with a line SKIP if it printed why.  With two SIZES the command
 * runs with each of them as $N, and the figure is by how much the second is
 * larger.  $OUT is removed before and after each run.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"

#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_RUNS = 64, MOST_STAGES = 8, MOST_ROWS = 256, MOST_JOBS = 64 };

struct command {
    char *name, *needs, *sizes, *body;
};

/* The readings of a run.  For a command with two sizes, wall, cpu, mem and step
 * are those of the second size minus those of the first. */
struct sample {
    double wall, cpu, mem, step; /* s, s, MB, s */
    char *out, *log;
};

/* A command with arguments, and its runs. */
struct job {
    const struct command *command;
    char *args, *key;
    size_t runs, done;
    int reads_out, is_needed;
    char *reason; /* why it cannot run: printed by a need; NULL: it can */
    struct sample sample[MOST_RUNS];
};

/* The figure of a job that a row prints. */
struct figure {
    struct job *job;
    char *text;
};

struct row {
    char *name, *unit, *runs, *note;
    struct figure value, reference[2];
    size_t references;
    double limit; /* a reference that is a number; NAN: none */
};

static const char *functions; /* the script of shell functions */
static char *out_dir, *print_file, *log_file;

/* ---- shell ---- */

/* sh with the functions, `args` as $1 ... and then `text`; never returns. */
static void
exec_shell(const char *args, const char *text)
{
    char *script = xasprintf(". %s; set -- %s; %s", functions, args, text);

    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
    die(127, "/bin/sh:");
}

/* All of a file, to be freed; "" if there is none. */
static char *
file_text(const char *path)
{
    struct buf b = { 0 };
    FILE *f = fopen(path, "r");
    char part[4096];
    size_t n;

    buf_adds(&b, "");
    while (f != NULL && (n = fread(part, 1, sizeof(part), f)) > 0)
        buf_add(&b, part, n);
    if (f != NULL)
        fclose(f);
    return b.p;
}

/* Run `text` and return what it prints on both outputs, without line ends at
 * the end; the caller frees it.  *status is its exit status. */
static char *
shell_output(const char *args, const char *text, int *status)
{
    char *r;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) < 0)
        die(EX_SYS, "fork:");
    if (pid == 0) {
        if (freopen(print_file, "w", stdout) == NULL ||
            dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            die(EX_SYS, "%s:", print_file);
        exec_shell(args, text);
    }
    if (waitpid(pid, status, 0) < 0)
        die(EX_SYS, "wait:");
    r = file_text(print_file);
    for (size_t n = strlen(r); n > 0 && r[n - 1] == '\n';)
        r[--n] = '\0';
    return r;
}

/* The words of `text` after the shell's expansion, a line each. */
static char *
expanded(const char *args, const char *text)
{
    char *command = xasprintf("printf '%%s\\n' %s", text);
    int status;
    char *r = shell_output(args, command, &status);

    if (status != 0)
        die(EX_USAGE, "the table's \"%s\" is no text of the shell: %s", text,
            r);
    free(command);
    return r;
}

static void
remove_out(void)
{
    char *command = xasprintf("rm -rf '%s'", out_dir);

    if (system(command) != 0)
        die(EX_SYS, "%s: cannot be removed", out_dir);
    free(command);
}

/* ---- one run ---- */

/* Start one process of a pipe, which reads from `in`; returns the end that the
 * next one reads from, or -1 behind the last. */
static int
start_stage(const struct job *j, const char *text, int in, int last, pid_t *pid)
{
    const char *to = j->reads_out ? print_file : "/dev/null";
    int fd[2] = { -1, -1 };

    if (!last && pipe(fd) < 0)
        die(EX_SYS, "pipe:");
    if ((*pid = fork()) < 0)
        die(EX_SYS, "fork:");
    if (*pid == 0) {
        const int out =
            last ? open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666) : fd[1];
        const int log = open(log_file, O_WRONLY | O_CREAT | O_APPEND, 0666);

        if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
            dup2(log, STDERR_FILENO) < 0)
            die(EX_SYS, "dup2:");
        close(in);
        close(out);
        close(log);
        if (!last)
            close(fd[0]);
        exec_shell(j->args, text);
    }
    close(in);
    if (!last)
        close(fd[1]);
    return fd[0];
}

/* Wait for the n processes and add up what they took. Returns whether all
 * ended with 0. */
static int
wait_stages(const pid_t *pid, size_t n, struct sample *s)
{
    int good = 1;

    for (size_t i = 0; i < n; i++) {
        struct rusage u;
        int status;

        if (wait4(pid[i], &status, 0, &u) < 0)
            die(EX_SYS, "wait:");
        good = good && status == 0;
        if (i == 0 && n > 1)
            continue;
        s->cpu += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
            1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
        s->mem += (double)u.ru_maxrss * 1024e-6;
    }
    return good;
}

static int
rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median(double *x, size_t n)
{
    qsort(x, n, sizeof(*x), rising);
    return n > 0 ? x[(n - 1) / 2] : NAN;
}

/* The median of the seconds of a step in $OUT/metrics.tsv, which a student has
 * written, without the first step and the last three; NAN if there are fewer
 * than five steps. */
static double
step_seconds(void)
{
    char *path = xasprintf("%s/metrics.tsv", out_dir), line[1000];
    double x[1000];
    FILE *f = fopen(path, "r");
    size_t n = 0, column = 0, at = 0;

    free(path);
    while (f != NULL && n < 1000 && fgets(line, sizeof(line), f) != NULL) {
        char *rest = line, *word;

        for (at = 0; (word = strtok_r(rest, "\t\n", &rest)) != NULL; at++) {
            if (strcmp(word, "seconds") == 0)
                column = at;
            else if (at == column && column > 0)
                x[n++] = strtod(word, NULL);
        }
    }
    if (f != NULL)
        fclose(f);
    return n < 5 ? NAN : median(x + 1, n - 4);
}

/* Run the job with `size` as $N.  Returns whether it ended well. */
static int
run_once(const struct job *j, const char *size, struct sample *s)
{
    char *body = xstrdup(j->command->body), *stage[MOST_STAGES];
    int in = open("/dev/null", O_RDONLY), good;
    pid_t pid[MOST_STAGES];
    size_t n = 0;
    double begin;

    *s = (struct sample){ 0 };
    for (char *p = body, *end; p != NULL && n < MOST_STAGES; p = end) {
        if ((end = strstr(p, " | ")) != NULL) {
            *end = '\0';
            end += 3;
        }
        stage[n++] = p;
    }
    setenv("N", size, 1);
    remove_out();
    unlink(log_file);
    fflush(stdout);
    begin = clock_now();
    for (size_t i = 0; i < n; i++)
        in = start_stage(j, stage[i], in, i + 1 == n, &pid[i]);
    good = wait_stages(pid, n, s);
    s->wall = clock_now() - begin;
    s->step = step_seconds();
    s->out = j->reads_out ? file_text(print_file) : xstrdup("");
    s->log = file_text(log_file);
    remove_out();
    free(body);
    return good;
}

/* Run the job with its sizes and keep the sample; a job that fails gets a
 * reason. */
static void
run_job(struct job *j)
{
    char *sizes = expanded(j->args, j->command->sizes), *second;
    struct sample *s = &j->sample[j->done], less;
    int good;

    if ((second = strchr(sizes, '\n')) != NULL)
        *second++ = '\0';
    good = run_once(j, sizes, s);
    if (good && second != NULL) {
        less = *s;
        good = run_once(j, second, s);
        s->wall -= less.wall;
        s->cpu -= less.cpu;
        s->mem -= less.mem;
        s->step -= less.step;
        free(less.out);
        free(less.log);
    }
    free(sizes);
    j->done++;
    if (!good) {
        const char *line = s->log;

        for (const char *p; (p = strchr(line, '\n')) != NULL && p[1] != '\0';)
            line = p + 1;
        j->reason = xasprintf("%s failed: %.*s", j->command->name,
            (int)strcspn(line, "\n"), line);
    }
}

/* ---- figures ---- */

/* The number that follows a match of `re` in the last line of `text` that has
 * both; NAN if no line has. */
static double
number_behind(const char *text, const char *re)
{
    char *all = xasprintf("%s[^0-9\n]*([0-9.]+)", re);
    double r = NAN;
    regmatch_t m[9];
    regex_t c;

    if (regcomp(&c, all, REG_EXTENDED | REG_NEWLINE) != 0 || c.re_nsub > 8)
        die(EX_USAGE, "the table's \"%s\" is no regular expression", re);
    for (const char *p = text; regexec(&c, p, 9, m, 0) == 0;) {
        r = strtod(p + m[c.re_nsub].rm_so, NULL);
        p += m[0].rm_eo;
        p += strcspn(p, "\n");
    }
    regfree(&c);
    free(all);
    return r;
}

/* The reading of that name, such as "wall" or "out:rate". */
static double
reading(const struct sample *s, const char *name)
{
    if (strcmp(name, "wall") == 0)
        return s->wall;
    if (strcmp(name, "cpu") == 0)
        return s->cpu;
    if (strcmp(name, "mem") == 0)
        return s->mem;
    if (strcmp(name, "step") == 0)
        return s->step;
    if (strncmp(name, "out", 3) == 0)
        return number_behind(s->out, name[3] == ':' ? name + 4 : "");
    if (strncmp(name, "err:", 4) == 0)
        return number_behind(s->log, name + 4);
    die(EX_USAGE, "the table's \"%s\" is no reading: see tests/bench/meter.c",
        name);
}

/* Size of the job's file in 10^6 bytes; of two files, the second's size minus
 * the first's. */
static double
file_bytes(const struct job *j)
{
    char *sizes = expanded(j->args, j->command->sizes), *rest = sizes, *name;
    double r = 0.0;
    struct stat st;

    while ((name = strtok_r(rest, "\n", &rest)) != NULL) {
        if (stat(name, &st) < 0)
            die(EX_SYS, "%s:", name);
        r = (double)st.st_size - r;
    }
    free(sizes);
    return r / 1e6;
}

static double
amount(const struct job *j, const char *text)
{
    char *number;
    double r;

    if (strcmp(text, "bytes") == 0)
        return file_bytes(j);
    number = expanded(j->args, text);
    r = strtod(number, NULL);
    free(number);
    return r;
}

/* The median over the job's runs of [AMOUNT/]READING[/DIVISOR | *FACTOR]. */
static double
figure_value(const struct figure *f)
{
    static const char *const names[] = { "wall", "cpu", "mem", "step", "out",
        "err:" };
    char *name = xstrdup(f->text), *slash = strchr(name, '/'), *end;
    double above = NAN, factor = 1.0, x[MOST_RUNS];
    int is_name = slash == NULL;
    char *start = name;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        is_name = is_name || strncmp(name, names[i], strlen(names[i])) == 0;
    if (!is_name) {
        *slash = '\0';
        above = amount(f->job, name);
        start = slash + 1;
    }
    if ((end = strpbrk(start, "/*")) != NULL) {
        factor = *end == '/' ? 1.0 / amount(f->job, end + 1)
                             : amount(f->job, end + 1);
        *end = '\0';
    }
    for (size_t i = 0; i < f->job->done; i++) {
        x[i] = reading(&f->job->sample[i], start);
        x[i] = factor * (isnan(above) ? x[i] : above / x[i]);
    }
    free(name);
    return median(x, f->job->done);
}

/* ---- the table ---- */

static struct command *commands;
static size_t ncommand;

static const struct command *
command_named(const char *name)
{
    for (size_t i = 0; i < ncommand; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    die(EX_USAGE, "the table has no command %s", name);
}

/* Parse the line "command NAME (NEEDS) SIZES" into *c. */
static void
parse_command(char *line, struct command *c)
{
    char *open = strchr(line, '('), *shut = strchr(line, ')');

    if (open == NULL || shut == NULL)
        die(EX_USAGE, "the table's \"%s\" has no (NEEDS)", line);
    *open = *shut = '\0';
    *c = (struct command){ xstrdup(strtok(line + 8, " ")), xstrdup(open + 1),
        xstrdup(shut + 1), xstrdup("") };
}

/* Parse `text`: a command, its arguments, and a figure as the last word.  The
 * figure's job is the one in `jobs` with that command and those arguments; if
 * there is none, it is added. */
static struct figure
parse_figure(struct job *jobs, size_t *njob, const char *text)
{
    char *all = xstrdup(text), *args = strchr(all, ' '), *last;
    const struct command *c;
    struct figure f = { 0 };
    char *key;

    if (args == NULL)
        die(EX_USAGE, "the table's \"%s\" has no figure", text);
    last = strrchr(all, ' ');
    *last = *args = '\0';
    f.text = xstrdup(last + 1);
    c = command_named(all);
    args = args == last ? last : args + 1;
    key = expanded("", args);
    for (f.job = jobs; f.job < jobs + *njob; f.job++)
        if (f.job->command == c && strcmp(f.job->key, key) == 0)
            break;
    if (f.job == jobs + *njob) {
        if (++*njob > MOST_JOBS)
            die(EX_USAGE, "a group has more than %d commands", MOST_JOBS);
        *f.job =
            (struct job){ .command = c, .args = xstrdup(args), .key = key };
    }
    f.job->reads_out = f.job->reads_out || strstr(f.text, "out") != NULL;
    free(all);
    return f;
}

/* Parse the fields of a row into figures; jobs get their number of runs. */
static void
parse_figures(struct row *r, char *value, char *reference, struct job *jobs,
    size_t *njob)
{
    char *runs = expanded("", r->runs), *end, *second;
    const size_t n = strtoul(runs, NULL, 10);

    if (n < 1 || n > MOST_RUNS)
        die(EX_USAGE, "%s: %s runs: 1 to %d can be", r->name, runs, MOST_RUNS);
    free(runs);
    r->value = parse_figure(jobs, njob, value);
    r->limit = strtod(reference, &end);
    if (strcmp(reference, "-") == 0 || *end == '\0') {
        r->limit = *end == '\0' ? r->limit : NAN;
    } else {
        if ((second = strstr(reference, " + ")) != NULL) {
            *second = '\0';
            r->reference[1] = parse_figure(jobs, njob, second + 3);
        }
        r->reference[0] = parse_figure(jobs, njob, reference);
        r->references = second != NULL ? 2 : 1;
        r->limit = NAN;
    }
    for (size_t i = 0; i <= r->references; i++) {
        struct job *j = i == 0 ? r->value.job : r->reference[i - 1].job;

        j->runs = n > j->runs ? n : j->runs;
    }
}

/* ---- groups ---- */

/* Check that all that the job needs is there; else set j->reason. */
static void
check_needs(struct job *j)
{
    char *needs = expanded(j->args, j->command->needs), *rest = needs, *need;

    while (j->reason == NULL && (need = strtok_r(rest, "\n", &rest)) != NULL) {
        char *call;
        int status;

        for (char *p = need; (p = strchr(p, ':')) != NULL;)
            *p = ' ';
        call = xasprintf("need_%s", need);
        j->reason = shell_output("", call, &status);
        if (status == 0) {
            free(j->reason);
            j->reason = NULL;
        }
        free(call);
    }
    free(needs);
}

/* The reason why a row cannot be measured; NULL: none. */
static const char *
row_reason(const struct row *r)
{
    const char *why = r->value.job->reason;

    for (size_t i = 0; why == NULL && i < r->references; i++)
        why = r->reference[i].job->reason;
    return why;
}

static void
print_row(const struct row *r)
{
    const double value = figure_value(&r->value);
    double limit = r->limit;
    char *text;
    int status;

    if (r->references > 0)
        limit = figure_value(&r->reference[0]);
    if (r->references > 1)
        limit = 1.0 / (1.0 / limit + 1.0 / figure_value(&r->reference[1]));
    printf("%s\t%.6g\t%s\t", r->name, value, r->unit);
    if (isnan(limit))
        printf("-\t-\n");
    else
        printf("%.6g\t%.6g\n", limit, value / limit);
    if (r->note != NULL) {
        text = shell_output("", r->note, &status);
        printf("%s%s", text, *text == '\0' ? "" : "\n");
        free(text);
    }
    fflush(stdout);
}

/* Mark the jobs of the rows that can be measured: no other job is run. */
static void
mark_jobs(const struct row *rows, size_t nrow)
{
    for (size_t i = 0; i < nrow; i++) {
        const struct row *r = &rows[i];

        if (row_reason(r) != NULL)
            continue;
        r->value.job->is_needed = 1;
        for (size_t k = 0; k < r->references; k++)
            r->reference[k].job->is_needed = 1;
    }
}

/* Run the jobs of a group.  Returns how many rows have no value because the
 * command of their value, not of a reference, failed. */
static size_t
measure_group(const struct row *rows, size_t nrow, struct job *jobs,
    size_t njob)
{
    size_t failed = 0;

    for (size_t i = 0; i < njob; i++)
        check_needs(&jobs[i]);
    mark_jobs(rows, nrow);
    for (size_t r = 0; r < MOST_RUNS; r++)
        for (size_t i = 0; i < njob; i++)
            if (jobs[i].is_needed && r < jobs[i].runs && jobs[i].reason == NULL)
                run_job(&jobs[i]);
    for (size_t i = 0; i < nrow; i++) {
        const char *why = row_reason(&rows[i]);

        if (why == NULL)
            print_row(&rows[i]);
        else if (*why != '\0')
            printf("# SKIP %s: %s\n", rows[i].name, why);
        failed +=
            rows[i].value.job->is_needed && rows[i].value.job->reason != NULL;
    }
    fflush(stdout);
    return failed;
}

static void
free_jobs(struct job *jobs, size_t njob)
{
    for (size_t i = 0; i < njob; i++) {
        for (size_t r = 0; r < jobs[i].done; r++) {
            free(jobs[i].sample[r].out);
            free(jobs[i].sample[r].log);
        }
        free(jobs[i].args);
        free(jobs[i].key);
        free(jobs[i].reason);
    }
}

/* The lines are one group: measure the rows whose names match `wanted`.
 * Returns how many of these have no value because their own command failed. */
static size_t
group_lines(char *const *lines, size_t n, const regex_t *wanted)
{
    static struct row rows[MOST_ROWS];
    static struct job jobs[MOST_JOBS];
    size_t nrow = 0, njob = 0, failed;
    int is_in = 0;

    for (size_t i = 0; i < n; i++) {
        char *rest = xstrdup(lines[i]), *name = strtok_r(rest, "\t", &rest);
        struct row r = { .name = name };
        char *value, *reference;

        if (strcmp(name, "note") == 0) {
            if (is_in)
                rows[nrow - 1].note = rest;
            continue;
        }
        r.unit = strtok_r(rest, "\t", &rest);
        r.runs = strtok_r(rest, "\t", &rest);
        value = strtok_r(rest, "\t", &rest);
        reference = strtok_r(rest, "\t", &rest);
        if (reference == NULL)
            die(EX_USAGE, "%s: the table's row has no five fields", name);
        if (!(is_in = regexec(wanted, name, 0, NULL, 0) == 0))
            continue;
        if (nrow == MOST_ROWS)
            die(EX_USAGE, "a group has more than %d rows", MOST_ROWS);
        parse_figures(&r, value, reference, jobs, &njob);
        rows[nrow++] = r;
    }
    failed = measure_group(rows, nrow, jobs, njob);
    free_jobs(jobs, njob);
    return failed;
}

/* The table's lines without comments; commands go to `commands`. */
static char **
read_table(size_t *n)
{
    char **lines = NULL, *line = NULL;
    size_t cap = 0, room = 0, size = 0;
    ssize_t got;

    *n = 0;
    while ((got = getline(&line, &size, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line == '#')
            continue;
        if (strncmp(line, "command ", 8) == 0) {
            commands = xgrow(commands, ncommand, &room, sizeof(*commands));
            parse_command(line, &commands[ncommand++]);
        } else if (*line == ' ' && ncommand > 0) {
            char **body = &commands[ncommand - 1].body;
            char *more = xasprintf("%s%s%s", *body, **body ? " " : "",
                line + strspn(line, " "));

            free(*body);
            *body = more;
        } else {
            lines = xgrow(lines, *n, &cap, sizeof(*lines));
            lines[(*n)++] = xstrdup(line);
        }
    }
    free(line);
    return lines;
}

int
main(int argc, char **argv)
{
    const char *folder = getenv("work");
    size_t n, failed = 0;
    regex_t wanted;
    char **lines;

    progname = "meter";
    if (argc != 3 || folder == NULL)
        die(EX_USAGE, "usage: work=DIR meter FUNCTIONS REGEX < TABLE");
    functions = argv[1];
    if (regcomp(&wanted, argv[2], REG_EXTENDED | REG_NOSUB) != 0)
        die(EX_USAGE, "'%s' is not a regular expression", argv[2]);
    /* two meters may run at once in a folder */
    out_dir = xasprintf("%s/out.%ld", folder, (long)getpid());
    print_file = xasprintf("%s.txt", out_dir);
    log_file = xasprintf("%s.log", out_dir);
    setenv("OUT", out_dir, 1);
    lines = read_table(&n);
    for (size_t from = 0, to; from < n; from = to + 1) {
        for (to = from; to < n && *lines[to] != '\0'; to++)
            ;
        failed += group_lines(lines + from, to - from, &wanted);
    }
    for (size_t i = 0; i < n; i++)
        free(lines[i]);
    free(lines);
    regfree(&wanted);
    unlink(print_file);
    unlink(log_file);
    out_done();
    return failed > 0 ? EX_SYS : 0;
}
