/* Options: see opt.h */
#include "cli/opt.h"
#include "cli/nearness.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "cli/hub.h"
#include "cli/out.h"
#include "cli/prog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HELP_COLUMN = 26,
    WIDTH = 80 /* columns of -h */
};

const char opt_absent[] = "";

static int want_help, want_version, quiet, verbose;

static struct buf defaults; /* what opt_write appends before parsing */
static const struct opt common[] = { { OPT_K_FLAG, 'h', "help", &want_help,
                                         NULL, "print this help", 0, 0, NULL },
    { OPT_K_FLAG, 'q', "quiet", &quiet, NULL,
        "no notes, progress or closing line", 0, 0, NULL },
    { OPT_K_FLAG, 'v', "verbose", &verbose, NULL,
        "say more; given twice, say still more", 0, 0, NULL },
    { OPT_K_FLAG, 'V', "version", &want_version, NULL,
        "print version and build", 0, 0, NULL },
    OPT_END };

/* 268435456 -> "256M" */
static void
add_size(struct buf *b, size_t v)
{
    static const char suffix[] = "KMGT";
    size_t k = 0;

    while (k < 4 && v > 0 && v % 1024 == 0) {
        v /= 1024;
        k++;
    }
    buf_addf(b, "%zu", v);
    if (k > 0)
        buf_addc(b, suffix[k - 1]);
}

/* Append the words of s to a line that has reached column `at`.  A word that
 * would pass WIDTH begins a new line at column `indent`.  Text in [brackets]
 * counts as one word. */
