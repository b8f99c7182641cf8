/* The text of a cursor: see cursor.h */
#include "cursor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const length_names[] = { "batches", "tokens", "epochs", NULL };

/* Append a number and the character `then`.  Every batch carries a cursor, and
 * printf would take half of the time to write one. */
static void
put_number(struct buf *b, uint64_t v, int then)
{
    char text[24], *p = text + sizeof text;

    *--p = (char)then;
    do
        *--p = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    buf_add(b, p, (size_t)(text + sizeof text - p));
}

static void
put_signed(struct buf *b, int64_t v, int then)
{
    if (v < 0)
        buf_addc(b, '-');
    put_number(b, v < 0 ? -(uint64_t)v : (uint64_t)v, then);
}

/* End a list: remove the comma after its last element. */
static void
end_list(struct buf *b)
{
    if (b->p[b->n - 1] == ',')
        b->p[--b->n] = '\0';
}

static void
write_docs(struct buf *b, const struct cursor *c)
{
    const struct cursor_spec *s = &c->spec;
    char hex[33];

    buf_addf(b, " pack=%s open=%zu weights=", pack_names[s->pack], s->open);
    if (s->natural)
        buf_adds(b, "natural");
    if (s->hashed || s->nw > CURSOR_SOURCES) {
        chain_hex(&s->w_hash, hex);
        buf_addf(b, "hash:%s", hex);
    }
    for (size_t i = 0; !s->natural && i < s->nw && s->nw <= CURSOR_SOURCES; i++)
        put_number(b, s->w[i], ',');
    end_list(b);
    if (s->staged) {
        chain_hex(&s->curriculum, hex);
        buf_addf(b, " curriculum=%s", hex);
    }
    if (c->recount || c->nsource > CURSOR_SOURCES) {
        buf_adds(b, " sources=recount");
        return;
    }
    buf_adds(b, " sources=");
    for (size_t i = 0; i < c->nsource; i++) {
        put_number(b, c->place[i].epoch, '.');
        put_number(b, c->place[i].block, '.');
        put_number(b, c->place[i].doc, '.');
        put_number(b, c->place[i].off, '.');
        put_signed(b, c->owed[i], ',');
    }
    end_list(b);
    buf_adds(b, " window=");
    for (size_t i = 0; i < c->nwindow; i++) {
        const struct piece *p = &c->window[i];

        put_number(b, p->source, '.');
        put_number(b, p->frame, '.');
        put_number(b, p->doc, '.');
        put_number(b, p->off, '.');
        put_number(b, p->len, '.');
        put_number(b, c->rows - p->born, ',');
    }
    end_list(b);
}

void
cursor_write(struct buf *b, const struct cursor *c)
{
    const struct cursor_spec *s = &c->spec;
    char data[33], chain[33];

    chain_hex(&c->data, data);
    chain_hex(&c->chain, chain);
    buf_addf(b,
        "cursor=2 algorithm=%s data=%s seq=%" PRIu64 " chain=%s rows=%" PRIu64
        " tokens=%" PRIu64 " batch=%zu T=%zu seed=%" PRIu64
        " shuffle=%d length=%s:%" PRIu64,
        c->algorithm, data, c->seq, chain, c->rows, c->tokens, s->B, s->T,
        s->seed, s->shuffle, length_names[s->length], s->limit);
    if (s->ranks > 1)
        buf_addf(b, " rank=%zu/%zu:%" PRIu64, s->rank, s->ranks, c->own);
    if (strcmp(c->algorithm, CURSOR_DOCS) == 0)
        write_docs(b, c);
    else
        buf_addf(b, " open=%zu", s->open);
}

/* The text that is being parsed; after the first error all numbers are 0. */
struct scan {
    const char *text, *p;
    const char *bad; /* what was expected at the first error; NULL: none */
};

static void
scan_text(struct scan *s, const char *what)
{
    const size_t n = strlen(what);

    if (s->bad)
        return;
    if (strncmp(s->p, what, n) != 0)
        s->bad = what;
    else
        s->p += n;
}

static int
next_is(struct scan *s, int ch)
{
    if (s->bad || *s->p != ch)
        return 0;
    s->p++;
    return 1;
}

