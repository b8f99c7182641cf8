/* For every option of every command of student: either ranks with different
 * values, and a resumed run with another value, are refused with status 2, or
 * depends.c lists the option as excepted, with the reason. */
#include "../lib/tap.h"
#include "student/depends.h"
#include "student/dpo.h"
#include "student/grpo.h"
#include "student/on_policy.h"
#include "student/record.h"
#include "student/train.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/opt_values.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Options with words as values, other than names of files or servers, and
 * another value of each.  A new option that names a file belongs in
 * depends.c instead, and its command must compare the file's content. */
static const char *const words[][2] = {
    { "adam", "0.8,0.9,1e-8" },
    { "date", "2026-01-31" },
    { "kl-direction", "js:0.3" },
    { "lora-targets", "q_proj" },
    { "loss", "ipo" },
    { "mask", "2:4" },
    { "outer", "0.7,0.9" },
    { "rates", "*=0.5" },
    { "reward", "another" },
    { "reward-weights", "1,0.5" },
    { "schedule", "linear" },
};

static const char *
other_word(const struct opt *o)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], o->name) == 0)
            return words[i][1];
    return NULL;
}

static size_t
value_size(const struct opt *o)
{
    switch (o->kind) {
    case OPT_K_FLAG:
    case OPT_K_ENUM: return sizeof(int);
    case OPT_K_SIZE: return sizeof(size_t);
    case OPT_K_REAL:
    case OPT_K_TIME: return sizeof(double);
    case OPT_K_LIST: return sizeof(struct opt_list);
    default: return sizeof(const char *);
    }
}

/* Give the option another value. */
static void
change(const struct opt *o)
{
    static const char *list[1];
    const char *word = other_word(o) != NULL ? other_word(o) : "other";

    switch (o->kind) {
    case OPT_K_FLAG: *(int *)o->dst ^= 1; break;
    case OPT_K_ENUM: *(int *)o->dst = *(int *)o->dst == 0; break;
    case OPT_K_SIZE: *(size_t *)o->dst = *(size_t *)o->dst == 3 ? 4 : 3; break;
    case OPT_K_REAL:
    case OPT_K_TIME: *(double *)o->dst += 1.0; break;
    case OPT_K_LIST:
        list[0] = word;
        *(struct opt_list *)o->dst =
            (struct opt_list){ (char **)(uintptr_t)list, 1 };
        break;
    default: *(const char **)o->dst = word;
    }
}

/* Does the message in the file name the option? */
static int
message_names(const char *file, const char *name)
{
    struct err e;
    char *text, *at;
    size_t n;
    int found;

    if (io_slurp(file, SIZE_MAX, &text, &n, &e) < 0)
        return 0;
    at = strstr(text, name);
    found = at != NULL && strchr("- ", at[-1]) != NULL &&
        strncmp(at + strlen(name), " is ", 4) == 0;
    free(text);
    return found;
}

/* Exit status of a process that resumes the run r; its messages go to the file
 * err. */
static int
resume_status(const struct record *r)
{
    int status;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) == 0) {
        const int fd = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);

        dup2(fd, 2);
        (void)record_keep(r);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
test_option(const struct command *c, struct record *r, const struct opt *o)
{
    const char *why = depends_reason(o->name);
    struct buf before = { 0 }, after = { 0 };
    unsigned char kept[sizeof(struct opt_list)];
    int differ, status;

    memcpy(kept, o->dst, value_size(o));
    depends_option_lines(&before, c->options);
    change(o);
    depends_option_lines(&after, c->options);
    differ = strcmp(before.p, after.p) != 0;
    status = resume_status(r);
    if (why == NULL) {
        ok(o->kind != OPT_K_STR || other_word(o) != NULL,
            "%s: the value of --%s is a word", c->name, o->name);
        ok(differ, "%s: another --%s of a rank is refused", c->name, o->name);
        ok(status == EX_USAGE && message_names("err", o->name),
            "%s: another --%s of a resumed run is refused by its name", c->name,
            o->name);
    } else {
        ok(status == 0, "%s: --%s of a resumed run may differ: %s%s", c->name,
            o->name, why, differ ? "; of a rank it is refused" : "");
    }
    memcpy(o->dst, kept, value_size(o));
    buf_release(&before);
    buf_release(&after);
}

/* Write a run's options.json, and resume the run with each option changed. */
static void
test_command(const struct command *c)
{
    const struct depends none = { 0 };
    struct record r = { .run = "run",
        .command = c->name,
        .options = c->options,
        .ce = NAN,
        .kl = NAN,
        .squarehead = NAN,
        .depends = &none };
    json_t *defaults;

    /* values that a command chooses before it compares them */
    for (const struct opt *o = c->options; o->kind != OPT_K_END; o++)
        if (o->kind == OPT_K_REAL && isnan(*(double *)o->dst))
            *(double *)o->dst = 0.5;
    r.defaults = defaults = opt_values(c->options);
    (void)record_keep(&r);
    r.step = 2;
    ok(resume_status(&r) == 0, "%s: a run with the same options is resumed",
        c->name);
    for (const struct opt *o = c->options; o->kind != OPT_K_END; o++)
        if (o->kind != OPT_K_GROUP)
            test_option(c, &r, o);
    json_decref(defaults);
}

int
main(void)
{
    static const struct command *const commands[] = { &train_command,
        &dpo_command, &grpo_command, &on_policy_command };

    mkdir("run", 0777);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        test_command(commands[i]);
    return done_testing();
}
