/* Charts of pruning: see pruning.h */
#include "pruning.h"
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 6, LAYERS = 7, MAP = 64, BLOCKS = 4096 };

/* ---- the search ---- */

/* Trials of a kind on all tokens, in their order. */
struct kind {
    const char *name;
    double *tried, *best; /* [n] 1, 2, ...; least objective so far */
    double *size, *value; /* [n] million parameters; objective */
    size_t n;
};

struct trials {
    struct kind kind[KINDS];
    size_t nkind;
};

/* How many tokens a trial was scored on that counts: with successive halving
 * others had fewer, so their figures are of other data. */
static double
most_tokens(const struct table *t)
{
    const size_t c = table_column(t, "tokens");
    double most = 0.0;

    for (size_t i = 0; i < t->nrow; i++)
        most = fmax(most, table_real(t, i, c));
    return most;
}

static struct kind *
kind_of(struct trials *k, const char *name, size_t room)
{
    struct kind *n;

    for (size_t i = 0; i < k->nkind; i++)
        if (strcmp(k->kind[i].name, name) == 0)
            return &k->kind[i];
    if (k->nkind == KINDS)
        return NULL;
    n = &k->kind[k->nkind++];
    n->name = name;
    n->tried = xreallocarray(NULL, 4 * room, sizeof *n->tried);
    n->best = n->tried + room;
    n->size = n->best + room;
    n->value = n->size + room;
    return n;
}

static void
gather(struct trials *k, const struct table *t)
{
    const size_t kind = table_column(t, "kind");
    const size_t params = table_column(t, "params");
    const size_t objective = table_column(t, "objective");
    const size_t tokens = table_column(t, "tokens");
    const size_t taken = table_column(t, "taken");
    const double all = most_tokens(t);

    for (size_t i = 0; i < t->nrow; i++) {
        const double v = table_real(t, i, objective);
        struct kind *n;

        /* A line that says that a trial was taken repeats it. */
        if (table_real(t, i, tokens) < all || !isfinite(v) ||
            table_real(t, i, taken) == 1.0 ||
            (n = kind_of(k, table_cell(t, i, kind), t->nrow)) == NULL)
            continue;
        n->tried[n->n] = (double)n->n + 1.0;
        n->best[n->n] = n->n > 0 ? fmin(v, n->best[n->n - 1]) : v;
        n->size[n->n] = 1e-6 * table_real(t, i, params);
        n->value[n->n++] = v;
    }
}

static void
search_path(struct buf *b, const struct trials *k)
{
    struct series s[KINDS];
    struct chart c = { .id = "search-path",
        .title = "The search",
        .note = "Least objective so far of each kind of trial.",
        .x = "configurations of that kind scored",
        .y = "KL + weighted loss, nats a token",
        .plain = 1,
        .s = s };

    for (size_t i = 0; i < k->nkind; i++)
        if (k->kind[i].n > 1)
            s[c.ns++] = (struct series){ .name = k->kind[i].name,
                .colour = i,
                .x = k->kind[i].tried,
                .y = k->kind[i].best,
                .n = k->kind[i].n };
    chart_lines(b, &c);
}

static int
smaller_first(const void *x, const void *y)
{
    const double *a = x, *b = y;

    return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0])
                        : (a[1] > b[1]) - (a[1] < b[1]);
}

/* The front: trials that no other beats in size and objective both, by size,
 * into x and y. */
static size_t
front(const struct trials *k, double *x, double *y)
{
    double(*p)[2], least = INFINITY;
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < k->nkind; i++)
        n += k->kind[i].n;
    p = xreallocarray(NULL, n, sizeof *p);
    n = 0;
    for (size_t i = 0; i < k->nkind; i++)
        for (size_t j = 0; j < k->kind[i].n; j++, n++) {
            p[n][0] = k->kind[i].size[j];
            p[n][1] = k->kind[i].value[j];
        }
    qsort(p, n, sizeof *p, smaller_first);
    for (size_t i = 0; i < n; i++)
        if (p[i][1] < least) {
            least = p[i][1];
            x[kept] = p[i][0];
            y[kept++] = p[i][1];
        }
    free(p);
    return kept;
}

static void
search_front(struct buf *b, const struct trials *k, size_t room)
{
    double *x = xreallocarray(NULL, 2 * room + 1, sizeof *x), *y = x + room;
    struct series s[KINDS + 1];
    struct chart c = { .id = "search-front",
        .title = "Size against quality",
        .note = "Every configuration scored; the line joins those that no "
                "other beats in both.",
        .x = "million parameters",
        .y = "KL + weighted loss, nats a token",
        .plain = 1,
        .s = s };

    for (size_t i = 0; i < k->nkind; i++)
        s[c.ns++] = (struct series){ .name = k->kind[i].name,
            .colour = i,
            .x = k->kind[i].size,
            .y = k->kind[i].value,
            .n = k->kind[i].n,
            .points = 1 };
    s[c.ns++] =
        (struct series){ .name = "front", .x = x, .y = y, .n = front(k, x, y) };
    chart_lines(b, &c);
    free(x);
}

static void
search(struct buf *b, const struct table *t)
{
    struct trials k = { .nkind = 0 };

    gather(&k, t);
    search_path(b, &k);
    search_front(b, &k, t->nrow);
    for (size_t i = 0; i < k.nkind; i++)
        free(k.kind[i].tried);
}

/* ---- the model inside ---- */

static double *
column(const struct table *t, const char *name)
{
    const size_t c = table_column(t, name);
    double *v = xreallocarray(NULL, t->nrow + 1, sizeof *v);

    for (size_t i = 0; i < t->nrow; i++)
        v[i] = table_real(t, i, c);
    return v;
}

