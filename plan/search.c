/* plan search: the fastest layouts that fit into memory. */
#include "search.h"
#include "commands.h"
#include "request.h"
#include "predict.h"
#include "table.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Keys that the search varies, the outermost loop first.  `tensor` takes the
 * divisors of a node's devices, `pipeline` and `context` those of the ranks
 * left, `expert` those of the experts, and `micro` those of a replica's rows.
 * `virtual`, `shard` and `recompute` take all their values.  Layouts for which
 * job_check returns an error are left out.  `sequence`, the last one, is not
 * varied: it is yes if there are several tensor ranks. */
const char *const search_keys[] = { "tensor", "pipeline", "virtual", "context",
    "expert", "shard", "recompute", "micro", "sequence", NULL };
enum { VARIED = sizeof search_keys / sizeof *search_keys - 2 };

struct found {
    struct job j;
    double step, memory;
};
struct search {
    int set[VARIED];    /* 1: an operand sets the key */
    int sequence;       /* 1: an operand sets the key "sequence" */
    struct found *best; /* [n] layouts that fit, the fastest first */
    size_t n, room;     /* layouts kept, and the most to keep */
    size_t tried;       /* layouts predicted */
    struct job least;   /* layout with the least memory, if tried > 0 */
    double least_bytes; /* memory of `least` */
};

/* Is a layout known that takes the same time and memory?  Such layouts differ
 * only in keys without effect. */
static int
layout_known(const struct search *s, double step, double memory)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->best[i].step == step && s->best[i].memory == memory)
            return 1;
    return 0;
}

static void
keep_layout(struct search *s, const struct job *j)
{
    struct figures f;
    double step, memory;
    size_t at;

    predict(&f, j);
    step = figure_of(&f, "step");
    memory = figure_of(&f, "memory");
    if (s->tried++ == 0 || memory < s->least_bytes) {
        s->least = *j;
        s->least_bytes = memory;
    }
    if (!(memory <= 1e9 * j->m.memory_gb) || layout_known(s, step, memory))
        return;
    for (at = s->n; at > 0 && step < s->best[at - 1].step; at--)
        if (at < s->room)
            s->best[at] = s->best[at - 1];
    if (at < s->room)
        s->best[at] = (struct found){ *j, step, memory };
    s->n += s->n < s->room;
}

/* Set *most to the largest value of varied key k.  Returns the number whose
 * divisors up to *most are its values; 0: all whole numbers up to *most are. */
static double
divided_by_key(const struct job *j, size_t k, double *most)
{
    const struct shape *m = &j->student;
    const char *name = search_keys[k];

    *most = 64.0;
    if (strcmp(name, "tensor") == 0)
        return *most = j->m.devices;
    if (strcmp(name, "pipeline") == 0) {
        *most = m->L;
        return job_world(j) / j->tensor;
    }
    if (strcmp(name, "context") == 0) {
        *most = fmin(64.0, floor(fmax(1.0, j->length / 4096.0)));
        return job_world(j) / (j->tensor * j->pipeline);
    }
    if (strcmp(name, "expert") == 0)
        return *most = fmax(1.0, m->experts);
    if (strcmp(name, "micro") == 0)
        return j->batch / job_data(j);
    *most = strcmp(name, "shard") == 0   ? 3.0
        : strcmp(name, "recompute") == 0 ? 3.0
        : j->pipeline == 1.0             ? 1.0
                                         : fmin(8.0, m->L / j->pipeline);
    return 0.0;
}

/* Next value of varied key k after v; v < 0: its first value.  -1: v is the
 * last one. */
static double
next_value(const struct job *j, size_t k, double v)
{
    double most, n = divided_by_key(j, k, &most);

    if (v < 0.0)
        return job_key(search_keys[k])->lo;
    do
        v += 1.0;
    while (v <= most && n > 0.0 && fmod(n, v) > 0.0);
    return v <= most ? v : -1.0;
}

