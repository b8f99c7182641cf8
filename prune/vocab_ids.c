/* Chooses the ids that are kept: see vocab_ids.h. */
#include "vocab_ids.h"
#include "derivation.h"
#include "input.h"
#include "base/io.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/die.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "shard/source.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uscript.h>

static const char *const why_name[WHY_N] = { "not", "named", "added", "byte",
    "script", "used", "part", "fill" };

void
vocab_init(struct vocab *v, const struct tokenizer *t, size_t rows)
{
    memset(v, 0, sizeof *v);
    v->t = t;
    v->n = tok_vocab(t);
    v->rows = rows < v->n ? rows : v->n;
    v->count = xcalloc(v->n, sizeof *v->count);
    v->why = xcalloc(v->n, sizeof *v->why);
}

void
vocab_release(struct vocab *v)
{
    free(v->count);
    free(v->why);
    free(v->to);
    free(v->from);
    tok_ids_release(&v->parts);
    memset(v, 0, sizeof *v);
}

/* ---- ids that are used ---- */

static void
count_id(struct vocab *v, uint64_t id, const char *where)
{
    if (id >= v->rows)
        die(EX_INPUT, "%s: id %llu is none of the %zu that the %s has", where,
            (unsigned long long)id, v->rows, id < v->n ? "model" : "tokenizer");
    v->count[id]++;
    v->total++;
}

static void
count_msg(struct vocab *v, const struct msg *m, struct batch *b,
    const char *where)
{
    const struct st_tensor *ids = st_find(&m->st, "ids");

    if (m->kind == MSG_DOCS) {
        for (size_t i = 0; i < ids->n; i++)
            count_id(v, st_uint(ids, i), where);
    } else if (m->kind == MSG_BATCH) {
        batch_unpack(b, m);
        for (size_t i = 0; i < b->B * b->T; i++)
            if (b->first[i] != BATCH_PAD)
                count_id(v, b->ids[i], where);
    }
}

void
vocab_count(struct vocab *v, const char *addr, const char *tokenizer)
{
    struct stream_info info;
    struct batch b = { 0 };
    struct err e;
    struct msg_in *in = set_in_open(addr, 0, &e);
    struct msg m;
    int r;

    if (in == NULL)
        die_err(&e);
    while ((r = msg_read(in, &m, &e)) > 0) {
        if (m.kind == MSG_STREAM) {
            input_head(&info, in, &m.st, NULL, tokenizer);
            stream_info_release(&info);
        }
        count_msg(v, &m, &b, msg_in_name(in));
    }
    if (r < 0)
        die_err(&e);
    if (v->total == 0)
        die(EX_INPUT, "%s: holds no tokens", msg_in_name(in));
    batch_release(&b);
    msg_in_close(in);
}

void
vocab_list(struct vocab *v, const char *file)
{
    struct err e;
    char *text, *line, *next;
    size_t n;

    if (io_slurp(file, (size_t)1 << 30, &text, &n, &e) < 0)
        die_err(&e);
    for (line = text; line != NULL; line = next) {
        char *end;
        unsigned long long id;

        if ((next = strchr(line, '\n')) != NULL)
            *next++ = '\0';
        if (!isdigit((unsigned char)*line))
            continue;
        id = strtoull(line, &end, 10);
        if (*end != '\0' && !isspace((unsigned char)*end))
            die(EX_INPUT, "%s: '%.40s' is no id", io_in_name(file), line);
        count_id(v, id, io_in_name(file));
    }
    free(text);
    if (v->total == 0)
        die(EX_INPUT, "%s: lists no ids", io_in_name(file));
}

/* ---- ids that are kept ---- */

/* Does the model have a row for each of v->parts? */
static int
has_rows(const struct vocab *v)
{
    for (size_t i = 0; i < v->parts.n; i++)
        if (v->parts.v[i] >= v->rows)
            return 0;
    return 1;
}

int
vocab_add(struct vocab *v, uint32_t id, enum why why, size_t size)
{
    const char *s;
    size_t n, more = 0;

    assert(id < v->n);
    if (v->why[id] != WHY_NOT || !tok_text(v->t, id, &s, &n))
        return 1;
    v->parts.n = 0;
    if (!tok_derivation(v->t, id, &v->parts))
        tok_ids_push(&v->parts, id);
    if (!has_rows(v))
        return 1;
    for (size_t i = 0; i < v->parts.n; i++) {
        const uint32_t part = v->parts.v[i];

        if (v->why[part] == WHY_NOT) {
            v->why[part] = part == id ? why : WHY_PART;
            v->parts.v[more++] = part;
        }
    }
    if (more > size || v->kept > size - more) { /* no room: undo */
        for (size_t i = 0; i < more; i++)
            v->why[v->parts.v[i]] = WHY_NOT;
        return 0;
    }
    v->kept += more;
    return 1;
}

void
vocab_must(struct vocab *v, int64_t id, enum why why)
{
    if (id >= 0 && (uint64_t)id < v->n)
        vocab_add(v, (uint32_t)id, why, SIZE_MAX);
}

static void
keep_always(struct vocab *v)
{
    const char *s;
    size_t n;

    vocab_must(v, tok_template_bos(v->t), WHY_NAMED);
    vocab_must(v, tok_bos(v->t), WHY_NAMED);
    vocab_must(v, tok_eos(v->t), WHY_NAMED);
    vocab_must(v, tok_unknown(v->t), WHY_NAMED);
    /* Gemma has tokens for runs of spaces, tabs and newlines.  Without them
     * such text would become bytes that the model has never seen.  An added
     * token also keeps shorter added tokens from matching inside it. */
    for (size_t id = 0; id < v->n; id++)
        if (tok_is_added(v->t, (uint32_t)id) &&
            tok_text(v->t, (uint32_t)id, &s, &n))
            vocab_must(v, (int64_t)id, WHY_ADDED);
    for (unsigned b = 0; b < 256; b++)
        vocab_must(v, tok_byte(v->t, b), WHY_BYTE);
}

