/* Cleaning; see clean.h. */
#include "clean.h"
#include "gopher.h"
#include "keys.h"
#include "lang.h"
#include "minhash.h"
#include "text_file.h"
#include "words.h"

#include "base/io.h"
#include "base/note.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/die.h"
#include "msg/wire.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define KEEP ((size_t)1 << 20) /* memory of a worker that is kept */
#define BANDS 14
#define ROWS 8
#define LINE_WORDS 3 /* shorter lines are no boilerplate */

enum {
    R_MIN_CHARS,
    R_MAX_CHARS,
    R_MIN_WORDS,
    R_MAX_WORDS,
    R_BOILERPLATE,
    R_EXACT,
    R_NEAR,
    R_EXCLUDED,
    R_GOPHER,
    R_END = R_GOPHER + G_END
};

/* What a thread needs. */
struct clean_worker {
    struct gopher_scratch *gopher;
    struct words words;
    XXH3_state_t *state;
    struct buf text; /* without boilerplate */
    uint64_t value[MINHASH_MOST];
};

/* The head of doc.sig as stage leaves it for decide; the removed lines and the
 * keys of duplicates follow. */
struct left {
    double value; /* why it was dropped */
    size_t lines, bytes, keys;
    struct exclude_hit hit; /* where it was excluded */
};

struct clean {
    struct clean_opts o;
    struct inputs *in;
    int lang, exact, near;
    size_t bands, rows;
    size_t first, und; /* sources that --lang auto gives */
    struct fold *fold;
    struct minhash minhash;
    struct clean_worker *worker;
    size_t nworker;
    struct keys *exacts, *nears, *lines;
    struct exclude *exclude;
    uint64_t count[R_END], *of_source, *excluded, removed;
    struct text_file dropped, held, report;
    uint64_t below, nheld; /* documents with such keys are held out */
};

static const char *const first_reasons[R_GOPHER] = { "min-chars", "max-chars",
    "min-words", "max-words", "boilerplate", "dup-exact", "dup-near",
    "excluded" };

const char *
clean_reason(size_t reason)
{
    return reason < R_GOPHER ? first_reasons[reason]
        : reason < R_END     ? gopher_name((enum gopher)(reason - R_GOPHER))
                             : NULL;
}

uint64_t
clean_count(const struct clean *c, size_t reason)
{
    return c->count[reason];
}

uint64_t
clean_dropped(const struct clean *c, size_t source)
{
    return c->of_source[source];
}

uint64_t
clean_lines(const struct clean *c)
{
    return c->removed;
}

/* Boilerplate: scan appends a mark to doc.sig for each line that is long
 * enough; settle sets key = 0 in the marks of lines that stay. */
struct mark {
    uint64_t line, key;
};

/* Length of the line at p, without its end. */
static size_t
line_length(const char *p, const char *end)
{
    const char *q = memchr(p, '\n', (size_t)(end - p));

    return (size_t)((q ? q : end) - p);
}

/* The key of a line from the hashes of its words; 0: too few to be one. */
static uint64_t
line_key(struct clean *c, struct clean_worker *w, const char *p, size_t n)
{
    XXH3_state_t *state = w->state;
    uint64_t hash, key;
    size_t words = 0;

    XXH3_64bits_reset(state);
    words_begin(&w->words, c->fold, p, n);
    for (; words_next(&w->words, &hash); words++)
        XXH3_64bits_update(state, &hash, sizeof hash);
    key = XXH3_64bits_digest(state);
    return words < LINE_WORDS ? 0 : key ? key : 1;
}

static void
scan(void *ctx, size_t worker, struct doc *d, const char *text, size_t n)
{
    struct clean *c = ctx;
    const char *end = text + n;
    struct mark m = { 0 };

    for (const char *p = text; p < end; m.line++) {
        const size_t len = line_length(p, end);

        m.key = line_key(c, &c->worker[worker], p, len);
        if (m.key != 0)
            buf_add(&d->sig, &m, sizeof m);
        p += len + 1;
    }
}

