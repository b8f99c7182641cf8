/*
 * Hessians to a file, behind the computation: slots, each with room for the
 * Hessians of a block, go round between the caller, who fills them, and a
 * thread, which writes them in order.  The thread touches nothing of the file
 * before the first slot is full, and the caller nothing after it.
 */
#include "profile.h"
#include "base/mem.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct hess_out {
    struct io_out file;
    size_t *floats; /* [L] of each block */
    size_t L, slots, room;
    float **slot; /* [slots] of room floats */
    size_t taken; /* blocks that the caller has begun */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    /* under lock */
    size_t full, written; /* blocks */
    int failed, stop;
    struct err e; /* why failed */
};

size_t
hess_floats(const size_t *n)
{
    size_t floats = 0;

    for (size_t i = 0; i < FWD_INPUTS; i++)
        floats += n[i] * n[i];
    return floats;
}

/* The header: all shapes are known before. */
static int
put_header(struct hess_out *o, const size_t *width, struct err *e)
{
    struct st_out st = { 0 };
    int r;

    st_out_begin(&st);
    for (size_t i = 0; i < o->L * FWD_INPUTS; i++) {
        const size_t shape[] = { width[i], width[i] };
        char name[64];

        snprintf(name, sizeof name, "%zu.%s", i / FWD_INPUTS,
            profile_inputs[i % FWD_INPUTS]);
        if (width[i] > 0)
            st_out_tensor(&st, name, DT_F32, 2, shape, NULL);
    }
    st_out_end(&st);
    r = io_out_write(&o->file, st.head.p, st.head.n, e);
    st_out_release(&st);
    return r;
}

/* The next block's number when it is full; L: there is none left. */
static size_t
wait_full(struct hess_out *o)
{
    size_t i;

    pthread_mutex_lock(&o->lock);
    while (o->written == o->full && !o->stop)
        pthread_cond_wait(&o->turn, &o->lock);
    i = o->written < o->full ? o->written : o->L;
    pthread_mutex_unlock(&o->lock);
    return i;
}

static void *
write_blocks(void *arg)
{
    struct hess_out *o = arg;
    size_t i;

    while ((i = wait_full(o)) < o->L) {
        struct err e;
        const int r = io_out_write(&o->file, o->slot[i % o->slots],
            o->floats[i] * sizeof(float), &e);

        pthread_mutex_lock(&o->lock);
        o->written++;
        if (r < 0 && !o->failed) {
            o->failed = 1;
            o->e = e;
        }
        pthread_cond_broadcast(&o->turn);
        pthread_mutex_unlock(&o->lock);
        if (r < 0)
            break;
    }
    return NULL;
}

static void
release(struct hess_out *o)
{
    for (size_t i = 0; i < o->slots; i++)
        free(o->slot[i]);
    free(o->slot);
    free(o->floats);
    pthread_mutex_destroy(&o->lock);
    pthread_cond_destroy(&o->turn);
    free(o);
}

struct hess_out *
hess_out_new(const char *path, const size_t *width, size_t L, size_t slots,
    struct err *e)
{
    struct hess_out *o = xcalloc(1, sizeof *o);

    o->L = L;
    o->slots = slots;
    o->floats = xcalloc(L, sizeof *o->floats);
    o->slot = xcalloc(slots, sizeof *o->slot);
    for (size_t i = 0; i < L; i++) {
        o->floats[i] = hess_floats(width + i * FWD_INPUTS);
        o->room = o->floats[i] > o->room ? o->floats[i] : o->room;
    }
    for (size_t i = 0; i < slots; i++)
        o->slot[i] = xreallocarray(NULL, o->room, sizeof(float));
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->turn, NULL);
    if (io_out_begin(&o->file, path, e) < 0 || put_header(o, width, e) < 0 ||
        (thread_start(&o->thread, write_blocks, o) < 0 &&
            err_set(e, EX_SYS, "a thread to write %s cannot be made:", path))) {
        io_out_abort(&o->file);
        release(o);
        return NULL;
    }
    return o;
}

float *
hess_out_take(struct hess_out *o, struct err *e)
{
    float *h = o->slot[o->taken % o->slots];
    int failed;

    pthread_mutex_lock(&o->lock);
    while (o->taken - o->written >= o->slots && !o->failed)
        pthread_cond_wait(&o->turn, &o->lock);
    failed = o->failed;
    if (failed)
        *e = o->e;
    pthread_mutex_unlock(&o->lock);
    if (failed)
        return NULL;
    memset(h, 0, o->floats[o->taken++] * sizeof *h);
    return h;
}

void
hess_out_give(struct hess_out *o)
{
    pthread_mutex_lock(&o->lock);
    o->full++;
    pthread_cond_broadcast(&o->turn);
    pthread_mutex_unlock(&o->lock);
}

int
hess_out_end(struct hess_out *o, struct err *e)
{
    int r;

    pthread_mutex_lock(&o->lock);
    o->stop = 1;
    pthread_cond_broadcast(&o->turn);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    r = o->failed ? -1 : 0;
    if (r < 0)
        *e = o->e;
    else
        r = io_out_commit(&o->file, e);
    if (r < 0)
        io_out_abort(&o->file);
    release(o);
    return r;
}
