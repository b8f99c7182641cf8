/* generate run: continue a prompt, the prompts of a file, or none. */
#include "run.h"
#include "ask.h"
#include "best.h"
#include "how.h"
#include "made_with.h"
#include "many.h"
#include "operands.h"
#include "output.h"
#include "prompts.h"
#include "base/clock.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/prog.h"
#include "format/json.h"
#include "gen/date.h"

#include <stdlib.h>
#include <string.h>

struct run_args {
    struct how how;
    const char *model, *tokenizer, *prompts, *field, *template, *date, *resume,
        *system, *like, *schema;
    char **given; /* operands: prompts */
    int operands; /* their number */
    int ask, harder;
    struct tm day; /* parsed `date` */
    struct opt_list stop;
    size_t length, at_once, count, logprobs, cache, slice;
    struct best best;
    size_t best_of; /* 0: every text is kept */
    const struct opt *options;
};

/* ---- options ---- */

/* Unescape the values of --stop in place. */
static void
read_stop_options(struct opt_list *stop)
{
    for (size_t i = 0; i < stop->n; i++) {
        char *to = stop->v[i];

        for (const char *s = to; *s != '\0'; s++) {
            *to = *s;
            if (*s == '\\' && s[1] != '\0' && strchr("nt\\", s[1]) != NULL)
                *to = *++s == 'n' ? '\n' : *s == 't' ? '\t' : '\\';
            to++;
        }
        *to = '\0';
        if (to == stop->v[i])
            die(EX_USAGE, "--stop needs a text: an empty one is everywhere");
    }
}

static struct tokenizer *
open_run_tokenizer(const struct run_args *a, const struct model *m)
{
    const char *path = a->tokenizer != NULL ? a->tokenizer : a->model;
    struct tokenizer *tok;
    struct err e;

    if ((tok = tok_open(path, &e)) == NULL)
        die_err(&e);
    if (tok_warning(tok))
        warn("%s: %s", path, tok_warning(tok));
    if (tok_fit(tok, path, m->c.V, NULL, &e) < 0)
        die_err(&e);
    return tok;
}

/* Are texts questions of users? */
static int
asks(const struct run_args *a)
{
    return a->ask || a->harder;
}

/* Write questions; p: prompts without --ask and --harder. */
static void
run_questions(const struct run_args *a, const struct prompts_from *p,
    struct many *many)
{
    const struct ask_from from = { .harder = a->harder ? a->prompts : NULL,
        .system = a->system,
        .like = a->like,
        .model = a->model,
        .template = a->template,
        .date = p->date,
        .count = a->count,
        .params = p->params,
        .tok = p->tok,
        .V = p->V,
        .positions = p->positions,
        .made = many->made };
    struct ask *ask = ask_open(&from);

    many->before = ask_resume(ask, many->output, a->resume);
    many->draws = ask_draws(ask);
    many_run(many);
    ask_report(ask);
    ask_close(ask);
}

/* Write the texts of prompts p, to --resume's file or standard output. */
static void
run_many(struct run_args *a, const struct prompts_from *p, struct many *many)
{
    const struct made_from from = { .model = a->model,
        .adapter = a->how.adapter,
        .template = a->template,
        .system = a->system,
        .like = a->like,
        .schema = a->schema };
    json_t *made = made_with(&from, many->tok, a->options);

    many->made = made;
    many->best = a->best_of > 0 ? &a->best : NULL;
    many->output = output_open(a->resume, made);
    if (asks(a))
        run_questions(a, p, many);
    else
        many_run(many);
    output_close(many->output);
    json_decref(made);
}

/* Set the closing line, after `seconds`. */
static void
close_run(const struct run_args *a, const struct many *many, double seconds)
{
    const double speed = many->tokens / (seconds + 1e-9);

    if (a->best_of == 0)
        prog_closing("%.0f text%s, %.0f tokens, %.1f tokens/s", many->texts,
            many->texts == 1.0 ? "" : "s", many->tokens, speed);
    else
        prog_closing("prompts: %zu kept, %zu dropped, %.0f tokens, "
                     "%.1f tokens/s",
            a->best.kept, a->best.dropped, many->tokens, speed);
    if (a->best.cut > 0)
        note("prompts dropped because none of their texts ended within -n "
             "tokens: %zu",
            a->best.cut);
    how_guessed(&many->stats);
}

enum { SCHEMA_MOST = 1 << 20 }; /* bytes of a schema's file */

/* Read the schema in the file.  Dies on errors, also if texts of this model
 * cannot be bound by it. */
