/* Cleaning; see cleaning.h. */
#include "cleaning.h"
#include "boilerplate.h"
#include "conversation.h"
#include "lang.h"
#include "passages.h"
#include "text_file.h"

#include "base/note.h"
#include "base/text.h"
#include "cli/out.h"
#include "text/count.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BIG ((size_t)1 << 20) /* bytes; larger buffers are freed */

/* Scratch memory of a thread. */
struct clean_worker {
    struct text_repair *repair;
    struct gopher_scratch *gopher;
    struct words words;
};

/* Findings of a thread about one document. */
struct verdict {
    enum reason reason;
    double value; /* measurement that breaks the rule `reason`; -1: none */
    struct passages shared; /* with held-out text */
    struct buf keys;        /* from duplicates_scan */
    struct buf lines;       /* from boilerplate_scan */
    struct repair_counts repair;
    struct conversation said; /* if cleaning_opts.conversations */
};

struct cleaning {
    struct cleaning_opts o;
    struct dup_opts dup;
    struct inputs *in;
    struct langs langs; /* sources of --lang auto */
    struct fold *fold;
    struct clean_worker *worker; /* [nworker + 1], the last for put */
    size_t nworker;
    struct duplicates *duplicates; /* these three are NULL if not asked
                                    * for */
    struct boilerplate *boilerplate;
    struct exclude *exclude;
    struct stats stats;
    struct repair_counts repaired;
    uint64_t below; /* documents with a smaller key are held out */
    struct text_file documents, dropped, held, report;
    struct buf kept, gone; /* of the current document: what boilerplate_cut
                            * keeps and cuts; gone also has shared passages */
};

/* ---- any thread, in any order ---- */

static struct verdict *
new_verdict(struct doc *d)
{
    struct verdict *v = d->result ? d->result : xcalloc(1, sizeof *v);

    v->reason = R_NONE;
    v->value = -1.0;
    v->repair = (struct repair_counts){ 0 };
    buf_clear(&v->lines);
    return d->result = v;
}

static void
free_verdict(void *result)
{
    struct verdict *v = result;

    buf_release(&v->keys);
    buf_release(&v->lines);
    passages_release(&v->shared);
    conversation_release(&v->said);
    free(v);
}

/* Does a message of a conversation share words with held-out text?  Then the
 * whole conversation is dropped. */
static int
says_held_out(const struct cleaning *c, struct clean_worker *w,
    const char *text, struct verdict *v)
{
    struct exclude_hit *h = &v->shared.why;

    for (size_t i = 0; i < v->said.n; i++) {
        const struct conversation_part *p = &v->said.part[i];

        if (exclude_find(c->exclude, &w->words, text + p->from, p->to - p->from,
                p->asks, h)) {
            h->from += p->from;
            h->to += p->from;
            return 1;
        }
    }
    return 0;
}

/* Find what the text shares with held-out text: all of it is dropped, or
 * v->shared has the rest, which must keep the rules too. */
static void
judge_shared(const struct cleaning *c, struct clean_worker *w, const char *text,
    size_t n, struct verdict *v)
{
    struct passages *p = &v->shared;
    double value;

    if (c->o.conversations)
        p->all = says_held_out(c, w, text, v);
    else if (passages_find(p, c->exclude, &w->words, text, n) && !p->all)
        p->all = rules_judge(&c->o.rules, w->gopher, p->rest.p, p->rest.n,
                     &value) != R_NONE;
    if (p->all) {
        p->n = 0;
        v->reason = R_EXCLUDED;
        v->value = (double)p->why.words;
    }
}

/* The text without the passages that it shares with held-out text. */
static const char *
unshared(const struct verdict *v, const char *text, size_t *n)
{
    if (v->shared.n == 0)
        return text;
    *n = v->shared.rest.n;
    return v->shared.rest.p;
}

/* Apply the rules that need no other document, and set the keys by which
 * duplicates are found. */
static void
judge_text(const struct cleaning *c, struct clean_worker *w, const char *text,
    size_t n, struct verdict *v)
{
    buf_clear(&v->keys);
    v->shared.n = 0;
    v->reason = rules_judge(&c->o.rules, w->gopher, text, n, &v->value);
    if (v->reason == R_NONE && c->exclude)
        judge_shared(c, w, text, n, v);
    if (v->reason == R_NONE && c->duplicates) {
        text = unshared(v, text, &n);
        duplicates_scan(c->duplicates, &w->words, c->fold, text, n, &v->keys);
    }
}

