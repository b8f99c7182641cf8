/* Files of a run: checkpoints, the finished model, logs; see save.h. */
#include "save.h"
#include "leftovers.h"
#include "masks.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/number.h"
#include "base/thread.h"
#include "base/timeline.h"
#include "cli/die.h"
#include "dist/watch.h"
#include "format/safetensors.h"
#include "kern/kern.h"
#include "model/files/adapter_file.h"
#include "train/effective.h"
#include "model/files/export.h"
#include "model/files/fetch.h"
#include "model/files/tokfile.h"
#include "model/files/weights_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
run_is_whole(const char *run)
{
    char *config = xasprintf("%s/config.json", run);
    const int whole = io_exists(config) || adapter_is_there(run);

    free(config);
    return whole;
}

/* Make RUN and lock it, as rank 0.  Dies if it holds a run, unless resume. */
static void
make_run(struct saver *s, int resume)
{
    const int there = io_exists(s->run);
    struct err e;
    int r;

    if (pthread_mutex_init(&s->lock, NULL) != 0 ||
        pthread_cond_init(&s->change, NULL) != 0)
        die(EX_SYS, "cannot make a lock");
    if (io_mkdirs(s->run, &e) < 0)
        die_err(&e);
    if (!there)
        s->new_run = io_remember(s->run);
    if (dir_lock(&s->lock_run, s->run, 0, &e) < 0)
        die_err(&e);
    leftovers_remove(s->run);
    if (resume)
        return;
    if ((r = ckpt_any(s->run, &e)) < 0)
        die_err(&e);
    if (r > 0 || run_is_whole(s->run))
        die(EX_USAGE,
            "%s: holds a run already: continue it with "
            "--resume, or choose another name",
            s->run);
}

void
saver_open(struct saver *s, const char *run, int resume)
{
    struct err e;

    s->run = run;
    s->ranks = dist_world();
    if (s->ranks->rank == 0)
        make_run(s, resume);
    dist_barrier(s->ranks);
    /* a node that does not see RUN needs no lock */
    if (s->ranks->rank > 0 && io_is_dir(run) &&
        dir_lock(&s->lock_run, run, s->ranks->rank, &e) < 0)
        die_err(&e);
    /* rank 0 removes a new RUN if it ends early, so wait for all locks */
    dist_barrier(s->ranks);
}

void
saver_started(struct saver *s)
{
    io_forget(s->new_run);
    s->new_run = 0;
}

void
saver_close(struct saver *s)
{
    if (s->lock_run.path != NULL)
        dir_unlock(&s->lock_run);
}

/* Add the results of held-out evaluations. */
static void
put_judged(struct st_out *o, const struct progress_state *st)
{
    char text[40];

    st_out_number(o, "judged", st->judged);
    st_out_number(o, "best", st->best);
    st_out_number(o, "since", st->since);
    snprintf(text, sizeof(text), "%.17g", st->best_loss);
    st_out_meta(o, "best_loss", text);
}

/* Add the mean gradient norm. */
static void
put_norms(struct st_out *o, const struct progress_state *st)
{
    char text[40];

    snprintf(text, sizeof(text), "%.17g", st->norms);
    st_out_meta(o, "norms", text);
    snprintf(text, sizeof(text), "%.17g", st->weights);
    st_out_meta(o, "norm_weights", text);
}

/* Add a number named "at.N" for each group N: the place in the group where this
 * rank's part of the moments begins. */
static void
put_part(struct st_out *o, const struct tmodel *t, const struct adamw *a)
{
    char name[32];

    for (size_t i = 0; i < t->ngroup; i++) {
        snprintf(name, sizeof(name), "at.%zu", i);
        st_out_number(o, name, adamw_part(a, i)[adamw_rank(a)]);
    }
}

