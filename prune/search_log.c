/* The log of a search: see search_log.h. */
#include "search_log.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "kern/kern.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER                                                               \
    "trial\tkind\tstep\ttaken\tkey\tparams\tbytes\tflops\tlatency\ttokens\t" \
    "nll\tppl\tkl\tobjective\tse\tseconds\tblocks\twidth\tchoice\tsearch\t"  \
    "exact\tkernels\n"
enum {
    C_KIND = 1,
    C_STEP,
    C_TAKEN,
    C_KEY,
    C_TOKENS = 9,
    C_SECONDS = 15,
    C_SEARCH = 19,
    C_EXACT,
    C_KERNELS,
    COLUMNS
};
enum { LOG_MAX = 1 << 30 };

/* The fields of a line that are read back. */
struct record {
    uint64_t key;
    size_t tokens;
    struct score score;
    double seconds;
    char who[64]; /* "METHOD KIND" */
    int taken;
};

/* ---- writing ---- */

static void
format_trial(const struct search_log *t, size_t i, struct buf *b)
{
    const struct trial *x = &t->t[i];
    const struct score *s = &x->score;

    buf_addf(b, "%zu\t%s\t%s\t%d\t%016" PRIx64 "\t%.0f\t%.0f\t%.0f\t%.6g\t", i,
        x->method, x->kind, x->taken, x->key, x->cost.params, x->cost.bytes,
        x->cost.flops, x->cost.latency);
    buf_addf(b, "%zu\t%.8f\t%.6f\t%.8f\t%.8f\t%.6f\t%.3f\t%zu\t%zu\t",
        x->tokens, s->nll, exp(s->nll), s->kl, s->sum, s->se, x->seconds,
        conf_blocks(&x->conf), conf_width(&x->conf));
    choice_write_word(&x->choice, b);
    buf_addf(b, "\t%016" PRIx64 "\t%a,%a,%a,%a\t%s\n", t->search, s->nll, s->kl,
        s->sum, s->se, kern_name());
}

void
search_log_report(const struct search_log *t, struct buf *b)
{
    buf_adds(b,
        "kind\ttaken\tblocks\tkept\twidth\tparameters\t"
        "nll\tppl\tkl\tscore\tseconds\n");
    for (size_t i = 0; i < t->n; i++) {
        const struct trial *x = &t->t[i];

        buf_addf(b, "%s\t%d\t%zu\t", x->kind, x->taken, conf_blocks(&x->conf));
        conf_text(&x->conf, b);
        buf_addf(b, "\t%zu\t%.0f\t%.8f\t%.6f\t%.8f\t%.8f\t%.3f\n",
            conf_width(&x->conf), x->cost.params, x->score.nll,
            exp(x->score.nll), x->score.kl, x->score.sum, x->seconds);
    }
}

static void
append_text(struct search_log *t, const void *p, size_t n)
{
    if (io_write(t->fd, p, n) < 0 || io_fsync(t->fd) < 0)
        die(EX_SYS, "the log cannot be written:");
}

/* ---- reading ---- */

static struct record *
find_record(const struct search_log *t, uint64_t key, size_t tokens,
    const char *who)
{
    for (size_t i = 0; i < t->nr; i++)
        if (t->r[i].key == key && t->r[i].tokens == tokens &&
            (who == NULL || strcmp(t->r[i].who, who) == 0))
            return &t->r[i];
    return NULL;
}

static struct record *
keep_log_record(struct search_log *t, const struct record *r)
{
    struct record *old = find_record(t, r->key, r->tokens, r->who);

    if (old == NULL) {
        t->r = xgrow(t->r, t->nr, &t->rcap, sizeof(*t->r));
        old = &t->r[t->nr++];
        *old = *r;
    }
    old->taken |= r->taken;
    return old;
}

/* Store the record of a line.  Returns 0: the line is of this search; 1: of
 * another; -1: it is damaged. */
static int
parse_log_line(struct search_log *t, char *line)
{
    struct record r = { 0 };
    char *col[COLUMNS];
    uint64_t search;
    size_t n = 0;

    for (char *p = line; p != NULL && n < COLUMNS; n++) {
        char *tab = strchr(p, '\t');

        if (tab != NULL)
            *tab++ = '\0';
        col[n] = p;
        p = tab;
    }
    if (n < COLUMNS)
        return -1;
    snprintf(r.who, sizeof(r.who), "%s %s", col[C_KIND], col[C_STEP]);
    r.taken = strcmp(col[C_TAKEN], "1") == 0;
    if (sscanf(col[C_KEY], "%" SCNx64, &r.key) != 1 ||
        sscanf(col[C_SEARCH], "%" SCNx64, &search) != 1 ||
        sscanf(col[C_TOKENS], "%zu", &r.tokens) != 1 ||
        sscanf(col[C_SECONDS], "%lf", &r.seconds) != 1 ||
        sscanf(col[C_EXACT], "%la,%la,%la,%la", &r.score.nll, &r.score.kl,
            &r.score.sum, &r.score.se) != 4)
        return -1;
    keep_log_record(t, &r);
    if (strcmp(col[C_KERNELS], kern_name()) != 0)
        snprintf(t->kernels, sizeof(t->kernels), "%s", col[C_KERNELS]);
    return search != t->search;
}