/* The text that is judged: the document's, or what the conversation says. */
static const char *
judged_text(const struct cleaning *c, const struct doc *d, size_t *n)
{
    const struct verdict *v = d->result;

    *n = c->o.conversations ? v->said.text.n : d->text.n;
    return c->o.conversations ? v->said.text.p : d->text.p;
}

static int
read_conversation(const struct cleaning *c, struct doc *d, struct verdict *v)
{
    int bad = conversation_read(&v->said, d->text.p, d->text.n, &d->e);

    if (bad == 0 && v->said.has_source && c->langs.n > 0)
        bad = err_set(&d->e, EX_INPUT,
            "the record has a member source, which --lang auto would write: "
            "leave --lang out, or rename the member");
    return bad < 0 ? doc_err_at(d, 0) : 0;
}

/* Repair and judge a text: `work` of struct docs_opts. */
static void
examine(void *ctx, size_t worker, struct doc *d, const char *text, size_t n)
{
    const struct cleaning *c = ctx;
    struct clean_worker *w = &c->worker[worker];
    struct verdict *v = new_verdict(d);

    if (w->repair)
        repair_text(w->repair, &text, &n, &v->repair);
    doc_keep_text(d, text, n);
    if (w->repair)
        repair_trim(w->repair);
    if (c->o.conversations && read_conversation(c, d, v) < 0)
        return;
    text = judged_text(c, d, &n);
    if (n > 0 && c->langs.n > 0)
        d->source = langs_detect(&c->langs, text, n);
    if (c->boilerplate)
        boilerplate_scan(&w->words, c->fold, text, n, &v->lines);
    if (n > 0)
        judge_text(c, w, text, n, v);
}

/* ---- one document at a time, in order ---- */

/* Append a line of JSON about a document that is not kept, or about lines that
 * were cut out of a document.  value: what the rule measured; below 0 if it
 * measures nothing, which the line says as null. */
static int
put_dropped(struct text_file *f, const struct doc *d, const char *source,
    const char *reason, double value, const char *text, size_t n, struct err *e)
{
    if (!f->open)
        return 0;
    documents_put_place(&f->line, d, source);
    buf_addf(&f->line, ",\"reason\":\"%s\",\"value\":", reason);
    if (value < 0)
        buf_adds(&f->line, "null");
    else
        buf_addf(&f->line, "%.6g", value);
    buf_adds(&f->line, ",\"text\":");
    documents_string(&f->line, text, n);
    buf_adds(&f->line, "}\n");
    return text_file_flush(f, e);
}

/* Report that held-out text shares the words of a gram with a document, of
 * which therefore bytes [from,to) are left out; to == 0: all. */
static int
report_shared(struct cleaning *c, const struct doc *d,
    const struct exclude_hit *h, size_t from, size_t to, const char *text,
    struct err *e)
{
    struct buf *b = &c->report.line;
    uint64_t item;
    const char *name = exclude_name(c->exclude, h, &item);

    if (!c->report.open)
        return 0;
    buf_addf(b, "%s\t%" PRIu64 "\t%s\t%s\t%" PRIu64 "\t%zu\t",
        SHOWN(d->from->name), d->record, c->in->source[d->source], SHOWN(name),
        item, h->words);
    if (to > 0)
        buf_addf(b, "%zu-%zu\t", from, to);
    else
        buf_adds(b, "all\t");
    for (size_t i = h->from; i < h->to; i++)
        buf_addc(b,
            (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i]);
    buf_addc(b, '\n');
    return text_file_flush(&c->report, e);
}

static int
drop_document(struct cleaning *c, const struct doc *d, const struct verdict *v,
    const char *text, size_t n, struct err *e)
{
    if (v->reason == R_EXCLUDED) {
        c->stats.source[d->source].excluded++;
        if (report_shared(c, d, &v->shared.why, 0, 0, text, e) < 0)
            return -1;
    }
    c->stats.reason[v->reason]++;
    c->stats.source[d->source].dropped++;
    c->stats.dropped_bytes += n;
    return put_dropped(&c->dropped, d, c->in->source[d->source],
        reason_name(v->reason), v->value, text, n, e);
}

