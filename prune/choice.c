/* Choices of parts: see choice.h. */
#include "choice.h"
#include "base/io.h"
#include "base/text.h"
#include "model/config/family.h"
#include "model/files/origin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC "# retort choice 1"
#define HEADER "block\tgroups\tchannels"
enum { FILE_MAX = 64 << 20 };

static size_t *
copy_list(const size_t *list, size_t n)
{
    size_t *to = NULL;

    if (list != NULL) {
        to = xcalloc(n, sizeof *to);
        memcpy(to, list, n * sizeof *to);
    }
    return to;
}

void
choice_copy(struct choice *to, const struct choice *c)
{
    to->n = c->n;
    to->b = xcalloc(c->n, sizeof *to->b);
    for (size_t i = 0; i < c->n; i++) {
        to->b[i] = c->b[i];
        to->b[i].group = copy_list(c->b[i].group, c->b[i].ngroups);
        to->b[i].chan = copy_list(c->b[i].chan, c->b[i].nchan);
    }
}

void
choice_release(struct choice *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->b[i].group);
        free(c->b[i].chan);
    }
    free(c->b);
    memset(c, 0, sizeof *c);
}

/* Return the list, or if it names all parts, free it and return NULL. */
static size_t *
unless_all(size_t *list, size_t n, size_t all)
{
    if (n < all)
        return list;
    free(list);
    return NULL;
}

void
choice_set_groups(struct choice_block *b, size_t *list, size_t n, size_t all)
{
    free(b->group);
    b->group = unless_all(list, n, all);
    b->ngroups = n;
}

void
choice_set_channels(struct choice_block *b, size_t *list, size_t n, size_t all)
{
    free(b->chan);
    b->chan = unless_all(list, n, all);
    b->nchan = n;
}

/* ---- reading ---- */

/* Position in the file that is being read, for errors. */
struct at {
    const char *file;
    size_t line;
    const char *column; /* NULL: the whole line */
};

static int
prefix_error(const struct at *at, struct err *e)
{
    return at->column == NULL
        ? err_prefix(e, "%s: line %zu", at->file, at->line)
        : err_prefix(e, "%s: line %zu: %s", at->file, at->line, at->column);
}

/* Parse p up to `end` as a decimal number; too large a number gives
 * SIZE_MAX. */
static int
parse_index(const char *p, const char *end, size_t *r, struct err *e)
{
    size_t v = 0;

    for (const char *q = p; q < end; q++)
        if (!isdigit((unsigned char)*q) || q - p > 40) {
            end = p;
            break;
        }
    if (p == end)
        return err_set(e, EX_INPUT, "'%s' is no number", SHOWN(p));
    for (; p < end; p++)
        v = v > (SIZE_MAX - 9) / 10 ? SIZE_MAX : v * 10 + (size_t)(*p - '0');
    *r = v;
    return 0;
}

/* Parse "0-511,640" into list[all] and *n; indices must ascend. */
static int
parse_ranges(char *text, size_t block, size_t all, size_t *list, size_t *n,
    struct err *e)
{
    char *next = text;

    for (*n = 0; next != NULL;) {
        char *p = next, *to;
        size_t lo, hi;

        if ((next = strchr(p, ',')) != NULL)
            *next++ = '\0';
        if ((to = strchr(p, '-')) != NULL)
            *to++ = '\0';
        if (parse_index(p, p + strlen(p), &lo, e) < 0)
            return -1;
        hi = lo;
        if (to != NULL && parse_index(to, to + strlen(to), &hi, e) < 0)
            return -1;
        if (hi < lo)
            return err_set(e, EX_INPUT, "%zu-%zu goes down", lo, hi);
        if (hi >= all)
            return all == 0
                ? err_set(e, EX_INPUT, "%zu, but block %zu has none", hi, block)
                : err_set(e, EX_INPUT, "%zu, but block %zu has 0 to %zu", hi,
                      block, all - 1);
        if (*n > 0 && lo <= list[*n - 1])
            return err_set(e, EX_INPUT, "%zu is not above the one before", lo);
        while (lo <= hi)
            list[(*n)++] = lo++;
    }
    return 0;
}