static void
add_words(struct buf *b, const char *s, size_t at, size_t indent)
{
    while (*s != '\0') {
        size_t n = 0;
        int depth = 0;

        for (; s[n] != '\0' && (s[n] != ' ' || depth > 0); n++)
            depth += (s[n] == '[') - (s[n] == ']');
        if (at > indent && at + 1 + n > WIDTH) {
            buf_addf(b, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            buf_addc(b, ' ');
            at++;
        }
        buf_add(b, s, n);
        at += n;
        s += n + (s[n] == ' ');
    }
}

/* 5400 -> "1.5h" */
static void
add_time(struct buf *b, double v)
{
    if (v == 0.0)
        buf_addc(b, '0');
    else if (v >= 86400.0)
        buf_addf(b, "%gd", v / 86400.0);
    else if (v >= 3600.0)
        buf_addf(b, "%gh", v / 3600.0);
    else if (v >= 60.0)
        buf_addf(b, "%gm", v / 60.0);
    else
        buf_addf(b, "%gs", v);
}

static int
is_option(const struct opt *o)
{
    return o->kind != OPT_K_END && o->kind != OPT_K_GROUP;
}

static int
may_lack_value(const struct opt *o)
{
    return o->kind == OPT_K_STR && o->lo > 0;
}

/* Compare letters for the synopsis, where they stand in the order h q v V. */
static int
letter_order(const void *a, const void *b)
{
    const int x = *(const unsigned char *)a, y = *(const unsigned char *)b;
    const int lx = tolower(x), ly = tolower(y);

    return lx != ly ? lx - ly : y - x;
}

static void
add_usage_table(struct buf *b, const struct opt *table, char *letters,
    size_t *n)
{
    for (const struct opt *o = table; o->kind != OPT_K_END; o++) {
        if (o->kind == OPT_K_FLAG && o->ch != 0) {
            letters[(*n)++] = (char)o->ch;
            continue;
        }
        if (!is_option(o))
            continue;
        if (o->ch != 0)
            buf_addf(b, " [-%c", o->ch);
        else
            buf_addf(b, " [--%s", o->name);
        if (o->kind != OPT_K_FLAG)
            buf_addf(b, may_lack_value(o) ? " [%s]" : " %s", o->arg);
        buf_adds(b, "]");
    }
}

/* "usage: PROG [-hqvV] [-j threads] [--field name] operands" */
static void
add_usage(struct buf *b, const struct opt *table, const char *operands)
{
    char letters[256];
    size_t n = 0, indent;
    struct buf rest = { 0 };

    add_usage_table(&rest, table, letters, &n);
    add_usage_table(&rest, common, letters, &n);
    qsort(letters, n, 1, letter_order);
    buf_addf(b, "usage: %s", progname);
    indent = b->n;
    buf_addf(b, " [-%.*s]", (int)n, letters);
    if (*operands != '\0')
        buf_addf(&rest, " %s", operands);
    if (rest.n > 0)
        add_words(b, rest.p + 1, b->n, indent < WIDTH / 2 ? indent : 8);
    buf_release(&rest);
}

static void
add_number_text(struct buf *b, const struct opt *o)
{
    if (o->kind == OPT_K_SIZE)
        add_size(b, *(size_t *)o->dst);
    else if (o->kind == OPT_K_TIME)
        add_time(b, *(double *)o->dst);
    else
        buf_addf(b, "%g", *(double *)o->dst);
}

/* Is the option a number with a default that can be printed? */
static int
has_default(const struct opt *o)
{
    return (o->kind == OPT_K_SIZE && *(size_t *)o->dst != OPT_NONE) ||
        ((o->kind == OPT_K_REAL || o->kind == OPT_K_COUNT ||
             o->kind == OPT_K_TIME) &&
            isfinite(*(double *)o->dst));
}

/* Append what -h says of an option, with its default: help "threads (0: all)"
 * becomes "threads (default 0: all)" or "threads (default 4, 0: all)". */
static void
add_meaning(struct buf *b, const struct opt *o)
{
    const char *zero = strstr(o->help, " (0: ");
    const size_t n = zero != NULL ? (size_t)(zero - o->help) : strlen(o->help);

    if (has_default(o)) {
        buf_add(b, o->help, n);
        buf_adds(b, " (default ");
        add_number_text(b, o);
        if (zero == NULL)
            buf_addc(b, ')');
        else if (b->p[b->n - 1] == '0' && b->p[b->n - 2] == ' ')
            buf_adds(b, zero + 3);
        else
            buf_addf(b, ", %s", zero + 2);
        return;
    }
    buf_adds(b, o->help);
    if (o->kind == OPT_K_STR) {
        const char *s = *(const char **)o->dst;

        if (s != NULL && *s != '\0')
            buf_addf(b, " (default %s)", s);
    } else if (o->kind == OPT_K_ENUM) {
        const int v = *(int *)o->dst;

        buf_adds(b, ": ");
        for (int i = 0; o->choice[i] != NULL; i++)
            buf_addf(b, "%s%s", i > 0 ? ", " : "", o->choice[i]);
        if (v >= 0)
            buf_addf(b, " (default %s)", o->choice[v]);
    }
}

static void
add_help_table(struct buf *b, const struct opt *table)
{
    for (const struct opt *o = table; o->kind != OPT_K_END; o++) {
        const size_t start = b->n;
        struct buf text = { 0 };
        size_t used;

        if (o->kind == OPT_K_GROUP) {
            buf_addf(b, "\n%s:\n", o->help);
            continue;
        }
        buf_adds(b, "  ");
        if (o->ch != 0)
            buf_addf(b, "-%c", o->ch);
        else
            buf_adds(b, "  ");
        if (o->name != NULL)
            buf_addf(b, "%s--%s", o->ch != 0 ? ", " : "  ", o->name);
        if (o->kind != OPT_K_FLAG)
            buf_addf(b, may_lack_value(o) ? " [%s]" : " %s", o->arg);
        used = b->n - start;
        if (used + 1 > HELP_COLUMN)
            buf_addf(b, "\n%*s", HELP_COLUMN, "");
        else
            buf_addf(b, "%*s", (int)(HELP_COLUMN - used), "");
        add_meaning(&text, o);
        add_words(b, text.p, HELP_COLUMN, HELP_COLUMN);
        buf_addc(b, '\n');
        buf_release(&text);
    }
}

/* Print on stdout and exit. */
static void
print_and_exit(const struct buf *b)
{
    fwrite(b->p, 1, b->n, stdout);
    out_done();
    exit(EX_OK);
}

static void
print_version(void)
{
    struct buf b = { 0 };

    buf_addf(&b, "%s (retort) %s\nbuilt by %s\n", progname, prog_version(),
        prog_build());
    print_and_exit(&b);
}

/* The arguments of opt_parse that its functions need. */
struct parse {
    const struct opt *table;
    const char *about, *operands;
};

/* Say what the suffixes of numbers mean, if options in the table take any. */
static void
add_suffixes(struct buf *b, const struct opt *table)
{
    int sizes = 0, counts = 0;

    for (; table->kind != OPT_K_END; table++) {
        sizes |= table->kind == OPT_K_SIZE;
        counts |= table->kind == OPT_K_COUNT;
    }
    if (sizes || counts)
        buf_addc(b, '\n');
    if (sizes)
        buf_adds(b, "K, M, G and T after a size multiply by powers of 1024.\n");
    if (counts)
        buf_adds(b, "K, M, G and T after a count are powers of 1000.\n");
}

/* Append the text of -h; its defaults are the values that variables have
 * now. */
static void
add_help(struct buf *b, const struct parse *p)
{
    add_usage(b, p->table, p->operands);
    buf_addf(b, "\n%s\n", p->about);
    if (p->table->kind != OPT_K_GROUP)
        buf_adds(b, "\n");
    add_help_table(b, p->table);
    if (p->table->kind != OPT_K_END)
        buf_adds(b, "\n");
    add_help_table(b, common);
    add_suffixes(b, p->table);
}

static void misuse(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

static void
misuse(const char *fmt, ...)
{
    char msg[1000];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    prog_say(msg);
    snprintf(msg, sizeof msg, "type \"%s -h\" for the options", progname);
    prog_say(msg);
    exit(EX_USAGE);
}

/* The option as the user gave it: "-j" or "--threads". */
static const char *
option_text(const struct opt *o, int as_long)
{
    static char text[100];

    if (as_long)
        snprintf(text, sizeof text, "--%s", o->name);
    else
        snprintf(text, sizeof text, "-%c", o->ch);
    return text;
}

static void
add_to_list(struct opt_list *l, char *v)
{
    l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n++] = v;
}

static void bad_size(const struct opt *o, const char *name, const char *v)
    __attribute__((noreturn));

static void
bad_size(const struct opt *o, const char *name, const char *v)
{
    struct buf lo = { 0 }, hi = { 0 };

    add_size(&lo, (size_t)o->lo);
    if (!(o->hi < 0x1p53)) /* a limit so large is not printed */
        misuse("%s: \"%s\" is not a whole number of at least %s", name, v,
            lo.p);
    add_size(&hi, (size_t)o->hi);
    misuse("%s: \"%s\" is not a whole number from %s to %s", name, v, lo.p,
        hi.p);
}

static void bad_time(const struct opt *o, const char *name, const char *v)
    __attribute__((noreturn));

static void
bad_time(const struct opt *o, const char *name, const char *v)
{
    struct buf lo = { 0 }, hi = { 0 };

    add_time(&lo, o->lo);
    add_time(&hi, o->hi);
    misuse("%s: \"%s\" is not a time from %s to %s, as 90s, 15m, 2h or 1d",
        name, v, lo.p, hi.p);
}

/* Is the option's value a model or a tokenizer? */
static int
is_model(const struct opt *o)
{
    return strcmp(o->arg, "model") == 0 || strcmp(o->arg, "tokenizer") == 0;
}

static void
set_value(const struct opt *o, int as_long, char *v)
{
    const char *name = option_text(o, as_long);

    switch (o->kind) {
    case OPT_K_FLAG:
        ++*(int *)o->dst;
        if (o->dst != &verbose)
            *(int *)o->dst = 1;
        break;
    case OPT_K_STR:
        *(const char **)o->dst = is_model(o) ? hub_path(v) : v;
        break;
    case OPT_K_SIZE:
        if (number_size(v, o->lo, o->hi, o->dst) < 0)
            bad_size(o, name, v);
        break;
    case OPT_K_REAL:
        if (number_real(v, o->lo, o->hi, o->dst) == 0)
            break;
        misuse("%s: \"%s\" is not a number from %g to %g", name, v, o->lo,
            o->hi);
    case OPT_K_COUNT:
        if (number_count(v, o->lo, o->hi, o->dst) == 0)
            break;
        misuse("%s: \"%s\" is not a number from %g to %g, such as 1.5M or 2G "
               "(two billion)",
            name, v, o->lo, o->hi);
    case OPT_K_TIME:
        if (number_time(v, o->lo, o->hi, o->dst) < 0)
            bad_time(o, name, v);
        break;
    case OPT_K_ENUM: {
        struct buf words = { 0 };

        for (int i = 0; o->choice[i] != NULL; i++) {
            if (strcmp(v, o->choice[i]) == 0) {
                *(int *)o->dst = i;
                buf_release(&words);
                return;
            }
            buf_addf(&words, "%s%s", i > 0 ? ", " : "", o->choice[i]);
        }
        misuse("%s: \"%s\" is none of %s", name, v, words.p);
    }
    case OPT_K_LIST:
        add_to_list(o->dst, is_model(o) ? (char *)(uintptr_t)hub_path(v) : v);
        break;
    default: break;
    }
}

static const struct opt *
find_short(const struct opt *table, int ch)
{
    for (const struct opt *o = table; o->kind != OPT_K_END; o++)
        if (is_option(o) && o->ch == ch)
            return o;
    return table == common ? NULL : find_short(common, ch);
}

static const struct opt *
find_long(const struct opt *table, const char *name, size_t n)
{
    for (const struct opt *o = table; o->kind != OPT_K_END; o++)
        if (is_option(o) && o->name != NULL && strlen(o->name) == n &&
            memcmp(o->name, name, n) == 0)
            return o;
    return table == common ? NULL : find_long(common, name, n);
}

/* Find the option of which name[n] is probably a misspelling: the nearest;
 * NULL: all are far.  An option whose name begins with name[n] has distance 1
 * at most. */
static const struct opt *
nearest_option(const struct opt *table, const char *name, size_t n)
{
    const struct opt *best = NULL;
    size_t least = near_limit(n);

    for (;; table = common) {
        for (const struct opt *o = table; o->kind != OPT_K_END; o++) {
            size_t d;

            if (!is_option(o) || o->name == NULL)
                continue;
            d = near_distance(name, n, o->name);
            if (d > 1 && n >= 2 && strncmp(o->name, name, n) == 0)
                d = 1;
            if (d < least) {
                least = d;
                best = o;
            }
        }
        if (table == common)
            return best;
    }
}

/* Say which option of retort (and of which program, if another) does what
 * option name[n] does in other trainers; NULL: the name is not known. */
static const char *
elsewhere(const struct opt *table, const char *name, size_t n)
{
    static const char *const known[][3] = {
        { "learning-rate", "lr", "student" },
        { "learning_rate", "lr", "student" },
        { "epochs", "epochs", "stream" },
        { "num-epochs", "epochs", "stream" },
        { "num_train_epochs", "epochs", "stream" },
        { "batch", "batch-size", "stream" },
        { "batch-size", "batch-size", "stream" },
        { "per_device_train_batch_size", "batch-size", "stream" },
        { "seq-len", "length", "stream" },
        { "max-length", "length", "stream" },
        { "max-steps", "steps", "student" },
        { "max_steps", "steps", "student" },
        { "gradient-accumulation-steps", "grad-accum", "student" },
        { "gradient_accumulation_steps", "grad-accum", "student" },
        { "warmup-steps", "warmup", "student" },
        { "gradient-checkpointing", "recompute", "student" },
        { "num_generations", "group", "student grpo" },
        { "num_iterations", "iterations", "student grpo" },
        { "max_completion_length", "max-new-tokens", "student grpo" },
        { "epsilon", "clip-low", "student grpo" },
        { "epsilon_high", "clip-high", "student grpo" },
        { "reward_funcs", "reward", "student grpo" },
        { "lmbda", "written", "student on-policy" },
    };
    static char text[80];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *own = known[i][1];

        if (strlen(known[i][0]) != n || memcmp(known[i][0], name, n) != 0)
            continue;
        if (find_long(table, own, strlen(own)) != NULL)
            snprintf(text, sizeof text, "--%s", own);
        else
            snprintf(text, sizeof text, "%s --%s", known[i][2], own);
        return text;
    }
    return NULL;
}

