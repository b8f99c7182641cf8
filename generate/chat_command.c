/* Commands of a chat; see chat_command.h. */
#include "chat_command.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/stop.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "format/json.h"
#include "gen/dialogue.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Print a line for the user. */
static void
say(const char *fmt, ...)
{
    char text[1000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    speaker_print(text, strlen(text));
    out_put("\n", 1);
}

/* ---- the conversation ---- */

void
talk_answer(struct talk *t)
{
    const int bold = out_colours(STDOUT_FILENO);

    for (size_t i = 0; i < t->speakers && !stop_asked; i++) {
        if (t->speakers > 1) {
            char *label = xasprintf("[%s] ", t->s[i].path);

            out_put("\033[1m", bold ? 4 : 0);
            speaker_print(label, strlen(label));
            out_put("\033[0m", bold ? 4 : 0);
            free(label);
        }
        t->tokens += speaker_answer(&t->s[i], t->a->length);
    }
}

static void
command_clear(struct talk *t, const char *rest)
{
    (void)rest;
    for (size_t i = 0; i < t->speakers; i++)
        speaker_forget(&t->s[i], t->a->system);
}

static void
command_again(struct talk *t, const char *rest)
{
    int had = 1;

    (void)rest;
    for (size_t i = 0; i < t->speakers; i++)
        had = speaker_take_back(&t->s[i], "assistant") && had;
    if (!had) {
        say("there is no answer to write again");
        return;
    }
    if (t->s[0].params.how.temperature == 0.0)
        say("at temperature 0 an answer is the same again: /set temperature "
            "0.7");
    talk_answer(t);
}

static void
command_undo(struct talk *t, const char *rest)
{
    int had = 0;

    (void)rest;
    for (size_t i = 0; i < t->speakers; i++) {
        const int answered = speaker_take_back(&t->s[i], "assistant");

        had = speaker_take_back(&t->s[i], "user") || answered || had;
    }
    say(had ? "the last question and its answer are forgotten"
            : "there is nothing to forget");
}

static void
command_system(struct talk *t, const char *rest)
{
    free(t->system);
    t->system = *rest != '\0' ? xstrdup(rest) : NULL;
    t->a->system = t->system;
    for (size_t i = 0; i < t->speakers; i++)
        speaker_system(&t->s[i], t->system);
}

/* ---- /set ---- */

/* Names that /set takes, and the members of struct sampling. */
static const struct {
    const char *name; /* as the option */
    size_t at;        /* offset in struct sampling */
} reals[] = { { "temperature", offsetof(struct sampling, temperature) },
    { "top-p", offsetof(struct sampling, top_p) },
    { "min-p", offsetof(struct sampling, min_p) },
    { "typical-p", offsetof(struct sampling, typical) },
    { "repetition-penalty", offsetof(struct sampling, repetition) },
    { "presence-penalty", offsetof(struct sampling, presence) },
    { "frequency-penalty", offsetof(struct sampling, frequency) } };
enum { REALS = sizeof reals / sizeof *reals };

static double *
real_value(struct sampling *how, size_t i)
{
    return (double *)(void *)((char *)how + reals[i].at);
}

static void
show_settings(struct talk *t)
{
    struct gen_params *p = &t->s[0].params;

    for (size_t i = 0; i < REALS; i++)
        say("%-20s %g", reals[i].name, *real_value(&p->how, i));
    say("%-20s %zu", "top-k", p->how.top_k);
    say("%-20s %llu", "seed", (unsigned long long)p->seed);
    say("%-20s %zu", "max-new-tokens", t->a->length);
}

/* Set a value in *p and *length.  Returns 1; 0: there is no such name; -1: the
 * value is wrong, and *e. */
static int
set_one(struct gen_params *p, size_t *length, const char *name,
    const char *value, struct err *e)
{
    size_t whole = 0;
    int r = 0;

    for (size_t i = 0; i < REALS; i++) {
        if (strcmp(name, reals[i].name) != 0)
            continue;
        if (number_real(value, -1e9, 1e9, real_value(&p->how, i)) < 0)
            return err_set(e, EX_USAGE, "%s: \"%s\" is no number", name, value);
        return sampling_check(&p->how, SIZE_MAX, e) < 0 ? -1 : 1;
    }
    if (strcmp(name, "top-k") == 0 || strcmp(name, "seed") == 0)
        r = number_size(value, 0, 1e9, &whole);
    else if (strcmp(name, "max-new-tokens") == 0)
        r = number_size(value, 1, 1e6, &whole);
    else
        return 0;
    if (r < 0)
        return err_set(e, EX_USAGE, "%s: \"%s\" is no whole number in range",
            name, value);
    if (strcmp(name, "top-k") == 0)
        p->how.top_k = whole;
    else if (strcmp(name, "seed") == 0)
        p->seed = whole;
    else
        *length = whole;
    return 1;
}

static void
command_set(struct talk *t, const char *rest)
{
    const size_t n = strcspn(rest, " ");
    const char *value = rest + n + strspn(rest + n, " ");
    char name[40];
    struct err e;

    if (*rest == '\0') {
        show_settings(t);
        return;
    }
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, rest);
    for (size_t i = 0; i < t->speakers; i++) {
        struct gen_params p = t->s[i].params;
        size_t length = t->a->length;
        const int r = set_one(&p, &length, name, value, &e);

        if (r == 0)
            say("/set %s: no such setting; /set alone lists them", name);
        else if (r < 0)
            say("/set %s", e.msg);
        if (r <= 0)
            return;
        t->s[i].params = p;
        t->a->length = length;
    }
}