/* Append the record of a conversation as it was read; with --lang auto its
 * language becomes the last member. */
static void
put_record(const struct cleaning *c, struct buf *line, const struct doc *d)
{
    size_t n = d->text.n;

    while (n > 0 && d->text.p[n - 1] != '}')
        n--;
    if (c->langs.n == 0) {
        buf_add(line, d->text.p, n);
    } else {
        const char *name = c->in->source[d->source];

        buf_add(line, d->text.p, n - 1);
        buf_adds(line, ", \"source\": ");
        documents_string(line, name, strlen(name));
        buf_addc(line, '}');
    }
    buf_addc(line, '\n');
}

static int
keep_document(struct cleaning *c, const struct doc *d, const char *text,
    size_t n, struct err *e)
{
    const int held = d->key < c->below;
    struct source_counts *s = &c->stats.source[d->source];
    struct text_file *f = held ? &c->held : &c->documents;

    c->stats.held_out += (uint64_t)held;
    c->stats.held_bytes += held ? n : 0;
    if (!held && d->before) /* the run that is resumed has written it */
        return 0;
    if (!held) {
        s->docs++;
        s->bytes += n;
        s->chars += c->o.count ? count_chars(text, n) : 0;
        s->words += c->o.count ? count_words(text, n) : 0;
    }
    if (!f->open)
        return 0;
    if (c->o.conversations)
        put_record(c, &f->line, d);
    else
        documents_put(&f->line, d, c->in->source[d->source], text, n);
    return text_file_flush(f, e);
}

/* Cut boilerplate out of the text and judge the rest again. */
static int
cut_boilerplate(struct cleaning *c, const struct doc *d, struct verdict *v,
    const char **text, size_t *n, struct err *e)
{
    struct clean_worker *w = &c->worker[c->nworker];
    ptrdiff_t lines;

    buf_clear(&c->kept);
    buf_clear(&c->gone);
    lines = boilerplate_cut(c->boilerplate, &v->lines, *text, *n, &c->kept,
        &c->gone, e);
    if (lines <= 0)
        return (int)lines;
    c->stats.lines += (uint64_t)lines;
    if (put_dropped(&c->dropped, d, c->in->source[d->source],
            "boilerplate-lines", (double)lines, c->gone.p, c->gone.n, e) < 0)
        return -1;
    *text = c->kept.n ? c->kept.p : "";
    *n = c->kept.n;
    if (count_words(*text, *n) > 0) {
        judge_text(c, w, *text, *n, v);
        return 0;
    }
    v->reason = R_BOILERPLATE;
    v->value = -1.0;
    return 0;
}

/* Count and report the passages that a document loses because held-out text
 * shares words with them. */
static int
cut_shared(struct cleaning *c, const struct doc *d, const struct verdict *v,
    const char *text, struct err *e)
{
    const struct passages *p = &v->shared;
    const char *source = c->in->source[d->source];

    if (p->n == 0)
        return 0;
    c->stats.source[d->source].excluded++;
    c->stats.cut_docs++;
    c->stats.passages += p->n;
    buf_clear(&c->gone);
    for (size_t i = 0; i < p->n; i++) {
        const struct passage *q = &p->v[i];

        buf_add(&c->gone, text + q->from, q->to - q->from);
        if (report_shared(c, d, &q->hit, q->from, q->to, text, e) < 0)
            return -1;
    }
    c->stats.cut_bytes += c->gone.n;
    return put_dropped(&c->dropped, d, source, "excluded-paragraphs",
        (double)p->n, c->gone.p, c->gone.n, e);
}

/* Keep, hold out or drop a document: `put` of struct docs_opts. */
static int
put_cleaned(void *ctx, const struct doc *d, struct err *e)
{
    struct cleaning *c = ctx;
    struct verdict *v = d->result;
    size_t n;
    const char *text = judged_text(c, d, &n);

    if (!d->before) {
        c->repaired.nfc += v->repair.nfc;
        c->repaired.controls += v->repair.controls;
        c->repaired.romanian += v->repair.romanian;
        c->stats.empty += n == 0;
    }
    if (n == 0)
        return 0;
    if (c->boilerplate && cut_boilerplate(c, d, v, &text, &n, e) < 0)
        return -1;
    if (v->reason == R_NONE && c->duplicates) {
        const int found = duplicates_judge(c->duplicates, &v->keys, e);

        if (found < 0)
            return -1;
        v->reason = (enum reason)found;
        v->value = -1.0;
    }
    if (v->reason != R_NONE)
        return drop_document(c, d, v, text, n, e);
    if (cut_shared(c, d, v, text, e) < 0)
        return -1;
    text = unshared(v, text, &n);
    return keep_document(c, d, text, n, e);
}

