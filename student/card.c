/* The model card of a finished run: see card.h */
#include "card.h"
#include "student.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/prog.h"
#include "model/files/card.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const run_card_own[] = { "model", "output", "threads", "cpus",
    "numa", "ahead", "max-time", "rank-timeout", "comm-log", "timeline", "save",
    "keep", "resume", "override", "taught-by", NULL };

/* Append the scores in the last line of RUN/held-out.tsv.  0: there is no such
 * line. */
static int
add_held_out(struct buf *b, const char *run)
{
    char *path = xasprintf("%s/held-out.tsv", run), *text = NULL, *line;
    double loss, ce, kl;
    uint64_t step;
    struct err e;
    size_t n;
    int r = 0;

    if (io_exists(path) && io_slurp(path, SIZE_MAX, &text, &n, &e) == 0) {
        while (n > 0 && text[n - 1] == '\n')
            text[--n] = '\0';
        line = strrchr(text, '\n');
        r = line != NULL &&
            sscanf(line, "%" SCNu64 "%*s%*s%lf%lf%lf", &step, &loss, &ce,
                &kl) == 4;
    }
    if (r)
        buf_addf(b,
            "held-out loss after step %" PRIu64 "\t%.4f\n"
            "held-out cross entropy\t%.4f\nheld-out KL to the teacher\t%.4f\n",
            step, loss, ce, kl);
    free(text);
    free(path);
    return r;
}

int
run_card_write(const struct student *s, struct err *e)
{
    char *by = xasprintf("%s %s of retort", s->command->name, prog_version());
    char *name = card_name(s->a->run);
    struct buf scores = { 0 };
    struct card card = { .by = by,
        .from = s->a->model,
        .hash = depends_value(s, "model"),
        .taught = s->a->taught_by,
        .teacher = s->feed.taught ? s->feed.head_hash : NULL,
        .tag = s->feed.taught ? "distillation" : NULL,
        .relation = s->t.adapter != NULL ? "adapter" : "finetune",
        .adapted = s->t.adapter != NULL ? adapter_params(s->t.adapter) : 0,
        .options = s->changes };
    int r;

    buf_addf(&scores, "steps\t%" PRIu64 "\ntokens\t%" PRIu64 "\n", s->st.step,
        s->st.tokens);
    if (s->a->eval == NULL || !add_held_out(&scores, s->a->run))
        buf_addf(&scores, "training loss of the last step\t%.4f\n", s->last);
    card.scores = scores.p;
    r = card_write(&card, &s->t.m, s->a->run, name, e);
    buf_release(&scores);
    free(name);
    free(by);
    return r;
}