/* Write the states of every group, or this rank's parts, as m.N, v.N, e.N. */
static int
write_optimiser(const char *file, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, struct err *e)
{
    struct st_out o = { 0 };
    const int kinds = adamw_kinds(a);
    char name[32];
    int r;

    st_out_begin(&o);
    st_out_meta(&o, "kind", "optimiser");
    st_out_meta(&o, "kernels", kern_name());
    st_out_number(&o, "count", adamw_count(a));
    st_out_number(&o, "step", st->step);
    st_out_number(&o, "tokens", st->tokens);
    if (st->judged > 0)
        put_judged(&o, st);
    if (st->weights > 0.0)
        put_norms(&o, st);
    st_out_meta(&o, "moments", dtype_name(adamw_dtype(a)));
    if (adamw_in_parts(a))
        put_part(&o, t, a);
    for (size_t i = 0; i < t->ngroup; i++)
        for (int k = 0; k < kinds; k++) {
            const size_t n = adamw_own(a, i);

            snprintf(name, sizeof(name), "%c.%zu", MOMENT_LETTERS[k], i);
            st_out_tensor(&o, name, adamw_kind_dtype(a, k), 1, &n,
                adamw_moment(a, i, k));
        }
    st_out_end(&o);
    r = st_out_save(&o, file, e);
    st_out_release(&o);
    return r;
}

static int
write_weights(const struct model *m, const char *dir, struct err *e)
{
    return weights_write(m, dir, DT_F32, WEIGHTS_SHARD, e);
}

/* Write all weights into `dir`; dir NULL: send them to the rank that writes. */
static int
fetch_weights(const struct saver *s, struct tmodel *t, const char *dir,
    struct err *e)
{
    const struct fetch *const before = t->m.fetch;
    int r = 0;

    t->m.fetch = s->fetch;
    if (dir != NULL)
        r = write_weights(&t->m, dir, e);
    else
        fetch_each(&t->m);
    t->m.fetch = before;
    return r;
}

/* Write config.json and generation_config.json into `dir`, where the tokenizer
 * is. */
static int
write_configs(const struct tmodel *t, const char *dir, struct err *e)
{
    char *config = xasprintf("%s/config.json", dir);
    char *gen = xasprintf("%s/generation_config.json", dir);
    int r = model_write_generation(&t->m, gen, e);

    if (r == 0)
        r = model_write_config(&t->m, config, e);
    free(gen);
    free(config);
    return r;
}

static void
set_flag(struct saver *s, int *what)
{
    pthread_mutex_lock(&s->lock);
    *what = 1;
    pthread_cond_signal(&s->change);
    pthread_mutex_unlock(&s->lock);
}

/* Remove the folders RUN/best-N with N < step. */
static void
remove_old_best(const char *run, uint64_t step)
{
    struct dir_list l;
    uint64_t n;

    if (dir_list(run, &l, NULL) < 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        if (sscanf(l.name[i], "best-%" SCNu64, &n) == 1 && n < step) {
            char *path = xasprintf("%s/best-%" PRIu64, run, n);

            if (strcmp(path + strlen(run) + 1, l.name[i]) == 0)
                dir_remove(path, NULL);
            free(path);
        }
    }
    dir_list_release(&l);
}

int
save_best(const char *run, uint64_t step, struct err *e)
{
    char *to = xasprintf("%s/best-%" PRIu64, run, step);
    char *link = xasprintf("%s/best", run), *tmp = xasprintf("%s.tmp", link);
    int r = 0;

    if (!io_is_dir(to)) {
        free(to);
        to = xasprintf("%s/step-%" PRIu64, run, step);
    }
    if (dist_world()->rank == 0 && io_is_dir(to)) {
        if (symlink(to + strlen(run) + 1, tmp) < 0 || rename(tmp, link) < 0)
            r = err_set(e, EX_SYS, "%s:", link);
        else
            r = io_fsync_dir(run, e);
        if (r == 0)
            remove_old_best(run, step);
    }
    free(to);
    free(link);
    free(tmp);
    return r;
}