/* Parse "--name", "--name=value" or "--name value".  next: the argument after
 * this one, or NULL.  Returns 1 if next was used. */
static int
parse_long(const struct parse *p, char *arg, char *next)
{
    char *eq = strchr(arg, '=');
    const size_t n = eq != NULL ? (size_t)(eq - arg) : strlen(arg);
    const struct opt *o = find_long(p->table, arg, n);

    if (o == NULL) {
        const char *other = elsewhere(p->table, arg, n);
        const struct opt *near =
            other ? NULL : nearest_option(p->table, arg, n);

        misuse("unknown option --%.*s%s%s%s%s", (int)(n < 80 ? n : 80), arg,
            other || near ? "; did you mean " : "", near ? "--" : "",
            other      ? other
                : near ? near->name
                       : "",
            other || near ? "?" : "");
    }
    if (o->kind == OPT_K_FLAG) {
        if (eq != NULL)
            misuse("--%s takes no value", o->name);
        set_value(o, 1, NULL);
        return 0;
    }
    if (may_lack_value(o) && eq == NULL &&
        (next == NULL || (next[0] == '-' && next[1] != '\0'))) {
        *(const char **)o->dst = opt_absent;
        return 0;
    }
    if (eq == NULL && next == NULL)
        misuse("--%s needs a value", o->name);
    set_value(o, 1, eq != NULL ? eq + 1 : next);
    return eq == NULL;
}