static uint64_t
scan_number(struct scan *s, uint64_t lo, uint64_t hi)
{
    const char *const from = s->p;
    uint64_t v = 0;

    if (s->bad)
        return 0;
    for (; *s->p >= '0' && *s->p <= '9'; s->p++) {
        const uint64_t digit = (uint64_t)(*s->p - '0');

        if (v > (UINT64_MAX - digit) / 10)
            break;
        v = 10 * v + digit;
    }
    /* a number has one spelling, without leading zeros */
    if (s->p == from || (*from == '0' && s->p > from + 1) || v < lo || v > hi)
        s->bad = "a number in range";
    return s->bad ? 0 : v;
}

static size_t
scan_word(struct scan *s, const char *const *words)
{
    for (size_t i = 0; !s->bad && words[i]; i++) {
        const size_t n = strlen(words[i]);

        if (strncmp(s->p, words[i], n) == 0) {
            s->p += n;
            return i;
        }
    }
    s->bad = s->bad ? s->bad : words[0];
    return 0;
}

static void
scan_hash(struct scan *s, struct chain *c)
{
    char hex[33] = "";

    if (s->bad)
        return;
    strncpy(hex, s->p, 32);
    if (chain_parse(c, hex) < 0)
        s->bad = "a hash of 32 digits";
    else
        s->p += 32;
}

static void
read_weights(struct scan *s, struct cursor_spec *c)
{
    const size_t most = strlen(s->p) + 1;

    c->natural = 0;
    if (strncmp(s->p, "natural", 7) == 0) {
        s->p += 7;
        c->natural = 1;
        return;
    }
    if (strncmp(s->p, "hash:", 5) == 0) {
        s->p += 5;
        c->hashed = 1;
        scan_hash(s, &c->w_hash);
        return;
    }
    c->w = xreallocarray(NULL, most, sizeof *c->w);
    do
        c->w[c->nw++] = scan_number(s, 0, MIX_ONE);
    while (next_is(s, ','));
}

static void
read_places(struct scan *s, struct cursor *c)
{
    const size_t most = strlen(s->p) + 1;

    c->place = xcalloc(most, sizeof *c->place);
    c->owed = xcalloc(most, sizeof *c->owed);
    do {
        struct place *p = &c->place[c->nsource];
        int minus;

        p->epoch = scan_number(s, 0, UINT64_MAX);
        scan_text(s, ".");
        p->block = scan_number(s, 0, UINT64_MAX);
        scan_text(s, ".");
        p->doc = scan_number(s, 0, UINT64_MAX);
        scan_text(s, ".");
        p->off = scan_number(s, 0, UINT64_MAX);
        scan_text(s, ".");
        minus = next_is(s, '-');
        c->owed[c->nsource] = (int64_t)scan_number(s, 0, (uint64_t)1 << 60);
        if (minus)
            c->owed[c->nsource] = -c->owed[c->nsource];
        c->nsource++;
    } while (next_is(s, ','));
}

static void
read_window(struct scan *s, struct cursor *c)
{
    if (s->bad || *s->p == '\0')
        return;
    do {
        struct piece *p = &c->window[c->nwindow];

        if (c->nwindow == PACK_WINDOW) {
            s->bad = "at most 64 pieces";
            return;
        }
        p->source = (uint32_t)scan_number(s, 0, 65535);
        scan_text(s, ".");
        p->frame = (uint32_t)scan_number(s, 0, UINT32_MAX);
        scan_text(s, ".");
        p->doc = (uint32_t)scan_number(s, 0, UINT32_MAX);
        scan_text(s, ".");
        p->off = (uint32_t)scan_number(s, 0, UINT32_MAX);
        scan_text(s, ".");
        p->len = (uint32_t)scan_number(s, 1, c->spec.T);
        scan_text(s, ".");
        p->born = c->rows - scan_number(s, 0, c->rows);
        c->nwindow++;
    } while (next_is(s, ','));
}