/* Write the model with its effective weights, or the adapter, into `dir`;
 * config.json last. */
static int
write_result(const struct saver *s, struct tmodel *t, const char *dir,
    struct err *e)
{
    if (t->adapter != NULL)
        return adapter_save(t->adapter, &t->m, dir, e);
    return fetch_weights(s, t, dir, e) < 0 || write_configs(t, dir, e) < 0 ? -1
                                                                           : 0;
}

int
save_evaluated(struct saver *s, struct tmodel *t, uint64_t step, struct err *e)
{
    char *path = xasprintf("%s/best-%" PRIu64, s->run, step);
    struct dir_new d;
    int r = 0;

    if (s->ranks->rank > 0) {
        free(path);
        return fetch_weights(s, t, NULL, e);
    }
    watch_busy(1);
    if (io_exists(path)) /* the run was resumed from an earlier step */
        r = dir_remove(path, e);
    if (r == 0 && (r = dir_new_begin(&d, path, e)) == 0) {
        if (s->tokenizer)
            r = tokenizer_copy(s->run, d.tmp, e);
        if (r == 0 && (r = write_result(s, t, d.tmp, e)) == 0)
            r = dir_new_commit(&d, e);
        if (r < 0)
            dir_new_abort(&d);
    }
    watch_busy(-1);
    free(path);
    return r;
}

/* Does each rank write moments, a part of them or its own? */
static int
by_ranks(const struct saver *s)
{
    return adamw_in_parts(s->a) || (s->outer != NULL && s->ranks->n > 1);
}

static int
write_moments(const struct saver *s, const char *dir, struct err *e)
{
    char *file = by_ranks(s) ? xasprintf("%s/%s-%zu-of-%zu.safetensors", dir,
                                   s->outer != NULL ? "rank" : "optimiser",
                                   s->ranks->rank, s->ranks->n)
                             : xasprintf("%s/optimiser.safetensors", dir);
    const int r = write_optimiser(file, s->t, s->a, &s->st, e);

    free(file);
    return r;
}

/* Write the velocity of the ranks' outer step, if there is one. */
static int
write_velocity(const struct saver *s, const char *dir, struct err *e)
{
    struct st_out o = { 0 };
    char name[32], *file;
    int r;

    if (s->outer == NULL || outer_velocity(s->outer, 0) == NULL)
        return 0;
    file = xasprintf("%s/outer.safetensors", dir);
    st_out_begin(&o);
    st_out_meta(&o, "kind", "outer");
    for (size_t i = 0; i < s->t->ngroup; i++) {
        snprintf(name, sizeof name, "u.%zu", i);
        st_out_tensor(&o, name, DT_F32, 1, &s->t->group[i].n,
            outer_velocity(s->outer, i));
    }
    st_out_end(&o);
    r = st_out_save(&o, file, e);
    st_out_release(&o);
    free(file);
    return r;
}

/* Write this rank's part of the moments, or its own, into the folder that rank
 * 0 makes.
 * Rank 0 writes the weights too, if some must be fetched from other ranks.
 * Returns -1 on all ranks if one of them cannot write. */
static int
write_rank_parts(struct saver *s, struct err *e)
{
    char dir[4096] = "";
    int *all = xcalloc(s->ranks->n, sizeof(*all)), r = 0, any = 0;

    if (s->ranks->rank == 0)
        r = ckpt_begin(&s->dir, s->run, s->st.step, e);
    if (s->ranks->rank == 0 && r == 0)
        snprintf(dir, sizeof(dir), "%s", s->dir.tmp);
    dist_broadcast(s->ranks, dir, sizeof(dir), 0);
    if (r == 0 && *dir != '\0')
        r = write_moments(s, dir, e);
    if (s->fetch != NULL && s->ranks->rank == 0 && r == 0)
        r = fetch_weights(s, s->t, dir, e);
    else
        fetch_weights(s, s->t, NULL, e);
    all[s->ranks->rank] = r < 0;
    dist_all_gather_one(s->ranks, all, sizeof(*all));
    for (size_t i = 0; i < s->ranks->n; i++)
        any |= all[i];
    free(all);
    if (any && s->ranks->rank == 0 && *dir != '\0')
        dir_new_abort(&s->dir);
    return !any || r < 0 ? r : err_set(e, EX_SYS, "another rank cannot save");
}