static int
by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* In order of documents: lines that --boilerplate N documents before had are
 * marked for removal; each other line is counted once for this document. */
static int
settle(void *ctx, struct doc *d, struct err *e)
{
    struct clean *c = ctx;
    const size_t n = d->sig.n / sizeof(struct mark);
    uint64_t *key = xreallocarray(NULL, n + 1, sizeof *key);
    int k = 0;

    for (size_t i = 0; i < n; i++) {
        char *const at = d->sig.p + i * sizeof(struct mark);
        struct mark m;

        memcpy(&m, at, sizeof m);
        key[i] = m.key;
        if (keys_count(c->lines, (struct key){ m.key, 0 }) >= c->o.boilerplate)
            key[i] = 0;
        else
            m.key = 0;
        memcpy(at, &m, sizeof m);
    }
    qsort(key, n, sizeof *key, by_value);
    for (size_t i = 0; i < n && k == 0; i++)
        if (key[i] != 0 && (i == 0 || key[i] != key[i - 1]))
            k = keys_put(c->lines, (struct key){ key[i], 0 }, e);
    free(key);
    return k;
}

/* Remove the lines that settle has marked, and append them to *gone. */
static void
cut_lines(struct clean_worker *w, struct doc *d, const char **text, size_t *n,
    struct left *left, struct buf *gone)
{
    const char *p = *text, *end = p + *n, *m = d->sig.p;
    const char *const last = m + d->sig.n;

    buf_clear(&w->text);
    for (uint64_t i = 0; p < end; i++) {
        const size_t len = line_length(p, end);
        const size_t all = len + (p + len < end);
        struct mark mark = { 0 };

        if (m < last)
            memcpy(&mark, m, sizeof mark);
        if (m < last && mark.line == i)
            m += sizeof mark;
        else
            mark.key = 0;
        buf_add(mark.key ? gone : &w->text, p, all);
        left->lines += mark.key != 0;
        p += all;
    }
    if (left->lines == 0)
        return;
    *text = w->text.p;
    *n = w->text.n;
}

/* Which rule of length does the text break?  A reason, with what was measured
 * in *value, or R_END: none. */
static size_t
judge_length(const struct clean_opts *o, const char *text, size_t n,
    double *value)
{
    size_t nchars, nwords;

    gopher_count(text, n, &nchars, &nwords);
    *value = (double)nchars;
    if (nchars < o->min_chars)
        return R_MIN_CHARS;
    if (o->max_chars && nchars > o->max_chars)
        return R_MAX_CHARS;
    *value = (double)nwords;
    if (nwords < o->min_words)
        return R_MIN_WORDS;
    if (o->max_words && nwords > o->max_words)
        return R_MAX_WORDS;
    return R_END;
}

static size_t
judge_rule(enum gopher g, double measured, double *value)
{
    *value = measured;
    return gopher_breaks(g, measured) ? R_GOPHER + (size_t)g : R_END;
}

/* The same over all rules: length, then those of Gopher. */
static size_t
judge(const struct clean *c, struct clean_worker *w, const char *text, size_t n,
    double *value)
{
    const struct clean_opts *o = &c->o;
    double v[G_END];
    size_t reason = R_END;

    if (o->min_chars || o->max_chars || o->min_words || o->max_words)
        reason = judge_length(o, text, n, value);
    if (reason == R_END && o->quality) {
        gopher_quality(text, n, v + G_REPETITION);
        for (int g = G_REPETITION; g < G_END && reason == R_END; g++)
            reason = judge_rule((enum gopher)g, v[g], value);
    }
    if (reason < R_END || !o->repetition)
        return reason;
    gopher_begin(w->gopher, text, n);
    for (int g = 0; g < G_REPETITION && reason == R_END; g++)
        reason = judge_rule((enum gopher)g,
            gopher_measure(w->gopher, (enum gopher)g), value);
    return reason;
}

static void
add_key(struct buf *b, XXH128_hash_t h)
{
    const struct key key = { h.high64, h.low64 };

    buf_add(b, &key, sizeof key);
}

/* The key for exact duplicates: a hash of all words, or of the text itself if
 * it has none. */