/* Parse "-q", "-qv", "-j 4" or "-j4"; see parse_long. */
static int
parse_short(const struct parse *p, char *arg, char *next)
{
    const char *const whole = arg;

    for (; *arg != '\0'; arg++) {
        const struct opt *o = find_short(p->table, (unsigned char)*arg);

        if (o == NULL && find_long(p->table, whole, strlen(whole)) != NULL)
            misuse("unknown option -%c; did you mean --%s?", *arg, whole);
        if (o == NULL && isprint((unsigned char)*arg))
            misuse("unknown option -%c", *arg);
        if (o == NULL)
            misuse("unknown option of byte 0x%02x", (unsigned char)*arg);
        if (o->kind == OPT_K_FLAG) {
            set_value(o, 0, NULL);
            continue;
        }
        if (arg[1] == '\0' && next == NULL)
            misuse("-%c needs a value", *arg);
        set_value(o, 0, arg[1] != '\0' ? arg + 1 : next);
        return arg[1] == '\0';
    }
    return 0;
}

/* Return arg if it can be the value of the option before it.  NULL: there is no
 * argument, or it is itself an option of the table, such as "--quiet", which as
 * a value must be written "--name=--quiet". */
static char *
value_in(const struct opt *table, char *arg)
{
    if (arg == NULL || strncmp(arg, "--", 2) != 0 || arg[2] == '\0')
        return arg;
    return find_long(table, arg + 2, strlen(arg + 2)) != NULL ? NULL : arg;
}