static void
influence(struct buf *b, const struct table *t)
{
    static const char *const name[] = { "influence", "attention", "mlp" };
    double *block = column(t, "block"), *y[3];
    struct series s[3];
    const struct chart c = { .id = "influence",
        .title = "What a block changes",
        .note = "1 - cos(before, after), of the block and of its two parts.",
        .x = "block",
        .y = "1 - cos",
        .plain = 1,
        .s = s,
        .ns = 3 };

    for (size_t i = 0; i < 3; i++) {
        y[i] = column(t, name[i]);
        s[i] = (struct series){ .name = i == 0 ? "block" : name[i],
            .colour = i,
            .x = block,
            .y = y[i],
            .n = t->nrow };
    }
    chart_lines(b, &c);
    for (size_t i = 0; i < 3; i++)
        free(y[i]);
    free(block);
}

/* Columns of a profile's channels.tsv. */
struct channels {
    const struct table *t;
    size_t block, input, channel, class, max, square;
};

/* Is line i of that input, of tokens behind the first?  Then block and channel,
 * which are what they can be. */
static int
is_line(const struct channels *c, size_t i, const char *input, size_t *block,
    size_t *channel)
{
    const double b = table_real(c->t, i, c->block);
    const double k = table_real(c->t, i, c->channel);

    if (strcmp(table_cell(c->t, i, c->class), "rest") != 0 ||
        strcmp(table_cell(c->t, i, c->input), input) != 0 ||
        !(b >= 0.0 && b < BLOCKS && k >= 0.0 && k < 1e9))
        return 0;
    *block = (size_t)b;
    *channel = (size_t)k;
    return 1;
}

/* For each of MAP parts of a block's channels the largest activation over the
 * input's root mean square, on a scale of decades: 1 is a thousand times. */
static void
fill_map(const struct channels *c, const char *input, size_t blocks, size_t n,
    double *map)
{
    double *square = xcalloc(blocks, sizeof *square);
    size_t *width = xcalloc(blocks, sizeof *width), b, k;

    for (size_t i = 0; i < c->t->nrow; i++)
        if (is_line(c, i, input, &b, &k)) {
            square[b] += table_real(c->t, i, c->square);
            width[b]++;
        }
    for (size_t i = 0; i < c->t->nrow; i++)
        if (is_line(c, i, input, &b, &k)) {
            const double rms = sqrt(square[b] / (double)width[b]);
            double *at = &map[b * MAP + k * MAP / n];

            *at = fmax(*at, log10(table_real(c->t, i, c->max) / rms) / 3.0);
        }
    free(square);
    free(width);
}

static void
outliers(struct buf *b, const struct channels *c, const char *input)
{
    char *id = xasprintf("outliers-%s", input);
    char *title = xasprintf("Outliers of the input %s", input);
    const struct chart chart = { .id = id,
        .title = title,
        .note = "Largest activation over the input\xe2\x80\x99s root mean "
                "square: darkest from 1000 times on.",
        .x = "channels",
        .y = "block" };
    size_t blocks = 0, n = 0, i, k;
    double *map;

    for (size_t line = 0; line < c->t->nrow; line++)
        if (is_line(c, line, input, &i, &k)) {
            blocks = i < blocks ? blocks : i + 1;
            n = k < n ? n : k + 1;
        }
    map = xcalloc(blocks * MAP + 1, sizeof *map);
    fill_map(c, input, blocks, n, map);
    if (blocks > 0)
        chart_map(b, &chart, blocks, MAP, map);
    free(map);
    free(title);
    free(id);
}

static void
inside(struct buf *b, const struct table *t)
{
    static const char *const input[] = { "attn", "o", "mlp", "down" };
    const struct channels c = { t, table_column(t, "block"),
        table_column(t, "input"), table_column(t, "channel"),
        table_column(t, "class"), table_column(t, "max"),
        table_column(t, "mean_sq") };

    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        outliers(b, &c, input[i]);
}

/* ---- sparse layers ---- */

static void
layer_errors(struct buf *b, const struct table *t)
{
    static const char *const name[LAYERS] = { "q", "k", "v", "o", "gate", "up",
        "down" };
    const size_t layer = table_column(t, "layer");
    double *const block = column(t, "block"), *const error = column(t, "error");
    double *y = xreallocarray(NULL, 2 * LAYERS * t->nrow + 1, sizeof *y);
    struct series s[LAYERS];
    const struct chart c = { .id = "layer-error",
        .title = "Error of sparse layers",
        .note = "Of their outputs, relative, on the calibration data.",
        .x = "block",
        .y = "squared error over squares",
        .plain = 1,
        .s = s,
        .ns = LAYERS };

    for (size_t k = 0; k < LAYERS; k++) {
        double *of = y + 2 * k * t->nrow, *at = of + t->nrow;
        size_t n = 0;

        for (size_t i = 0; i < t->nrow; i++)
            if (strcmp(table_cell(t, i, layer), name[k]) == 0) {
                at[n] = block[i];
                of[n++] = error[i];
            }
        s[k] = (struct series){ .name = name[k],
            .colour = k,
            .x = at,
            .y = of,
            .n = n };
    }
    chart_lines(b, &c);
    free(block);
    free(error);
    free(y);
}

void
charts_pruning(struct buf *b, const struct run *r)
{
    buf_adds(b, "<div class=\"figures\">\n");
    search(b, &r->file[F_SEARCH]);
    influence(b, &r->file[F_BLOCKS]);
    inside(b, &r->file[F_CHANNELS]);
    layer_errors(b, &r->file[F_SPARSE]);
    buf_adds(b, "</div>\n");
}