static void
read_cursor_head(struct scan *s, struct cursor *c)
{
    size_t n = 0;

    scan_text(s, "cursor=2 algorithm=");
    while (!s->bad && *s->p && *s->p != ' ' && n + 1 < sizeof c->algorithm)
        c->algorithm[n++] = *s->p++;
    scan_text(s, " data=");
    scan_hash(s, &c->data);
    scan_text(s, " seq=");
    c->seq = scan_number(s, 1, UINT64_MAX / 4);
    scan_text(s, " chain=");
    scan_hash(s, &c->chain);
    scan_text(s, " rows=");
    c->rows = scan_number(s, 0, (uint64_t)1 << 60);
    scan_text(s, " tokens=");
    c->tokens = scan_number(s, 0, (uint64_t)1 << 60);
    scan_text(s, " batch=");
    c->spec.B = (size_t)scan_number(s, 1, UINT32_MAX);
    scan_text(s, " T=");
    c->spec.T = (size_t)scan_number(s, 1, UINT32_MAX);
    scan_text(s, " seed=");
    c->spec.seed = scan_number(s, 0, UINT64_MAX);
    scan_text(s, " shuffle=");
    c->spec.shuffle = (int)scan_number(s, 0, 1);
    scan_text(s, " length=");
    c->spec.length = (enum length)scan_word(s, length_names);
    scan_text(s, ":");
    c->spec.limit = scan_number(s, 1, (uint64_t)1 << 60);
    c->spec.ranks = 1;
    c->own = c->tokens;
    if (!s->bad && strncmp(s->p, " rank=", 6) == 0) {
        s->p += 6;
        c->spec.rank = (size_t)scan_number(s, 0, UINT32_MAX);
        scan_text(s, "/");
        c->spec.ranks = (size_t)scan_number(s, c->spec.rank + 1, c->spec.B);
        scan_text(s, ":");
        c->own = scan_number(s, 0, c->tokens);
    }
}

/* Parse the fields of the documents' algorithm. */
static void
scan_docs(struct scan *s, struct cursor *c)
{
    scan_text(s, " pack=");
    c->spec.pack = (enum pack)scan_word(s, pack_names);
    scan_text(s, " open=");
    c->spec.open = (size_t)scan_number(s, 1, UINT32_MAX);
    scan_text(s, " weights=");
    if (!s->bad)
        read_weights(s, &c->spec);
    if (!s->bad && strncmp(s->p, " curriculum=", 12) == 0) {
        s->p += 12;
        c->spec.staged = 1;
        scan_hash(s, &c->spec.curriculum);
    }
    scan_text(s, " sources=");
    c->recount = !s->bad && strncmp(s->p, "recount", 7) == 0;
    if (c->recount) {
        s->p += 7;
    } else {
        if (!s->bad)
            read_places(s, c);
        scan_text(s, " window=");
        read_window(s, c);
    }
    if (!s->bad &&
        (c->recount ? c->spec.nw > 0
                    : c->spec.hashed ||
                    (!c->spec.natural && c->spec.nw != c->nsource)))
        s->bad = "as many weights as sources";
}

int
cursor_read(struct cursor *c, const char *text, struct err *e)
{
    struct scan s = { text, text, NULL };

    memset(c, 0, sizeof *c);
    if (strncmp(text, "cursor=", 7) == 0 && strncmp(text, "cursor=2 ", 9) != 0)
        return err_set(e, EX_INPUT,
            "cursor of version %.10s, but this program reads version 2",
            text + 7);
    read_cursor_head(&s, c);
    if (!s.bad && strcmp(c->algorithm, CURSOR_DOCS) == 0) {
        scan_docs(&s, c);
    } else if (!s.bad && strcmp(c->algorithm, CURSOR_ROWS) == 0) {
        scan_text(&s, " open=");
        c->spec.open = (size_t)scan_number(&s, 0, UINT32_MAX);
    } else if (!s.bad) {
        return err_set(e, EX_INPUT,
            "cursor of algorithm %s, which this program does not know",
            c->algorithm);
    }
    if (!s.bad && *s.p != '\0')
        s.bad = "the end";
    if (!s.bad)
        return 0;
    cursor_release(c);
    return err_set(e, EX_INPUT, "cursor: offset %zu: \"%s\" expected",
        (size_t)(s.p - text), s.bad);
}

void
cursor_release(struct cursor *c)
{
    free(c->spec.w);
    free(c->place);
    free(c->owed);
    memset(c, 0, sizeof *c);
}