static int
write_checkpoint(struct saver *s, struct dir_new *d, struct err *e)
{
    int r = by_ranks(s) ? 0 : write_moments(s, d->tmp, e);
    struct model m;
    char *file;

    if (r == 0)
        r = write_velocity(s, d->tmp, e);
    if (r == 0 && tmodel_mask_bytes(s->t) > 0) {
        file = xasprintf("%s/masks.safetensors", d->tmp);
        r = save_masks(file, s->t, e);
        free(file);
    }
    if (r == 0 && s->t->adapter != NULL) {
        r = adapter_save(s->t->adapter, &s->t->m, d->tmp, e);
    } else if (r == 0 && s->fetch == NULL) {
        effective_master(s->t, &m);
        r = write_weights(&m, d->tmp, e);
        free(m.block);
    }
    set_flag(s, &s->written);
    if (r == 0)
        r = s->tokenizer ? tokenizer_copy(s->run, d->tmp, e) : 0;
    if (r == 0 && s->t->adapter == NULL)
        r = write_configs(s->t, d->tmp, e);
    if (r == 0)
        r = ckpt_commit(d, s->run, s->st.step, &s->at,
            s->st.best > 0 ? 0 : s->keep, e);
    if (r < 0 || s->st.best == 0)
        return r;
    /* RUN/best must point to a new best checkpoint before the old best is
     * removed. */
    if (s->st.best == s->st.step && save_best(s->run, s->st.best, e) < 0)
        return -1;
    return s->keep > 0
        ? ckpt_remove_old(s->run, s->st.step, s->keep, s->st.best, e)
        : 0;
}

static void *
save_thread(void *arg)
{
    struct saver *s = arg;
    const double t = clock_now();
    if (!by_ranks(s))
        s->result = ckpt_begin(&s->dir, s->run, s->st.step, &s->e);
    if (s->result == 0 && (s->result = write_checkpoint(s, &s->dir, &s->e)) < 0)
        dir_new_abort(&s->dir);
    timeline_add("save", "checkpoint", t);
    watch_busy(-1);
    set_flag(s, &s->over);
    return NULL;
}

/* Begin a checkpoint.  The caller has called watch_busy(1); the thread that
 * writes calls watch_busy(-1). */
static int
begin_checkpoint(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e)
{
    if (save_done(s, e) < 0)
        return -1;
    s->t = t;
    s->a = a;
    s->st = *st;
    s->result = 0;
    if (by_ranks(s) && write_rank_parts(s, e) < 0)
        return -1;
    if (s->ranks->rank > 0)
        return 0;
    s->at = *p;
    s->at.cursor = p->cursor != NULL ? xstrdup(p->cursor) : NULL;
    s->written = s->over = 0;
    s->running = thread_start(&s->thread, save_thread, s) == 0;
    return s->running ? 0 : err_set(e, EX_SYS, "cannot start a thread");
}

int
save_begin(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e)
{
    int r;

    watch_busy(1);
    r = begin_checkpoint(s, t, a, st, p, e);
    if (!s->running)
        watch_busy(-1);
    return r;
}

int
save_written(struct saver *s, struct err *e)
{
    int over;

    if (!s->running)
        return 0;
    pthread_mutex_lock(&s->lock);
    while (!s->written && !s->over)
        pthread_cond_wait(&s->change, &s->lock);
    over = s->over;
    pthread_mutex_unlock(&s->lock);
    return over ? save_done(s, e) : 0;
}