static void
bound_open(struct bound *b, const char *file, const struct model *m,
    const struct tokenizer *tok)
{
    struct err e;
    json_t *j = js_load(file, SCHEMA_MOST, &e);

    if (j == NULL)
        die_err(&e);
    *b = (struct bound){ .schema = schema_read(j, &e) };
    json_decref(j);
    if (b->schema == NULL)
        die(e.code, "%s: %s", file, e.msg);
    if ((b->vocab = mask_vocab_new(tok, &m->c, &e)) == NULL ||
        mask_check_schema(b->vocab, b->schema, &e) < 0)
        die(EX_USAGE, "--schema: %s", e.msg);
}

static void
bound_release(struct bound *b)
{
    schema_free(b->schema);
    mask_vocab_free(b->vocab);
}

static void
run_prompts(struct run_args *a, const struct model *m,
    const struct packed *packed, struct pool *pool)
{
    struct tokenizer *tok = open_run_tokenizer(a, m);
    const struct prompts_from from = { .texts = a->given,
        .operands = (size_t)a->operands,
        .file = a->prompts,
        .field = a->field,
        .model = a->model,
        .template = a->template,
        .date = a->date != NULL ? &a->day : NULL,
        .count = a->count,
        .same_n = a->best_of > 0,
        .has_schema = a->schema != NULL,
        .params = { .most = a->length,
            .n = a->best_of > 0 ? a->best_of : 1,
            .seed = a->how.seed,
            .how = a->how.sampling,
            .logprobs = a->logprobs != OPT_NONE,
            .top = a->logprobs != OPT_NONE ? a->logprobs : 0,
            .stop = a->stop.v,
            .nstop = a->stop.n },
        .tok = tok,
        .V = m->c.V,
        .positions = config_positions(&m->c) };
    struct prompts *prompts = asks(a) ? NULL : prompts_open(&from);
    struct bound bound;
    struct many many = { .m = packed != NULL ? packed_model(packed) : m,
        .packed = packed,
        .pool = pool,
        .tok = tok,
        .prompts = prompts,
        .file = a->prompts,
        .at_once = a->at_once,
        .cache = a->cache,
        .slice = a->slice,
        .draft = how_draft(&a->how, m, tok, pool),
        .guesses = a->how.guesses,
        .bound = a->schema != NULL ? &bound : NULL };
    const double start = clock_now();

    if (a->schema != NULL)
        bound_open(&bound, a->schema, m, tok);
    if (a->operands == 0)
        run_many(a, &from, &many);
    else
        operands_run(&many, a->given, from.operands);
    close_run(a, &many, clock_now() - start);
    if (prompts != NULL)
        prompts_close(prompts);
    if (a->schema != NULL)
        bound_release(&bound);
    tok_free(tok);
}

/* Die if options do not go with --ask or --harder, or need one of them. */
static void
check_ask(const struct run_args *a)
{
    const char *how = a->ask ? "--ask" : "--harder";

    if (!a->ask && (a->system != NULL || a->like != NULL))
        die(EX_USAGE, "--system and --like are for --ask");
    if (!asks(a))
        return;
    if (a->ask && a->harder)
        die(EX_USAGE,
            "--ask writes questions and --harder rewrites them: give one of "
            "them");
    if (a->operands > 0 || (a->ask && a->prompts != NULL))
        die(EX_USAGE, "%s takes no prompt%s", how,
            a->ask ? "; show the model examples by --like" : " operand");
    if (a->harder && a->prompts == NULL)
        die(EX_USAGE, "--harder needs the questions: give them by --prompts");
    if (a->ask && a->count == OPT_NONE)
        die(EX_USAGE, "--ask needs --count, the number of questions");
    if (a->ask && a->like == NULL && a->how.sampling.temperature == 0.0)
        die(EX_USAGE,
            "--ask needs a --temperature above 0, such as 1: at 0 all "
            "questions would be the same");
    if (a->stop.n > 0 || a->logprobs != OPT_NONE || a->best_of > 0 ||
        a->schema != NULL)
        die(EX_USAGE, "%s takes no --stop, --logprobs, --best-of or --schema",
            how);
}