/* Read a column that names some of `all` parts into a list for
 * choice_set_groups or choice_set_channels. */
static int
read_column(char *text, size_t block, size_t all, size_t **list, size_t *n,
    struct err *e)
{
    *list = NULL;
    *n = all;
    if (strcmp(text, "all") == 0)
        return 0;
    *list = xcalloc(all, sizeof **list);
    *n = 0;
    if (strcmp(text, "-") == 0 ||
        parse_ranges(text, block, all, *list, n, e) == 0)
        return 0;
    free(*list);
    return -1;
}

/* Split a line at its tabs.  Returns the number of columns; col gets the first
 * three. */
static size_t
split_columns(char *line, char *col[3])
{
    size_t n = 0;

    for (char *p = line; p != NULL; n++) {
        char *tab = strchr(p, '\t');

        if (tab != NULL)
            *tab++ = '\0';
        if (n < 3)
            col[n] = p;
        p = tab;
    }
    return n;
}

static int
read_index(struct choice *c, const char *text, const struct model *m,
    size_t *block, struct err *e)
{
    if (parse_index(text, text + strlen(text), block, e) < 0)
        return -1;
    if (*block >= m->c.L)
        return err_set(e, EX_INPUT, "%zu, but the model's are 0 to %zu", *block,
            m->c.L - 1);
    if (c->n > 0 && *block <= c->b[c->n - 1].block)
        return err_set(e, EX_INPUT, "%zu is not above the one before", *block);
    return 0;
}

static int
read_block_line(struct choice *c, char *line, const struct model *m,
    struct at *at, struct err *e)
{
    char *col[3];
    const size_t cols = split_columns(line, col);
    struct choice_block *b;
    size_t block, n, *list, all;

    if (cols != 3) {
        err_set(e, EX_INPUT, "has %zu columns, not 3", cols);
        return prefix_error(at, e);
    }
    at->column = "block";
    if (read_index(c, col[0], m, &block, e) < 0)
        return prefix_error(at, e);
    b = &c->b[c->n++];
    b->block = block;
    at->column = "groups";
    all = m->block[block].groups;
    if (read_column(col[1], block, all, &list, &n, e) < 0)
        return prefix_error(at, e);
    choice_set_groups(b, list, n, all);
    if (n > 0 && n < all && family_of(&m->c)->whole_norms) {
        err_set(e, EX_INPUT,
            "are not all: norms of Q and K span the heads of a block, which "
            "keeps all groups or none");
        return prefix_error(at, e);
    }
    at->column = "channels";
    all = m->block[block].mlp;
    if (read_column(col[2], block, all, &list, &n, e) < 0)
        return prefix_error(at, e);
    choice_set_channels(b, list, n, all);
    at->column = NULL;
    if (b->ngroups + b->nchan > 0)
        return 0;
    err_set(e, EX_INPUT,
        "block %zu keeps neither groups nor channels: leave the line out",
        block);
    return prefix_error(at, e);
}

static int
read_choice_line(struct choice *c, char *line, const struct model *m,
    struct at *at, struct err *e)
{
    if (at->line == 1 && strcmp(line, MAGIC) != 0) {
        err_set(e, EX_INPUT, "is not \"%s\"", MAGIC);
        return prefix_error(at, e);
    }
    if (at->line == 2 && strcmp(line, HEADER) != 0) {
        err_set(e, EX_INPUT,
            "is not \"block\", \"groups\" and \"channels\" between tabs");
        return prefix_error(at, e);
    }
    if (at->line <= 2 || *line == '#' || *line == '\0')
        return 0;
    return read_block_line(c, line, m, at, e);
}

int
choice_read(struct choice *c, const char *file, const struct model *m,
    struct err *e)
{
    struct at at = { .file = file };
    char *text, *p;
    size_t size;
    int r = 0;

