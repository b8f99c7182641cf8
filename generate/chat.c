/* generate chat: lines are questions that a model, or two, answer. */
#include "chat.h"
#include "chat_command.h"
#include "typed.h"
#include "speaker.h"
#include "base/clock.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "gen/defaults.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Carry out a line as a command.  Without a terminal /new alone is one, so that
 * a file can have questions that begin with a slash. */
static enum command_result
run_line(struct talk *t, const char *line, int asks)
{
    return asks || strcmp(line, "/new") == 0 ? command_run(t, line)
                                             : COMMAND_NONE;
}

/* Talk until the input ends. */
static void
talk_lines(struct talk *t)
{
    const int asks = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    struct typed *lines = typed_open(asks ? "> " : NULL);
    struct buf line = { 0 };
    int several = 0;

    while (!stop_asked && typed_read(lines, &line, &several)) {
        const enum command_result r =
            several ? COMMAND_NONE : run_line(t, line.p, asks);

        if (r == COMMAND_QUIT)
            break;
        if (r == COMMAND_DONE)
            continue;
        t->questions++;
        for (size_t i = 0; i < t->speakers; i++)
            speaker_hear(&t->s[i], line.p, line.n);
        talk_answer(t);
    }
    buf_release(&line);
    typed_close(lines);
}

static void
talk(struct speaker *s, size_t speakers, struct chat_args *a)
{
    const double start = clock_now();
    struct talk t = { .s = s, .speakers = speakers, .a = a };
    struct gen_stats stats = { 0 };

    talk_lines(&t);
    free(t.system);
    free(t.file);
    gen_statistics(s->engine, &stats);
    prog_closing("%zu questions, %zu tokens, %.1f tokens/s", t.questions,
        t.tokens, (double)t.tokens / (clock_now() - start + 1e-9));
    how_guessed(&stats);
    prog_detail("%llu of %llu tokens of prompts were in the cache",
        (unsigned long long)stats.shared, (unsigned long long)stats.prompt);
}

int
chat_main(int argc, char **argv)
{
    static struct chat_args a = { .how = HOW_DEFAULTS,
        .given = SAMPLING_OPEN,
        .length = 512 };
    const struct opt options[] = { OPT_MODEL(&a.model,
                                       "continue prompts with this model"),
        OPT_STR(0, "against", &a.against, "model",
            "let this model answer too, after the other"),
        OPT_STR(0, "system", &a.system, "text",
            "text of the system's message, before all others"),
        OPT_TEMPLATE(&a.template), OPT_MAX_NEW_TOKENS(&a.length, 1),
        MODEL_OPTIONS(&a.how),
        HOW_OPTIONS_OF(&a.how, &a.given, " (default: the model's, else 0.7)",
            " (default: the model's, else 0.95)"),
        SAMPLING_OPTIONS_OF(&a.given, " (default: the model's)"),
        OPT_SIZE(0, "cache", &a.cache, 0, 1e15, "bytes",
            "memory for keys and values (0: as much as the texts need)"),
        OPT_END };
    struct speaker s[2] = { 0 };
    struct pool *pool;
    size_t n = 1;

    opt_parse(argc, argv, options, "chat with a model", "", 0, 0, NULL);
    if (a.model == NULL)
        die(EX_USAGE, "give a model by -m; see generate chat -h");
    how_begin(&a.how);
    speaker_open(&s[0], a.model, &a);
    if (a.against != NULL)
        speaker_open(&s[n++], a.against, &a);
    pool = setup_rank_pool(a.how.setup.threads);
    for (size_t i = 0; i < n; i++) {
        speaker_start(&s[i], &a, pool);
        speaker_forget(&s[i], a.system);
    }
    prog_catch_stop();
    prog_saving(1); /* a second Ctrl-C does not kill the program */
    talk(s, n, &a);
    out_done();
    for (size_t i = 0; i < n; i++)
        speaker_close(&s[i]);
    pool_free(pool);
    return stop_asked ? EX_STOP : EX_OK;
}