static void
vary_key(struct search *s, struct job *j, size_t k)
{
    const struct key *key = k < VARIED ? job_key(search_keys[k]) : NULL;

    if (key == NULL) {
        if (!s->sequence)
            j->sequence = j->tensor > 1.0;
        if (job_check(j, NULL) == 0)
            keep_layout(s, j);
        return;
    }
    if (s->set[k]) {
        vary_key(s, j, k + 1);
        return;
    }
    for (double v = next_value(j, k, -1.0); v >= 0.0; v = next_value(j, k, v)) {
        *job_value(j, key) = v;
        vary_key(s, j, k + 1);
    }
}

/* Add the cells of a job's figures f to *t; f NULL: add their names. */
static void
add_shown(struct table *t, const struct job *j, const struct figures *f,
    int format)
{
    sweep_columns(t,
        "memory,full,likely.memory.high,step,speed,mfu,bubble,exposed,"
        "likely.step.low,likely.step.high",
        f, format);
    if (j->tokens > 0.0)
        sweep_columns(t, "run.days", f, format);
    if (j->tokens > 0.0 && j->price > 0.0)
        sweep_columns(t, "run.cost", f, format);
}

/* Add the names of the columns to *t.  nodes 1: the first column has the number
 * of nodes. */
static void
begin_layouts(struct table *t, const struct job *j, int nodes)
{
    if (nodes)
        table_add(t, "nodes");
    for (size_t k = 0; search_keys[k] != NULL; k++)
        table_add(t, search_keys[k]);
    add_shown(t, j, NULL, 0);
    t->ncol = t->n;
}

/* Add a row to *t for each layout that the search found; nodes as above. */
static void
add_layouts(struct table *t, const struct search *s, int nodes, int format)
{
    struct buf cell = { 0 };
    struct figures f;

    for (size_t r = 0; r < s->n; r++) {
        const struct job *j = &s->best[r].j;

        if (nodes) {
            buf_addf(&cell, "%.0f", j->nodes);
            table_add_buf(t, &cell);
        }
        for (size_t k = 0; search_keys[k] != NULL; k++) {
            job_put(&cell, j, job_key(search_keys[k]));
            table_add_buf(t, &cell);
        }
        predict(&f, j);
        add_shown(t, j, &f, format);
    }
    buf_release(&cell);
}

/* Append the keys of a layout and their values. */
static void
put_varied(struct buf *b, const struct job *j)
{
    for (size_t k = 0; search_keys[k] != NULL; k++) {
        buf_addf(b, " %s=", search_keys[k]);
        job_put(b, j, job_key(search_keys[k]));
    }
}

/* Append what would fit: a larger device, and other values of keys that
 * operands set or, if none helps, more nodes. */
static void
describe_remedy(struct buf *b, const struct search *s, struct job j)
{
    struct found best;
    struct search all = { .best = &best, .room = 1, .sequence = s->sequence };

    buf_addf(b, "; what fits is a device of %.0f GB",
        ceil(s->least_bytes * 1e-9));
    vary_key(&all, &j, 0);
    if (all.n > 0) {
        buf_addf(b, ", or these values:");
        put_varied(b, &best.j);
        return;
    }
    for (int i = 0; i < 6 && all.n == 0; i++) {
        j.nodes *= 2.0;
        vary_key(&all, &j, 0);
    }
    if (all.n > 0)
        buf_addf(b, ", or nodes=%.0f", j.nodes);
}

/* Die: say why no layout fits, and what would fit. */
static void
refuse_search(struct search *s, const struct job *j)
{
    struct buf b = { 0 };

    if (s->tried == 0)
        die(EX_USAGE,
            "no layout divides %.0f rows among %.0f ranks: set another -B or "
            "nodes",
            j->batch, job_world(j));
    buf_addf(&b, "no layout fits: the least memory is %.1f of %.4g GB, by",
        s->least_bytes * 1e-9, j->m.memory_gb);
    put_varied(&b, &s->least);
    describe_remedy(&b, s, *j);
    die(EX_SYS, "%s", b.p);
}