/* Open /dev/null as each of descriptors 0-2 that is closed.  Otherwise a file
 * opened later would get the free number, and be read as stdin or written as
 * stdout or stderr.  /dev/null is opened in the wrong direction, so that using
 * a closed stdin or stdout is still an error. */
static void
guard_descriptors(void)
{
    static const int mode[3] = { O_WRONLY, O_RDONLY, O_RDWR };

    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", mode[fd]) != fd)
            _exit(EX_SYS);
}

static void
begin_program(const char *argv0)
{
    const char *slash;

    guard_descriptors();
    prog_listen();
    /* A write to a reader that has left fails with EPIPE: see out_put. */
    signal(SIGPIPE, SIG_IGN);
    /* A write over the limit of ulimit -f fails with EFBIG. */
    signal(SIGXFSZ, SIG_IGN);
    if (argv0 == NULL || *argv0 == '\0')
        return;
    slash = strrchr(argv0, '/');
    progname = slash != NULL && slash[1] != '\0' ? slash + 1 : argv0;
}

char **
opt_parse(int argc, char **argv, const struct opt *table, const char *about,
    const char *operands, int min, int max, int *n_operands)
{
    const struct parse p = { table, about, operands };
    int n = 0, only = 0; /* operands seen; "--" was seen */
    struct buf help = { 0 };

    begin_program(argc > 0 ? argv[0] : NULL);
    add_help(&help, &p); /* now, before parsing overwrites a default */
    opt_write(&defaults, table, (const char *const[]){ NULL });
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        char *next = value_in(table, i + 1 < argc ? argv[i + 1] : NULL);

        if (only || arg[0] != '-' || arg[1] == '\0')
            argv[n++] = arg;
        else if (strcmp(arg, "--") == 0)
            only = 1;
        else if (arg[1] == '-')
            i += parse_long(&p, arg + 2, next);
        else
            i += parse_short(&p, arg + 1, next);
        if (want_help)
            print_and_exit(&help);
        if (want_version)
            print_version();
    }
    if (n < min)
        misuse("operands are missing: %s", operands);
    if (max >= 0 && n > max)
        misuse("unexpected operand \"%s\"", argv[max]);
    if (argc > 0)
        argv[n] = NULL;
    verbosity = quiet ? -1 : verbose;
    if (n_operands != NULL)
        *n_operands = n;
    buf_release(&help);
    prog_begin();
    return argv;
}