/* ---- beginning and end ---- */

/* Parse --hold-out PERCENT%:FILE. */
static int
parse_hold_out(struct cleaning *c, struct err *e)
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
open_exclude(struct cleaning *c, const struct docs_opts *run, struct err *e)
{
    const struct cleaning_opts *o = &c->o;

    if (o->exclude.n == 0)
        return o->exclude_report || o->exclude_words > 0 ||
                o->exclude_common != EXCLUDE_COMMON
            ? err_set(e, EX_USAGE,
                  "--exclude-words, --exclude-common and --exclude-report "
                  "belong to --exclude: give its file too")
            : 0;
    c->exclude = exclude_new(&o->exclude, o->exclude_words, o->exclude_common,
        o->conversations, c->in, run, c->fold, e);
    if (!c->exclude || text_file_begin(&c->report, o->exclude_report, e) < 0)
        return -1;
    if (c->report.open)
        buf_adds(&c->report.line,
            "input\trecord\tsource\theld_out\titem\twords\tbytes\ttext\n");
    return 0;
}

static int
open_files(struct cleaning *c, struct err *e)
{
    const struct cleaning_opts *o = &c->o;

    if (!o->count && (!o->output || strcmp(o->output, "-") == 0))
        text_file_stdout(&c->documents);
    else if (!o->count && text_file_begin(&c->documents, o->output, e) < 0)
        return -1;
    if (text_file_begin(&c->dropped, o->dropped, e) < 0)
        return -1;
    return text_file_begin(&c->held, o->hold_out, e);
}

static int
open_cleaning(struct cleaning *c, const char *langs,
    const struct docs_opts *run, struct err *e)
{
    const struct cleaning_opts *o = &c->o;
    size_t sets = o->boilerplate > 0;

    if (dup_parse(&c->dup, &o->dedup, e) < 0 || parse_hold_out(c, e) < 0)
        return -1;
    out_differ("-o", o->output != NULL ? o->output : "-", "--hold-out",
        o->hold_out, "--dropped", o->dropped, "--exclude-report",
        o->exclude_report, NULL);
    if (langs && langs_add(&c->langs, langs, c->in, e) < 0)
        return -1;
    sets += (size_t)c->dup.exact + (size_t)c->dup.near;
    if ((sets > 0 || o->exclude.n > 0) && (c->fold = fold_new(e)) == NULL)
        return -1;
    if (open_exclude(c, run, e) < 0)
        return -1;
    if (c->dup.exact || c->dup.near)
        c->duplicates = duplicates_new(&c->dup, o->mem / sets);
    if (o->boilerplate)
        c->boilerplate = boilerplate_new(o->boilerplate, o->mem / sets);
    return open_files(c, e);
}

static void
new_workers(struct cleaning *c, size_t n)
{
    c->nworker = n;
    c->worker = xcalloc(n + 1, sizeof *c->worker);
    for (size_t i = 0; i <= n; i++) {
        c->worker[i].gopher = gopher_new();
        if (c->o.repair)
            c->worker[i].repair = repair_new(c->o.repair);
    }
}

struct cleaning *
cleaning_new(const struct cleaning_opts *o, const char *langs,
    struct inputs *in, struct docs_opts *run, struct err *e)
{
    struct cleaning *c = xcalloc(1, sizeof *c);

    c->o = *o;
    c->in = in;
    if (open_cleaning(c, langs, run, e) < 0) {
        cleaning_free(c);
        return NULL;
    }
    new_workers(c, docs_threads(run));
    c->stats.source = xcalloc(in->nsource, sizeof *c->stats.source);
    run->work = examine;
    run->work_ctx = c;
    run->free_result = free_verdict;
    run->put = put_cleaned;
    run->ctx = c;
    /* A resumed run reads from the beginning if earlier documents decide what
     * is dropped, or if a file lists dropped or held-out documents. */
    run->replay = c->duplicates || c->boilerplate || c->dropped.open ||
        c->held.open || c->report.open;
    return c;
}