static void
exact_key(const struct clean *c, struct clean_worker *w, const char *text,
    size_t n, struct buf *out)
{
    XXH3_state_t *state = w->state;
    uint64_t hash;
    size_t words = 0;

    XXH3_128bits_reset(state);
    words_begin(&w->words, c->fold, text, n);
    for (; words_next(&w->words, &hash); words++)
        XXH3_128bits_update(state, &hash, sizeof hash);
    add_key(out, words ? XXH3_128bits_digest(state) : XXH3_128bits(text, n));
}

/* Keys for near duplicates: a hash for each band; none for a text without
 * words. */
static void
near_keys(const struct clean *c, struct clean_worker *w, const char *text,
    size_t n, struct buf *out)
{
    const size_t row = c->rows * sizeof *w->value;

    words_begin(&w->words, c->fold, text, n);
    if (minhash_text(&c->minhash, &w->words, w->value) == 0)
        return;
    for (size_t i = 0; i < c->bands; i++)
        add_key(out, XXH3_128bits_withSeed(w->value + i * c->rows, row, i));
}

/* Set the source of d to its language. */
static void
detect(const struct clean *c, struct doc *d, const char *text, size_t n)
{
    const char *code = lang_detect(text, n);

    d->source =
        code ? inputs_source(c->in, code, strlen(code)) : c->in->nsource;
    if (d->source < c->first || d->source == c->in->nsource)
        d->source = c->und;
}

static int
is_blank(const char *p, size_t n)
{
    size_t nchars, nwords;

    gopher_count(p, n, &nchars, &nwords);
    return nwords == 0;
}

static int
stage(void *ctx, size_t worker, struct doc *d, const char **text, size_t *n)
{
    struct clean *c = ctx;
    struct clean_worker *w = &c->worker[worker];
    struct left left = { 0 };
    struct buf keys = { 0 }, gone = { 0 };
    size_t reason = R_END;

    if (w->text.cap > KEEP)
        buf_release(&w->text);
    if (c->lang)
        detect(c, d, *text, *n);
    if (c->lines)
        cut_lines(w, d, text, n, &left, &gone);
    if (left.lines > 0 && is_blank(*text, *n))
        reason = R_BOILERPLATE;
    if (reason == R_END)
        reason = judge(c, w, *text, *n, &left.value);
    if (reason == R_END && c->exclude &&
        exclude_find(c->exclude, &w->words, *text, *n, &left.hit)) {
        reason = R_EXCLUDED;
        left.value = (double)left.hit.words;
    }
    if (reason < R_END) {
        d->drop = clean_reason(reason);
    } else {
        if (c->exact)
            exact_key(c, w, *text, *n, &keys);
        if (c->near)
            near_keys(c, w, *text, *n, &keys);
    }
    left.keys = keys.n / sizeof(struct key);
    left.bytes = c->dropped.open ? gone.n : 0;
    buf_clear(&d->sig);
    buf_add(&d->sig, &left, sizeof left);
    buf_add(&d->sig, gone.p, left.bytes);
    buf_add(&d->sig, keys.p, keys.n);
    buf_release(&keys);
    buf_release(&gone);
    return 0;
}

/* The words that d shares with held-out text, as they stand in it, on one line;
 * what separates them from the word before is left out. */
static void
add_shared(const struct doc *d, const struct exclude_hit *h, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)d->text.p + h->from;
    const unsigned char *const end = (const unsigned char *)d->text.p + h->to;
    size_t n;

    while (p < end && !(uni_class_at(p, end, &n) & (U_L | U_N)))
        p += n;
    for (; p < end; p++)
        buf_addc(out, *p < 0x20 || *p == 0x7f ? ' ' : *p);
}

/* Count and report a document that --exclude drops. */
static int
excluded(struct clean *c, const struct doc *d, const struct exclude_hit *h,
    struct err *e)
{
    struct buf *b = &c->report.line;
    uint64_t item;
    const char *name = exclude_name(c->exclude, h, &item);