static void
check_args(struct run_args *a)
{
    struct err e;

    if (a->model == NULL)
        die(EX_USAGE, "give a model by -m; see generate run -h");
    check_ask(a);
    if (a->operands > 0 && a->prompts != NULL)
        die(EX_USAGE, "give prompts or --prompts, not both");
    if (a->operands == 0 && a->prompts == NULL && a->count == OPT_NONE)
        die(EX_USAGE,
            "give a prompt, such as 'Once upon a time', a file of prompts by "
            "--prompts, or --count for texts without a prompt");
    if (a->operands > 0 &&
        (a->resume != NULL || a->count != OPT_NONE || a->logprobs != OPT_NONE ||
            a->best_of > 0))
        die(EX_USAGE,
            "--resume, --count, --logprobs and --best-of need a file: give "
            "prompts by --prompts");
    if (a->schema != NULL && a->stop.n > 0)
        die(EX_USAGE,
            "--schema takes no --stop: a text ends where its document does");
    if (a->best.command != NULL && a->best_of == 0)
        die(EX_USAGE,
            "--reward: chooses one of several texts of a prompt: say how many "
            "by --best-of");
    if (a->best_of > 1 && a->how.sampling.temperature == 0.0)
        warn("--best-of %zu: at temperature 0 the texts of a prompt are all "
             "equal: give --temperature, such as 0.7",
            a->best_of);
    if (a->date != NULL && date_parse(a->date, &a->day, &e) < 0)
        die_err(&e);
}

int
run_main(int argc, char **argv)
{
    static struct run_args a = { .how = HOW_DEFAULTS,
        .field = "prompt",
        .length = 64,
        .at_once = 16,
        .count = OPT_NONE,
        .logprobs = OPT_NONE,
        .best = { .seconds = 60.0 },
        .slice = GEN_SLICE };
    const struct opt options[] = { OPT_MODEL(&a.model,
                                       "continue prompts with this model"),
        OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
        OPT_MAX_NEW_TOKENS(&a.length, 1),
        OPT_LIST(0, "stop", &a.stop, "string",
            "end a text where this begins (\\n: newline); may be repeated"),
        OPT_STR(0, "schema", &a.schema, "file",
            "write JSON documents that this JSON schema allows"),
        OPT_STR(0, "prompts", &a.prompts, "file",
            "continue the prompts of a file of lines, plain or JSON (-: "
            "standard input)"),
        OPT_STR(0, "field", &a.field, "field",
            "JSON field that holds the text"),
        OPT_FLAG(0, "ask", &a.ask,
            "write questions that a user might ask the model"),
        OPT_STR(0, "system", &a.system, "file",
            "text of the system's message, before all others"),
        OPT_STR(0, "like", &a.like, "file",
            "ask questions of the kind of these examples"),
        OPT_FLAG(0, "harder", &a.harder,
            "rewrite questions so that they are harder"),
        OPT_TEMPLATE(&a.template), OPT_DATE(&a.date),
        OPT_SIZE(0, "count", &a.count, 1, 1e9, "prompts", "number of prompts"),
        OPT_RESUME(&a.resume),
        OPT_SIZE(0, "logprobs", &a.logprobs, 0, PARAMS_TOP, "tokens",
            "write the log probability of each token, and of this many rivals"),
        OPT_SIZE(0, "best-of", &a.best_of, 0, PARAMS_N, "texts",
            "draw this many texts of each prompt and keep the best one at most "
            "(0: keep every text)"),
        OPT_STR(0, "reward", &a.best.command, "command",
            "program that judges texts: JSON lines in, a line with a number or "
            "null out for each"),
        OPT_TIME(0, "reward-time", &a.best.seconds, 0.1, 1e9, "time",
            "time that a reward program has, each time it is started"),
        MODEL_OPTIONS(&a.how), HOW_OPTIONS(&a.how),
        SAMPLING_OPTIONS(&a.how.sampling), OPT_AT_ONCE(&a.at_once),
        OPT_SIZE(0, "cache", &a.cache, 0, 1e15, "bytes",
            "memory for keys and values (0: as much as the texts need)"),
        OPT_SLICE(&a.slice), OPT_END };
    struct model m;
    struct packed *packed;
    struct pool *pool;

    a.options = options;
    a.given = opt_parse(argc, argv, options, "continue prompts with a model",
        "[prompt ...]", 0, -1, &a.operands);
    check_args(&a);
    read_stop_options(&a.stop);
    how_begin(&a.how);
    setup_model(&m, a.model, a.how.adapter);
    pool = setup_rank_pool(a.how.setup.threads);
    packed = how_pack(&a.how, &m, pool);
    run_prompts(&a, &m, packed, pool);
    out_done();
    packed_free(packed);
    model_close(&m);
    pool_free(pool);
    return 0;
}