int
save_done(struct saver *s, struct err *e)
{
    if (!s->running)
        return 0;
    pthread_join(s->thread, NULL);
    s->running = 0;
    position_release(&s->at);
    if (s->result < 0)
        *e = s->e;
    return s->result;
}

int
save_final(struct saver *s, struct tmodel *t, struct err *e)
{
    char *config;
    int r = 0;

    effective_end(t);
    if (s->ranks->rank > 0)
        return fetch_weights(s, t, NULL, e);
    watch_busy(1);
    config = xasprintf("%s/%s", s->run,
        t->adapter != NULL ? "adapter_config.json" : "config.json");
    /* config.json is written last and says that the folder is complete; an
     * earlier run of fewer steps may have left one */
    unlink(config);
    r = write_result(s, t, s->run, e);
    if (r == 0)
        r = io_fsync_dir(s->run, e);
    free(config);
    watch_busy(-1);
    return r;
}

/* Copy the head of a log and its lines up to `step` to *out.  Returns the last
 * step copied; 0: there is none. */
static uint64_t
keep_lines(const char *text, uint64_t step, struct buf *out)
{
    uint64_t last = 0;

    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        const uint64_t at = line != text ? strtoull(line, NULL, 10) : 0;

        if (end == NULL || at > step) /* incomplete, or a later step */
            break;
        buf_add(out, line, (size_t)(end + 1 - line));
        last = at;
        line = end + 1;
    }
    return last;
}

FILE *
log_open(const char *run, const char *name, const char *head, uint64_t step,
    uint64_t *last)
{
    char *path = xasprintf("%s/%s", run, name), *text = NULL;
    struct buf kept = { 0 };
    struct err e;
    FILE *f;
    size_t n;

    *last = 0;
    if (dist_world()->rank > 0) {
        free(path);
        *last = step;
        path = xstrdup("/dev/null");
    } else if (step > 0 && io_exists(path)) {
        if (io_slurp(path, SIZE_MAX, &text, &n, &e) < 0)
            die_err(&e);
        *last = keep_lines(text, step, &kept);
    }
    if (kept.n == 0)
        buf_adds(&kept, head);
    if (dist_world()->rank == 0 && io_put_file(path, kept.p, kept.n, &e) < 0)
        die_err(&e);
    f = fopen(path, "a");
    if (f == NULL)
        die(EX_SYS, "%s:", path);
    buf_release(&kept);
    free(text);
    free(path);
    return f;
}

void
metrics_open(struct saver *s, const char *columns, uint64_t step)
{
    char *head =
        xasprintf("step\ttokens\tscored\tloss\t%slr\tnorm\tseconds\n", columns);
    uint64_t last;

    s->log = log_open(s->run, "metrics.tsv", head, step, &last);
    free(head);
    if (last < step)
        warn("%s/metrics.tsv: the lines of steps %" PRIu64 " to %" PRIu64
             " are missing; it goes on with step %" PRIu64,
            s->run, last + 1, step, step + 1);
    s->logged = clock_now();
}

int
metrics_line(struct saver *s, const struct progress_state *st, size_t scored,
    double loss, const struct buf *values, double lr, double norm,
    double seconds, struct err *e)
{
    fprintf(s->log, "%" PRIu64 "\t%" PRIu64 "\t%zu\t%.9g\t%s%.9g\t%.9g\t%.3f\n",
        st->step, st->tokens, scored, loss, values->n > 0 ? values->p : "", lr,
        norm, seconds);
    if (fflush(s->log) != 0)
        return err_set(e, EX_SYS, "%s/metrics.tsv:", s->run);
    return 0;
}

double
metrics_time(struct saver *s)
{
    const double now = clock_now(), seconds = now - s->logged;

    watch_step(seconds);
    s->logged = now;
    return seconds;
}