    c->excluded[d->source]++;
    if (!c->report.open)
        return 0;
    buf_addf(b, "%s\t%" PRIu64 "\t%s\t%s\t%" PRIu64 "\t%zu\t",
        SHOWN(d->from->name), d->record, c->in->source[d->source], SHOWN(name),
        item, h->words);
    add_shared(d, h, b);
    buf_addc(b, '\n');
    return text_file_flush(&c->report, e);
}

/* Hold a document out if its key is below the bound; so the choice does not
 * depend on other documents. */
static int
hold_out(struct clean *c, struct doc *d, struct err *e)
{
    if (msg_doc_key(c->in->source[d->source], d->from->name, d->record) >=
        c->below)
        return 0;
    d->drop = "held-out";
    c->nheld++;
    return text_file_record(&c->held, d, c->in->source[d->source], NULL, -1.0,
        d->text.p, d->text.n, e);
}

/* Do the n keys at `at` show a duplicate of an earlier document?  The reason;
 * or R_END, then they are remembered; or R_END + 1 and *e. */
static size_t
duplicate(struct clean *c, const char *at, size_t n, struct err *e)
{
    struct key *key = xreallocarray(NULL, n + 1, sizeof *key);
    size_t reason = R_END, i = 0;
    int k = 0;

    memcpy(key, at, n * sizeof *key);
    if (c->exact && n > 0 && keys_count(c->exacts, key[i++]) > 0)
        reason = R_EXACT;
    for (; i < n && reason == R_END; i++)
        if (keys_count(c->nears, key[i]) > 0)
            reason = R_NEAR;
    for (i = 0; i < n && reason == R_END && k == 0; i++)
        k = keys_put(c->exact && i == 0 ? c->exacts : c->nears, key[i], e);
    free(key);
    return k < 0 ? R_END + 1 : reason;
}

static int
decide(void *ctx, struct doc *d, struct err *e)
{
    struct clean *c = ctx;
    const char *p = d->sig.p;
    struct left left;
    size_t reason = 0;

    if (d->sig.n < sizeof left) /* an empty text */
        return 0;
    memcpy(&left, p, sizeof left);
    p += sizeof left;
    c->removed += left.lines;
    if (left.bytes > 0 &&
        text_file_record(&c->dropped, d, c->in->source[d->source],
            "boilerplate-lines", (double)left.lines, p, left.bytes, e) < 0)
        return -1;
    if (!d->drop) {
        reason = duplicate(c, p + left.bytes, left.keys, e);
        left.value = -1.0;
        if (reason > R_END)
            return -1;
        if (reason == R_END)
            return hold_out(c, d, e);
        d->drop = clean_reason(reason);
    }
    while (clean_reason(reason) != d->drop)
        reason++;
    if (reason == R_EXCLUDED && excluded(c, d, &left.hit, e) < 0)
        return -1;
    c->count[reason]++;
    c->of_source[d->source]++;
    return text_file_record(&c->dropped, d, c->in->source[d->source], d->drop,
        left.value, d->text.p, d->text.n, e);
}

/* Options. */

int
clean_lang_auto(const char *lang)
{
    return lang && strncmp(lang, "auto", 4) == 0 &&
        (lang[4] == '\0' || lang[4] == ':');
}

/* Sources: those named after "auto:", or all, and und. */
static int
add_langs(struct clean *c, const char *lang, struct err *e)
{
    if (lang_check(e) < 0)
        return -1;
    c->lang = 1;
    c->first = 0;
    if (lang[4] == '\0')
        for (size_t i = 0; lang_code(i); i++)
            inputs_add_source(c->in, lang_code(i), strlen(lang_code(i)));
    for (lang += 4; *lang;) {
        const size_t n = strcspn(++lang, ",");
        size_t i = 0;

        while (lang_code(i) &&
            (strlen(lang_code(i)) != n || memcmp(lang_code(i), lang, n) != 0))
            i++;
        if (!lang_code(i))
            return err_set(e, EX_USAGE,
                "--lang auto: \"%.*s\" is no code that CLD2 gives", (int)n,
                lang);
        inputs_add_source(c->in, lang, n);
        lang += n;
    }
    c->und = inputs_add_source(c->in, "und", 3);
    return 0;
}