/* Append the shortest text that reads back as v. */
static void
add_exact(struct buf *b, double v)
{
    char text[40];

    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    buf_adds(b, text);
}

static void
add_current_value(struct buf *b, const struct opt *o)
{
    const struct opt_list *list = o->dst;
    const char *text;

    switch (o->kind) {
    case OPT_K_FLAG: buf_adds(b, *(const int *)o->dst ? "on" : "off"); break;
    case OPT_K_SIZE: buf_addf(b, "%zu", *(const size_t *)o->dst); break;
    case OPT_K_REAL:
    case OPT_K_COUNT:
    case OPT_K_TIME: add_exact(b, *(const double *)o->dst); break;
    case OPT_K_ENUM:
        buf_adds(b,
            *(const int *)o->dst < 0 ? "none"
                                     : o->choice[*(const int *)o->dst]);
        break;
    case OPT_K_LIST:
        for (size_t i = 0; i < list->n; i++)
            buf_addf(b, "%s%s", i > 0 ? " " : "", list->v[i]);
        break;
    default:
        text = *(const char *const *)o->dst;
        buf_adds(b, text != NULL ? text : "none");
    }
}

static int
is_named(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

void
opt_write(struct buf *b, const struct opt *table, const char *const *leave_out)
{
    for (const struct opt *o = table; o->kind != OPT_K_END; o++) {
        if (!is_option(o) || o->name == NULL || is_named(leave_out, o->name))
            continue;
        buf_addf(b, "--%s\t", o->name);
        add_current_value(b, o);
        buf_addc(b, '\n');
    }
}

/* Is the line[n] a line of the text? */
static int
has_line(const char *text, const char *line, size_t n)
{
    for (; *text != '\0'; text += strcspn(text, "\n") + 1)
        if (strncmp(text, line, n) == 0)
            return 1;
    return 0;
}

void
opt_changes(struct buf *b, const struct opt *table,
    const char *const *leave_out)
{
    struct buf now = { 0 };
    size_t n;

    opt_write(&now, table, leave_out);
    for (const char *line = now.p; line != NULL && *line != '\0'; line += n) {
        n = strcspn(line, "\n") + 1;
        if (!has_line(defaults.p, line, n))
            buf_add(b, line, n);
    }
    buf_release(&now);
}