/* ---- scripts ---- */

/* The script of a character; USCRIPT_COMMON (0) if it has none. */
static size_t
script_of(uint32_t c)
{
    UErrorCode status = U_ZERO_ERROR;
    const UScriptCode s = uscript_getScript((UChar32)c, &status);

    return U_FAILURE(status) || s <= USCRIPT_INHERITED ||
            s >= USCRIPT_CODE_LIMIT
        ? USCRIPT_COMMON
        : (size_t)s;
}

/* Add the number of the corpus's characters in each script to `uses`.  A
 * character that is split between tokens is not counted. */
static void
count_scripts(const struct vocab *v, uint64_t *uses)
{
    const char *s;
    size_t n, k;

    for (size_t id = 0; id < v->n; id++) {
        if (v->count[id] == 0 || tok_is_added(v->t, (uint32_t)id) ||
            !tok_text(v->t, (uint32_t)id, &s, &n))
            continue;
        for (size_t i = 0; i < n; i += k) {
            const unsigned char *p = (const unsigned char *)s + i;
            const uint32_t c = utf8_next(p, (const unsigned char *)s + n, &k);

            if (c != UTF8_BAD)
                uses[script_of(c)] += v->count[id];
        }
    }
}

/* A script counts as used if it has at least 1 / SHARE of the corpus's
 * characters.  All one-character tokens of used scripts are kept, and all
 * one-character tokens without a script. */
enum { SHARE = 1000 };
static void
keep_scripts(struct vocab *v)
{
    uint64_t uses[USCRIPT_CODE_LIMIT] = { 0 }, all = 0;
    const char *s;
    size_t n, k;

    count_scripts(v, uses);
    for (size_t i = 0; i < USCRIPT_CODE_LIMIT; i++)
        all += uses[i];
    for (size_t id = 0; id < v->n; id++) {
        uint32_t c;
        size_t script;

        if (tok_is_added(v->t, (uint32_t)id) ||
            !tok_text(v->t, (uint32_t)id, &s, &n) || n == 0)
            continue;
        c = utf8_next((const unsigned char *)s, (const unsigned char *)s + n,
            &k);
        if (c == UTF8_BAD || k != n)
            continue;
        script = script_of(c);
        if (script == USCRIPT_COMMON ||
            (uses[script] > 0 && uses[script] >= all / SHARE))
            vocab_must(v, (int64_t)id, WHY_SCRIPT);
    }
}

/* ---- the order ---- */

struct use {
    uint64_t count;
    uint32_t id;
};

static int
most_first(const void *x, const void *y)
{
    const struct use *a = x, *b = y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void
keep_used(struct vocab *v, size_t size)
{
    struct use *u = xreallocarray(NULL, v->n, sizeof *u);
    size_t n = 0;

    for (size_t id = 0; id < v->n; id++)
        if (v->count[id] > 0)
            u[n++] = (struct use){ v->count[id], (uint32_t)id };
    qsort(u, n, sizeof *u, most_first);
    for (size_t i = 0; i < n; i++)
        vocab_add(v, u[i].id, WHY_USED, size);
    for (size_t i = 0; i < n; i++) { /* some were kept later, as parts of
                                      * others */
        v->left += v->why[u[i].id] == WHY_NOT;
        v->left_uses += v->why[u[i].id] == WHY_NOT ? u[i].count : 0;
    }
    free(u);
}

int
vocab_choose(struct vocab *v, size_t size, int scripts, struct err *e)
{
    const size_t most = size > 0 ? size : SIZE_MAX;

    keep_always(v);
    if (scripts)
        keep_scripts(v);
    if (v->kept > most)
        return err_set(e, EX_USAGE,
            "--size %zu: added tokens, bytes and characters of the scripts "
            "that are used are %zu already",
            size, v->kept);
    keep_used(v, most);
    for (size_t id = 0; size > 0 && id < v->n && v->kept < size; id++)
        if (!tok_is_added(v->t, (uint32_t)id))
            vocab_add(v, (uint32_t)id, WHY_FILL, size);
    return 0;
}

void
vocab_number(struct vocab *v)
{
    uint32_t next = 0;

    v->to = xreallocarray(v->to, v->n, sizeof *v->to);
    v->from = xreallocarray(v->from, v->kept + 1, sizeof *v->from);
    for (size_t id = 0; id < v->n; id++) {
        v->to[id] = VOCAB_GONE;
        if (v->why[id] == WHY_NOT)
            continue;
        v->from[next] = (uint32_t)id;
        v->to[id] = next++;
    }
    assert(next == v->kept);
}

void
vocab_tsv(const struct vocab *v, struct buf *b)
{
    buf_adds(b, "id\tnew\tuses\twhy\ttext\n");
    for (size_t i = 0; i < v->kept; i++) {
        const uint32_t id = v->from[i];
        const char *s = "";
        size_t n = 0;
        char shown[TEXT_CHAR];

        tok_text(v->t, id, &s, &n);
        buf_addf(b, "%u\t%zu\t%llu\t%s\t", id, i,
            (unsigned long long)v->count[id], why_name[v->why[id]]);
        for (size_t k = 0; k < n;) {
            k += text_char(shown, s + k, n - k);
            buf_adds(b, shown);
        }
        buf_addc(b, '\n');
    }
}