static int
parse_near(struct clean *c, const char *s, struct err *e)
{
    const char *x = strchr(s, 'x');
    char *bands = x ? xasprintf("%.*s", (int)(x - s), s) : NULL;
    const int bad = !x || number_size(bands, 1, MINHASH_MOST, &c->bands) < 0 ||
        number_size(x + 1, 1, MINHASH_MOST, &c->rows) < 0 ||
        c->bands * c->rows > MINHASH_MOST;

    free(bands);
    return bad ? err_set(e, EX_USAGE,
                     "--dedup minhash:%s: must be BANDSxROWS with a product of "
                     "at most %d",
                     s, MINHASH_MOST)
               : 0;
}

static int
parse_dedup(struct clean *c, struct err *e)
{
    c->bands = BANDS;
    c->rows = ROWS;
    for (size_t i = 0; i < c->o.dedup.n; i++) {
        const char *s = c->o.dedup.v[i];

        if (strcmp(s, "exact") == 0)
            c->exact = 1;
        else if (strcmp(s, "minhash") == 0)
            c->near = 1;
        else if (strncmp(s, "minhash:", 8) != 0)
            return err_set(e, EX_USAGE,
                "--dedup: \"%s\" is none of exact, minhash, minhash:BANDSxROWS",
                s);
        else if (parse_near(c, s + 8, e) < 0)
            return -1;
        else
            c->near = 1;
    }
    return 0;
}

/* --hold-out PERCENT%:FILE; leaves the file's name in the options. */
static int
parse_hold_out(struct clean *c, struct err *e)
{
    const char *s = c->o.hold_out;
    char *end;
    double percent;

    if (!s)
        return 0;
    percent = strtod(s, &end);
    if (end == s || !(percent > 0.0 && percent < 100.0) || end[0] != '%' ||
        end[1] != ':' || end[2] == '\0')
        return err_set(e, EX_USAGE,
            "--hold-out: \"%s\" is not PERCENT%%:FILE, as 1%%:held.jsonl", s);
    c->below = (uint64_t)(percent / 100.0 * 0x1p64);
    c->o.hold_out = end + 2;
    return 0;
}

static int
begin_exclude(struct clean *c, const struct docs_opts *run, struct err *e)
{
    const struct clean_opts *o = &c->o;

    if (o->exclude.n == 0)
        return o->exclude_report || o->exclude_words != EXCLUDE_WORDS
            ? err_set(e, EX_USAGE,
                  "--exclude-words and --exclude-report belong to --exclude")
            : 0;
    c->exclude =
        exclude_new(&o->exclude, o->exclude_words, c->in, run, c->fold, e);
    if (!c->exclude || text_file_begin(&c->report, o->exclude_report, e) < 0)
        return -1;
    if (c->report.open)
        buf_adds(&c->report.line,
            "input\trecord\tsource\theld_out\titem\twords\ttext\n");
    return 0;
}

static int
begin(struct clean *c, const char *lang, const struct docs_opts *run,
    struct err *e)
{
    const struct clean_opts *o = &c->o;
    const size_t sets =
        (size_t)c->exact + (size_t)c->near + (o->boilerplate > 0);

    if (lang && add_langs(c, lang, e) < 0)
        return -1;
    if ((sets > 0 || o->exclude.n > 0) && (c->fold = fold_new(e)) == NULL)
        return -1;
    if (begin_exclude(c, run, e) < 0)
        return -1;
    c->exacts = c->exact ? keys_new(o->mem / sets) : NULL;
    c->nears = c->near ? keys_new(o->mem / sets) : NULL;
    c->lines = o->boilerplate ? keys_new(o->mem / sets) : NULL;
    if (c->near)
        minhash_init(&c->minhash, c->bands * c->rows);
    return text_file_begin(&c->dropped, o->dropped, e) < 0
        ? -1
        : text_file_begin(&c->held, c->o.hold_out, e);
}