/* Store the records of all lines.  A last line without a newline is cut off:
 * its writer was killed. */
static void
read_records(struct search_log *t, const char *file, char *text, size_t n)
{
    size_t at = 0, line = 0;

    for (char *end; (end = memchr(text + at, '\n', n - at)) != NULL;) {
        char *p = text + at;
        int r;

        at = (size_t)(end - text) + 1;
        if (++line == 1 && strncmp(p, HEADER, sizeof(HEADER) - 1) != 0)
            die(EX_INPUT,
                "%s: is not the log of a search, or that of another version",
                file);
        *end = '\0';
        r = line > 1 ? parse_log_line(t, p) : 0;
        if (r < 0)
            die(EX_INPUT, "%s: line %zu: is no line of a log", file, line);
        if (r > 0)
            die(EX_USAGE,
                "%s: line %zu: is of another search (its calibration, model or "
                "objective differs): name a new file",
                file, line);
    }
    if (at < n && ftruncate(t->fd, (off_t)at) < 0)
        die(EX_SYS, "%s: cannot be shortened:", file);
    if (at == 0)
        append_text(t, HEADER, sizeof(HEADER) - 1);
}

void
search_log_open(struct search_log *t, const char *file, uint64_t search)
{
    char *text;
    size_t n;
    struct err e;

    memset(t, 0, sizeof(*t));
    t->fd = -1;
    t->search = search;
    if (file == NULL)
        return;
    t->fd =
        io_openat(AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
    if (t->fd < 0)
        die(EX_SYS, "%s: cannot be opened:", file);
    if (io_slurp(file, LOG_MAX, &text, &n, &e) < 0)
        die_err(&e);
    read_records(t, file, text, n);
    free(text);
    if (t->nr > 0)
        note("%s: %zu evaluations are known", file, t->nr);
    if (t->kernels[0] != '\0')
        warn("%s: has scores of kernels %s, continued with %s: the last bits "
             "of new scores may differ",
            file, t->kernels, kern_name());
}

void
search_log_close(struct search_log *t)
{
    for (size_t i = 0; i < t->n; i++) {
        conf_release(&t->t[i].conf);
        choice_release(&t->t[i].choice);
    }
    if (t->fd >= 0)
        close(t->fd);
    free(t->t);
    free(t->r);
    memset(t, 0, sizeof(*t));
}

int
search_log_get(const struct search_log *t, uint64_t key, size_t tokens,
    struct score *score, double *seconds)
{
    const struct record *r = find_record(t, key, tokens, NULL);

    if (r == NULL)
        return 0;
    *score = r->score;
    *seconds = r->seconds;
    return 1;
}

/* Write trial i to the file, unless the file has a line of it.  If the trial is
 * taken and that line does not say so, write it again. */
static void
log_trial(struct search_log *t, size_t i)
{
    const struct trial *x = &t->t[i];
    struct record r = { x->key, x->tokens, x->score, x->seconds, "", 0 }, *old;
    struct buf b = { 0 };

    snprintf(r.who, sizeof(r.who), "%s %s", x->method, x->kind);
    old = find_record(t, r.key, r.tokens, r.who);
    if (t->fd >= 0 && (old == NULL || (x->taken && !old->taken))) {
        format_trial(t, i, &b);
        append_text(t, b.p, b.n);
    }
    r.taken = x->taken;
    keep_log_record(t, &r);
    buf_release(&b);
}

size_t
search_log_add(struct search_log *t, const struct trial *x)
{
    struct trial *to;

    t->t = xgrow(t->t, t->n, &t->cap, sizeof(*t->t));
    to = &t->t[t->n++];
    *to = *x;
    conf_copy(&to->conf, &x->conf);
    choice_copy(&to->choice, &x->choice);
    log_trial(t, t->n - 1);
    return t->n - 1;
}

void
search_log_take(struct search_log *t, size_t i)
{
    if (t->t[i].taken)
        return;
    t->t[i].taken = 1;
    log_trial(t, i);
}