uint64_t
cleaning_digest(const struct cleaning *c)
{
    return c->exclude ? exclude_digest(c->exclude) : 0;
}

void
cleaning_head(struct cleaning *c, const struct documents_run *run)
{
    const struct documents_run whole = { run->options, run->inputs, { 0 } };

    if (c->o.conversations)
        return;
    if (c->documents.open)
        documents_put_head(&c->documents.line, c->in, run);
    if (c->held.open) /* this file is always written anew */
        documents_put_head(&c->held.line, c->in, &whole);
}

static void
note_excluded(const struct cleaning *c)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < c->in->nsource; i++)
        if (c->stats.source[i].excluded > 0)
            buf_addf(&b, "%s %s %" PRIu64, b.n > 0 ? "," : "", c->in->source[i],
                c->stats.source[i].excluded);
    if (c->exclude)
        note("share %zu words%s with held-out text:%s",
            exclude_words(c->exclude),
            c->o.conversations && c->o.exclude_words == 0 ? ", in a question 8,"
                                                          : "",
            b.n > 0 ? b.p : " none");
    buf_release(&b);
}

static void
note_repairs(const struct cleaning *c)
{
    if (c->o.repair & REPAIR_NFC)
        note("%" PRIu64 " documents were changed by NFC", c->repaired.nfc);
    if (c->o.repair & REPAIR_CONTROLS)
        note("%" PRIu64 " control characters were removed",
            c->repaired.controls);
    if (c->o.repair & REPAIR_ROMANIAN)
        note("%" PRIu64 " letters with a cedilla got a comma",
            c->repaired.romanian);
}

static void
note_dropped(const struct cleaning *c)
{
    const size_t spills =
        (c->duplicates ? duplicates_spills(c->duplicates) : 0) +
        (c->boilerplate ? boilerplate_spills(c->boilerplate) : 0);
    struct buf b = { 0 };
    uint64_t all = 0;

    for (enum reason r = 0; r < R_NONE; r++) {
        if (c->stats.reason[r] > 0)
            buf_addf(&b, "%s %s %" PRIu64, all ? "," : ":", reason_name(r),
                c->stats.reason[r]);
        all += c->stats.reason[r];
    }
    if (all > 0)
        note("dropped %" PRIu64 " documents, %.3f MB%s", all,
            (double)c->stats.dropped_bytes / 1e6, b.p);
    buf_release(&b);
    note_excluded(c);
    if (c->stats.cut_docs > 0)
        note("cut %" PRIu64 " passages, %.3f MB, out of %" PRIu64
             " of these documents",
            c->stats.passages, (double)c->stats.cut_bytes / 1e6,
            c->stats.cut_docs);
    if (c->stats.lines > 0)
        note("cut %" PRIu64 " lines of boilerplate", c->stats.lines);
    if (spills > 0)
        vnote("keys went to %zu files", spills);
    if (c->held.open)
        note("held out %" PRIu64 " documents, %.3f MB: %s", c->stats.held_out,
            (double)c->stats.held_bytes / 1e6, c->o.hold_out);
}

int
cleaning_end(struct cleaning *c, struct err *e)
{
    struct text_file *const f[] = { &c->dropped, &c->report, &c->held,
        &c->documents };

    note_repairs(c);
    note_dropped(c);
    if (c->held.open && !c->o.conversations)
        documents_put_end(&c->held.line);
    if (c->documents.open && !c->o.conversations)
        documents_put_end(&c->documents.line);
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        if (text_file_end(f[i], e) < 0)
            return -1;
    return 0;
}

const struct stats *
cleaning_stats(const struct cleaning *c)
{
    return &c->stats;
}

void
cleaning_free(struct cleaning *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->worker && i <= c->nworker; i++) {
        gopher_free(c->worker[i].gopher);
        repair_free(c->worker[i].repair);
        words_release(&c->worker[i].words);
    }
    free(c->worker);
    free(c->stats.source);
    exclude_free(c->exclude);
    duplicates_free(c->duplicates);
    boilerplate_free(c->boilerplate);
    fold_free(c->fold);
    text_file_release(&c->documents);
    text_file_release(&c->dropped);
    text_file_release(&c->held);
    text_file_release(&c->report);
    buf_release(&c->kept);
    buf_release(&c->gone);
    free(c);
}