/* Search from j on for layouts, with the keys that operands name as they are.
 * Returns the search, whose best [room] the caller frees. */
static struct search
run_search(struct job j, const struct ranges *r, size_t room)
{
    struct search s = { .best = xcalloc(room, sizeof *s.best), .room = room };

    for (size_t i = 0; i < r->n; i++) {
        s.sequence |= strcmp(r->v[i].key->name, "sequence") == 0;
        for (size_t k = 0; k < VARIED; k++)
            s.set[k] |= strcmp(r->v[i].key->name, search_keys[k]) == 0;
    }
    vary_key(&s, &j, 0);
    return s;
}

void
search_fastest(struct job *j, const struct ranges *r)
{
    struct search s = run_search(*j, r, 1);

    if (s.n == 0)
        refuse_search(&s, j);
    *j = s.best->j;
    free(s.best);
}

/* Print notes on the first layout: its keys, why its prediction may be wrong,
 * and whether it may need more memory than there is. */
static void
note_first(const struct search *s)
{
    const struct job *j = &s->best->j;
    struct figures f;
    struct buf b = { 0 };
    double most;

    put_varied(&b, j);
    note("%zu layouts were tried; plan cluster takes the first as%s", s->tried,
        b.p);
    buf_release(&b);
    interval_note(j);
    predict(&f, j);
    most = figure_of(&f, "likely.memory.high");
    if (most > 1e9 * j->m.memory_gb)
        note("the first may not fit: up to %.1f of %.4g GB are likely",
            1e-9 * most, j->m.memory_gb);
}

/* Search and print layouts, for each number of nodes if r has several of them,
 * else for that of *j.  Dies if no layout fits. */
static void
print_layouts(struct job *j, const struct ranges *r, size_t room, int format)
{
    const struct key *swept = ranges_swept(r);
    const struct range *nodes = r->v;
    struct table t = { 0 };
    struct buf b = { 0 };
    struct search s;

    while (swept != NULL && nodes->key != swept)
        nodes++;
    begin_layouts(&t, j, swept != NULL);
    for (size_t i = 0; i < (swept != NULL ? nodes->n : 1); i++) {
        if (swept != NULL)
            ranges_set(j, r, nodes->n, i);
        s = run_search(*j, r, room);
        if (s.n == 0 && t.n == t.ncol && (swept == NULL || i + 1 == nodes->n))
            refuse_search(&s, j);
        if (s.n == 0)
            note("nodes=%.0f: no layout fits", j->nodes);
        add_layouts(&t, &s, swept != NULL, format);
        if (swept == NULL)
            note_first(&s);
        free(s.best);
    }
    table_put(&b, &t, format);
    out_put(b.p, b.n);
    table_release(&t);
    buf_release(&b);
}

int
search_main(int argc, char **argv)
{
    static struct request in = REQUEST_DEFAULTS;
    static size_t room = 5;
    const struct opt options[] = { REQUEST_MACHINE(&in), REQUEST_ANCHOR(&in),
        REQUEST_MODELS(&in, REQUEST_SHAPE), REQUEST_TOKENS(&in),
        OPT_SIZE(0, "layouts", &room, 1, 1000, "n",
            "number of layouts to print"),
        OPT_FORMAT(&in.format, table_formats), OPT_END };
    struct ranges r;
    struct job j;
    int n;
    char **operand = opt_parse(argc, argv, options,
        "print the fastest layouts that fit into memory", "[key=value ...]", 0,
        -1, &n);

    request_check(&in, 1);
    request_job(&j, &in, &r, operand, (size_t)n);
    for (size_t i = 0; i < r.n; i++)
        if (r.v[i].n > 1 && strcmp(r.v[i].key->name, "nodes") != 0)
            die(EX_USAGE, "%s: give the key one value, or use plan cluster",
                r.v[i].key->name);
    request_shapes(&j, &in);
    request_note(&j, &in, &r);
    print_layouts(&j, &r, room, in.format);
    ranges_free(&r);
    out_done();
    return 0;
}