static void
hook(struct clean *c, struct docs_opts *run)
{
    const struct clean_opts *o = &c->o;

    c->nworker = docs_threads(run);
    c->worker = xcalloc(c->nworker, sizeof *c->worker);
    for (size_t i = 0; i < c->nworker; i++) {
        c->worker[i].gopher = gopher_new();
        c->worker[i].state = XXH3_createState();
        if (!c->worker[i].state)
            die(EX_SYS, "out of memory");
    }
    c->of_source = xcalloc(c->in->nsource, sizeof *c->of_source);
    c->excluded = xcalloc(c->in->nsource, sizeof *c->excluded);
    if (!(c->exact || c->near || c->lang || o->boilerplate || o->min_chars ||
            o->max_chars || o->min_words || o->max_words || o->repetition ||
            o->quality || o->hold_out || c->exclude))
        return;
    run->stage = stage;
    run->decide = decide;
    run->stage_ctx = c;
    /* A resumed run has to read from the beginning if what is dropped depends
     * on earlier documents, or if all dropped ones are written to a file. */
    run->replay = c->exact || c->near || o->boilerplate || c->dropped.open ||
        c->held.open || c->report.open;
    if (o->boilerplate) {
        run->scan = scan;
        run->settle = settle;
    }
}

struct clean *
clean_begin(const struct clean_opts *o, const char *lang, struct inputs *in,
    struct docs_opts *run, struct err *e)
{
    struct clean *c = xcalloc(1, sizeof *c);

    c->o = *o;
    c->in = in;
    if (parse_dedup(c, e) < 0 || parse_hold_out(c, e) < 0 ||
        begin(c, lang, run, e) < 0) {
        clean_free(c);
        return NULL;
    }
    hook(c, run);
    return c;
}

uint64_t
clean_digest(const struct clean *c)
{
    return c->exclude ? exclude_digest(c->exclude) : 0;
}

static void
note_excluded(const struct clean *c)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < c->in->nsource; i++)
        if (c->excluded[i] > 0)
            buf_addf(&b, "%s %s %" PRIu64, b.n > 0 ? "," : "", c->in->source[i],
                c->excluded[i]);
    if (c->exclude)
        note("share %zu words with held-out text:%s", c->o.exclude_words,
            b.n > 0 ? b.p : " none");
    buf_release(&b);
}

static size_t
spills(const struct clean *c)
{
    return (c->exacts ? keys_spills(c->exacts) : 0) +
        (c->nears ? keys_spills(c->nears) : 0) +
        (c->lines ? keys_spills(c->lines) : 0);
}

int
clean_end(struct clean *c, struct err *e)
{
    struct buf b = { 0 };
    uint64_t all = 0;

    for (size_t i = 0; i < R_END; i++) {
        if (c->count[i] > 0)
            buf_addf(&b, "%s %s %" PRIu64, all ? "," : ":", clean_reason(i),
                c->count[i]);
        all += c->count[i];
    }
    if (all > 0)
        note("dropped %" PRIu64 " documents%s", all, b.p);
    note_excluded(c);
    if (c->removed > 0)
        note("cut %" PRIu64 " lines of boilerplate", c->removed);
    buf_release(&b);
    if (spills(c) > 0)
        vnote("keys went to %zu files", spills(c));
    if (c->held.open)
        note("held out %" PRIu64 " documents: %s", c->nheld, c->o.hold_out);
    return text_file_end(&c->dropped, e) < 0 || text_file_end(&c->report, e) < 0
        ? -1
        : text_file_end(&c->held, e);
}

void
clean_free(struct clean *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nworker; i++) {
        gopher_free(c->worker[i].gopher);
        words_release(&c->worker[i].words);
        XXH3_freeState(c->worker[i].state);
        buf_release(&c->worker[i].text);
    }
    free(c->worker);
    free(c->of_source);
    free(c->excluded);
    exclude_free(c->exclude);
    keys_free(c->exacts);
    keys_free(c->nears);
    keys_free(c->lines);
    fold_free(c->fold);
    text_file_release(&c->dropped);
    text_file_release(&c->held);
    text_file_release(&c->report);
    free(c);
}