    memset(c, 0, sizeof *c);
    if (io_slurp(file, FILE_MAX, &text, &size, e) < 0)
        return -1;
    c->b = xcalloc(m->c.L, sizeof *c->b);
    if (strlen(text) < size)
        r = err_set(e, EX_INPUT, "%s: offset %zu: a zero byte", file,
            strlen(text));
    /* a missing first or second line counts as empty */
    for (p = text; r == 0 && (*p != '\0' || at.line < 2);) {
        char *end = p + strcspn(p, "\n"), *next = end + (*end == '\n');

        *end = '\0';
        at.line++;
        r = read_choice_line(c, p, m, &at, e);
        p = next;
    }
    if (r == 0 && c->n == 0)
        r = err_set(e, EX_INPUT, "%s: keeps no block", file);
    if (r < 0)
        choice_release(c);
    free(text);
    return r;
}

/* ---- writing ---- */

static void
write_list(const size_t *list, size_t n, struct buf *b)
{
    if (list == NULL || n == 0)
        buf_adds(b, list == NULL ? "all" : "-");
    for (size_t i = 0, k; list != NULL && i < n; i += k) {
        for (k = 1; i + k < n && list[i + k] == list[i] + k; k++)
            ;
        buf_addf(b, "%s%zu", i > 0 ? "," : "", list[i]);
        if (k > 1)
            buf_addf(b, "-%zu", list[i] + k - 1);
    }
}

/* Append each block's columns, with `in` between them.  If `out` begins with a
 * newline, it ends each block; else it only separates blocks. */
static void
write_block_lines(const struct choice *c, char in, const char *out,
    struct buf *b)
{
    for (size_t i = 0; i < c->n; i++) {
        buf_addf(b, "%zu%c", c->b[i].block, in);
        write_list(c->b[i].group, c->b[i].ngroups, b);
        buf_addc(b, in);
        write_list(c->b[i].chan, c->b[i].nchan, b);
        if (*out == '\n' || i + 1 < c->n)
            buf_adds(b, out);
    }
}

void
choice_write(const struct choice *c, struct buf *b)
{
    buf_adds(b, MAGIC "\n" HEADER "\n");
    write_block_lines(c, '\t', "\n", b);
}

void
choice_write_word(const struct choice *c, struct buf *b)
{
    write_block_lines(c, ':', ";", b);
}

/* Append the groups or channels that block b keeps.  Indices are those in the
 * model before any cut: m, or the model that m was cut from. */
static void
write_kept(const struct choice_block *b, const struct model *m,
    enum origin_part k, struct buf *to)
{
    const size_t *chosen = k == ORIGIN_GROUPS ? b->group : b->chan;
    const size_t n = k == ORIGIN_GROUPS ? b->ngroups : b->nchan;
    size_t *was = origin_list(m, k, b->block);

    for (size_t i = 0; was != NULL && chosen != NULL && i < n; i++)
        was[i] = was[chosen[i]];
    write_list(was != NULL ? was : chosen, n, to);
    free(was);
}

json_t *
choice_kept(const struct choice *c, const struct model *m)
{
    json_t *kept = json_object();

    for (int k = 0; k < ORIGIN_PARTS; k++) {
        json_t *words = json_array();
        int all = 1;

        for (size_t i = 0; i < c->n; i++) {
            struct buf b = { 0 };

            write_kept(&c->b[i], m, k, &b);
            all &= strcmp(b.p, "all") == 0;
            json_array_append_new(words, json_string(b.p));
            buf_release(&b);
        }
        if (!all)
            json_object_set(kept, origin_keys[k], words);
        json_decref(words);
    }
    return kept;
}

uint64_t
choice_key(const struct choice *c)
{
    struct buf b = { 0 };
    uint64_t key;

    choice_write(c, &b);
    key = XXH3_64bits(b.p, b.n);
    buf_release(&b);
    return key;
}