/* ---- files ---- */

static void
remember_file(struct talk *t, const char *path)
{
    char *copy = xstrdup(path);

    free(t->file);
    t->file = copy;
}

static void
command_save(struct talk *t, const char *rest)
{
    const char *path = *rest != '\0' || t->file == NULL ? rest : t->file;
    json_t *j;
    char *text;
    struct buf b = { 0 };
    struct err e;

    if (*path == '\0') {
        say("/save: give a file");
        return;
    }
    if (io_exists(path) && (t->file == NULL || strcmp(path, t->file) != 0)) {
        say("/save %s: the file exists already: give another name", path);
        return;
    }
    j = json_pack("{s:O}", "messages", t->s[0].messages);
    text = js_dumps(j, JSON_COMPACT);
    buf_addf(&b, "%s\n", text);
    if (io_put_file(path, b.p, b.n, &e) < 0) {
        say("/save: %s", e.msg);
    } else {
        remember_file(t, path);
        say("%zu messages are in %s", json_array_size(t->s[0].messages), path);
    }
    buf_release(&b);
    free(text);
    json_decref(j);
}

/* The messages of the first line of a file; NULL and *e. */
static json_t *
load_messages(const char *path, struct err *e)
{
    json_t *record = NULL, *turns = NULL;
    char *text;
    size_t n;

    if (io_slurp(path, JS_MAX, &text, &n, e) < 0)
        return NULL;
    record = js_parse(text, strcspn(text, "\n"), e);
    if (record != NULL)
        turns = dialogue_turns(record, e);
    if (turns == NULL)
        err_prefix(e, "%s", path);
    json_decref(record);
    free(text);
    return turns;
}

static void
command_load(struct talk *t, const char *rest)
{
    json_t *turns;
    struct err e;

    if (*rest == '\0') {
        say("/load: give a file that /save has written, or one of "
            "conversations");
        return;
    }
    if ((turns = load_messages(rest, &e)) == NULL) {
        say("/load: %s", e.msg);
        return;
    }
    for (size_t i = 0; i < t->speakers; i++) {
        json_decref(t->s[i].messages);
        t->s[i].messages = json_deep_copy(turns);
    }
    remember_file(t, rest);
    say("the conversation of %zu messages goes on", json_array_size(turns));
    json_decref(turns);
}

/* ---- the table ---- */

static void command_help(struct talk *t, const char *rest);

static const struct {
    const char *name, *value, *help;
    void (*run)(struct talk *t, const char *rest); /* NULL: ends the chat */
} commands[] = {
    { "help", "", "list the commands", command_help },
    { "quit", "", "end the chat, as Ctrl-D does", NULL },
    { "exit", "", "end the chat", NULL },
    { "clear", "", "begin a new conversation", command_clear },
    { "new", "", "begin a new conversation", command_clear },
    { "again", "", "write the last answer anew", command_again },
    { "undo", "", "forget the last question and its answer", command_undo },
    { "system", "[text]", "set the system's message, or remove it",
        command_system },
    { "set", "[name value]", "set how answers are drawn, as the options do",
        command_set },
    { "save", "[file]", "write the conversation, as a line of JSON",
        command_save },
    { "load", "file", "go on with a conversation that was saved",
        command_load },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void
command_help(struct talk *t, const char *rest)
{
    (void)t;
    (void)rest;
    for (size_t i = 0; i < COMMANDS; i++)
        say("/%-6s %-12s %s", commands[i].name, commands[i].value,
            commands[i].help);
    say("\"\"\" begins and ends a text of several lines; a space before a "
        "slash makes it text; Ctrl-C ends an answer");
}

enum command_result
command_run(struct talk *t, const char *line)
{
    const size_t n = strcspn(line, " ");
    const char *rest = line + n + strspn(line + n, " ");

    if (*line != '/')
        return COMMAND_NONE;
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strlen(commands[i].name) != n - 1 ||
            strncmp(commands[i].name, line + 1, n - 1) != 0)
            continue;
        if (*rest != '\0' && commands[i].value[0] == '\0') {
            say("/%s takes no words after it", commands[i].name);
            return COMMAND_DONE;
        }
        if (commands[i].run == NULL)
            return COMMAND_QUIT;
        commands[i].run(t, rest);
        return COMMAND_DONE;
    }
    say("%.*s: no such command; /help lists them", (int)(n < 80 ? n : 80),
        line);
    return COMMAND_DONE;
}
