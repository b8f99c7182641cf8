/*
 * Wikitext to plain text; see wiki.h.
 *
 * One pass writes the text; a stack holds the place in that text where each
 * open template, table or link began.  When a template or table closes, the
 * text is cut back to that place; when a link closes, the link's text is
 * edited.  Elements that never close stay as text.  The stack is bounded, so
 * the time is at most its depth times the length.
 */
#include "docs/wiki.h"

#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEPTH 40

enum open_kind { TEMPLATE, TABLE, LINK };

struct wiki {
    const char *p, *end;
    struct buf *out;
    struct {
        enum open_kind kind;
        size_t at; /* offset in out where it began */
    } open[DEPTH];
    size_t n;
    size_t lost;      /* number of open "{{" beyond DEPTH */
    size_t outer;     /* number of open "[http..." */
    unsigned missing; /* bit i: no </ends[i]> follows */
};

/* Elements that are not parsed.  The text of the first LITERAL elements is
 * kept, with only its entities decoded; the text of the other elements is
 * dropped. */
static const char *const ends[] = { "nowiki", "pre", "ref", "math", "gallery",
    "timeline", "score", "syntaxhighlight", "source", "table", "imagemap",
    "chem", "graph", "hiero", "templatedata", "mapframe", "includeonly", NULL };
#define LITERAL 2

/* Tags of HTML that MediaWiki knows (Sanitizer.php), and tags of extensions
 * that Wikipedias have.  Any other <word> is text. */
static const char html_tags[] =
    " abbr b bdi bdo big blockquote br caption center cite code data dd del "
    "dfn div dl dt em font h1 h2 h3 h4 h5 h6 hr i ins kbd li link mark meta "
    "ol p pre q rb rp rt rtc ruby s samp small span strike strong sub sup "
    "table td th time tr tt u ul var wbr ";
static const char extension_tags[] =
    " categorytree ce charinsert chart chem dynamicpagelist gallery graph "
    "hiero imagemap includeonly indicator inputbox langconvert languages "
    "mapframe maplink math noinclude nowiki onlyinclude pagelist pagequality "
    "pages phonos poem pre quiz ref references rss score section source "
    "syntaxhighlight templatedata templatestyles timeline translate tvar ";

/* Prefixes of links to other languages: Wikipedias and their other names. */
static const char languages[] =
    " aa ab ace ady af ak als alt am ami an ang anp ar arc ary arz as ast "
    "atj av avk awa ay az azb ba ban bar bat-smg bcl be be-tarask be-x-old "
    "bg bh bi bjn blk bm bn bo bpy br bs btm bug bxr ca cbk-zam cdo ce ceb "
    "ch cho chr chy ckb co cr crh cs csb cu cv cy cz da dag de din diq dk "
    "dsb dty dv dz ee el eml en eo es et eu ext fa fat ff fi fiu-vro fj fo "
    "fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu "
    "guc gur guw gv ha hak haw he hi hif ho hr hsb ht hu hy hyw hz ia id ie "
    "ig ii ik ilo inh io is it iu ja jam jbo jp jv ka kaa kab kbd kbp kcg kg "
    "ki kj kk kl km kn ko koi kr krc ks ksh ku kv kw ky la lad lb lbe lez "
    "lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh "
    "mhr mi min mk ml mn mni mnw mo mr mrj ms mt mus mwl my myv mzn na nah "
    "nan nap nb nds nds-nl ne new ng nia nl nn no nov nqo nrm nso nv ny oc "
    "olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt "
    "pwn qu rm rmy rn ro roa-rup roa-tara ru rue rup rw sa sah sat sc scn "
    "sco sd se sg sgs sh shi shn shy si simple sk skr sl sm smn sn so sq sr "
    "srn ss st stq su sv sw szl szy ta tay tcy te tet tg th ti tk tl tly tn "
    "to tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo "
    "vro wa war wo wuu xal xh xmf yi yo yue za zea zh zh-classical "
    "zh-min-nan zh-yue zu ";

/* Lower-case name spaces of files and categories in the languages of the
 * European Union; in dumps of other languages such links stay as text. */
static const char *const spaces[] = { "file", "image", "media", "category",
    "datei", "bild", "kategorie", "fichier", "catégorie", "archivo", "imagen",
    "categoría", "ficheiro", "imagem", "categoria", "immagine", "plik",
    "grafika", "kategoria", "bestand", "afbeelding", "categorie", "fil",
    "billede", "kategori", "tiedosto", "kuva", "luokka", "soubor", "súbor",
    "obrázok", "kategória", "fájl", "kép", "fișier", "fişier", "imagine",
    "файл", "картинка", "категория", "αρχείο", "εικόνα", "κατηγορία", "pilt",
    "fail", "kategooria", "attēls", "kategorija", "vaizdas", "slika",
    "datoteka", "íomhá", "catagóir", "stampa", NULL };

/* ---- entities ---- */

static const struct {
    const char *name;
    uint32_t c;
} entity[] = { { "lt", '<' }, { "gt", '>' }, { "amp", '&' }, { "quot", '"' },
    { "apos", '\'' }, { "nbsp", 0xa0 }, { "ndash", 0x2013 },
    { "mdash", 0x2014 }, { "hellip", 0x2026 }, { "laquo", 0xab },
    { "raquo", 0xbb }, { "bdquo", 0x201e }, { "ldquo", 0x201c },
    { "rdquo", 0x201d }, { "lsquo", 0x2018 }, { "rsquo", 0x2019 },
    { "minus", 0x2212 }, { "times", 0xd7 }, { "middot", 0xb7 },
    { "thinsp", 0x2009 }, { "ensp", 0x2002 }, { "shy", 0xad }, { "deg", 0xb0 },
    { "euro", 0x20ac }, { "sect", 0xa7 }, { "rarr", 0x2192 },
    { "larr", 0x2190 }, { "bull", 0x2022 }, { "prime", 0x2032 },
    { "Prime", 0x2033 }, { "sup2", 0xb2 }, { "sup3", 0xb3 }, { "frac12", 0xbd },
    { "zwnj", 0x200c } };

/* Returns the length of the entity at p, where '&' is, and its character in *c;
 * 0: the '&' begins no entity. */
static size_t
entity_at(const char *p, const char *end, uint32_t *c)
{
    const size_t most = (size_t)(end - p) < 12 ? (size_t)(end - p) : 12;
    const char *stop = memchr(p, ';', most);
    const size_t n = stop ? (size_t)(stop - p) : 0;
    char s[12] = "", *rest;

    if (n < 2)
        return 0;
    memcpy(s, p + 1, n - 1);
    if (s[0] == '#') {
        const int hex = s[1] == 'x' || s[1] == 'X';
        const char *digits = s + 1 + hex;
        const unsigned long v = strtoul(digits, &rest, hex ? 16 : 10);

        *c = (uint32_t)v;
        if (*rest || !strchr("0123456789abcdefABCDEF", *digits) || !*digits ||
            v < 9 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
            return 0;
        return n + 1;
    }
    for (size_t i = 0; i < sizeof entity / sizeof *entity; i++)
        if (strcmp(entity[i].name, s) == 0) {
            *c = entity[i].c;
            return n + 1;
        }
    return 0;
}

static void
unescape(const char *p, size_t n, struct buf *out)
{
    const char *end = p + n;

    while (p < end) {
        const char *amp = memchr(p, '&', (size_t)(end - p));
        uint32_t c = 0;
        size_t k;

        buf_add(out, p, (size_t)((amp ? amp : end) - p));
        if (!amp)
            return;
        k = entity_at(amp, end, &c);
        if (k)
            utf8_put(out, c);
        else
            buf_addc(out, '&');
        p = amp + (k ? k : 1);
    }
}

/* ---- open templates, tables and links ---- */

static int
starts(const struct wiki *w, const char *s)
{
    const size_t n = strlen(s);

    return (size_t)(w->end - w->p) >= n && memcmp(w->p, s, n) == 0;
}

static int
line_begins(const struct wiki *w)
{
    return w->out->n == 0 || w->out->p[w->out->n - 1] == '\n';
}

static int
push_template(struct wiki *w, enum open_kind kind)
{
    if (w->n == DEPTH)
        return 0;
    w->open[w->n].kind = kind;
    w->open[w->n++].at = w->out->n;
    return 1;
}

/* Close the innermost open element of this kind and forget those inside it.
 * Returns where it began in out; SIZE_MAX: none is open. */
static size_t
pop(struct wiki *w, enum open_kind kind)
{
    for (size_t i = w->n; i-- > 0;)
        if (w->open[i].kind == kind) {
            w->n = i;
            return w->open[i].at;
        }
    return SIZE_MAX;
}

static void
cut_trailing(struct buf *b, size_t n)
{
    if (b->p) {
        b->n = n;
        b->p[n] = '\0';
    }
}

/* Lower case of c, for the letters that occur in the names of `spaces`. */
static uint32_t
lower_letter(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if ((c >= 0xc0 && c <= 0xde) || (c >= 0x391 && c <= 0x3a9) ||
        (c >= 0x410 && c <= 0x42f))
        return c + 32;
    return c >= 0x100 && c < 0x180 && !(c & 1) ? c + 1 : c;
}

/* Is s[n], in upper or lower case, one of `words`, each of which has blanks
 * around it? */
static int
is_listed_tag(const char *words, const char *s, size_t n)
{
    char word[24] = " ";

    if (n == 0 || n > sizeof word - 3)
        return 0;
    for (size_t i = 0; i < n; i++)
        word[i + 1] = (char)lower_letter((unsigned char)s[i]);
    word[n + 1] = ' ';
    return memchr(s, ' ', n) == NULL && strstr(words, word) != NULL;
}

/* Is s[n], the prefix of a link's target, a name space of files or categories,
 * or a language? */
static int
is_space(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    struct buf b = { 0 };
    int found;

    if (n == 0 || n > 40)
        return 0;
    for (size_t k; p < end; p += k) {
        const uint32_t c = utf8_next(p, end, &k);

        if (c == UTF8_BAD)
            break;
        utf8_put(&b, lower_letter(c));
    }
    while (b.n > 0 && b.p[b.n - 1] == ' ')
        b.p[--b.n] = '\0';
    found = is_listed_tag(languages, b.p, b.n);
    for (size_t i = 0; spaces[i] && !found && b.n; i++)
        found = strcmp(spaces[i], b.p) == 0;
    buf_release(&b);
    return found;
}

/* Called at the end of a link [[target|text]]: keep its text.  `at` is where
 * the target begins in out. */
static void
close_link(struct wiki *w, size_t at)
{
    struct buf *o = w->out;
    const char *s = o->p + at, *colon, *bar;
    size_t n = o->n - at;

    if (n == 0)
        return;
    colon = memchr(s, ':', n);
    bar = memchr(s, '|', n);
    if (colon && colon != s && (!bar || colon < bar) &&
        is_space(s, (size_t)(colon - s))) {
        cut_trailing(o, at);
        return;
    }
    if (bar) {
        n -= (size_t)(bar + 1 - s);
        memmove(o->p + at, bar + 1, n);
        cut_trailing(o, at + n);
    } else if (colon == s) {
        memmove(o->p + at, s + 1, n - 1);
        cut_trailing(o, at + n - 1);
    }
}

static int
tag_opens_or_closes(struct wiki *w)
{
    size_t at;

    if (starts(w, "{{")) {
        w->lost += !push_template(w, TEMPLATE);
    } else if (starts(w, "}}")) {
        if (w->lost)
            w->lost--;
        else if ((at = pop(w, TEMPLATE)) != SIZE_MAX)
            cut_trailing(w->out, at);
    } else if (starts(w, "{|") && line_begins(w)) {
        push_template(w, TABLE);
    } else if (starts(w, "|}") && line_begins(w)) {
        /* "|}}" in a template is an empty last argument, not a table's end. */
        if ((starts(w, "|}}") && w->n && w->open[w->n - 1].kind == TEMPLATE) ||
            (at = pop(w, TABLE)) == SIZE_MAX)
            return 0;
        cut_trailing(w->out, at);
    } else if (starts(w, "[[")) {
        push_template(w, LINK);
    } else if (starts(w, "]]")) {
        if ((at = pop(w, LINK)) != SIZE_MAX)
            close_link(w, at);
    } else {
        return 0;
    }
    w->p += 2;
    return 1;
}

/* ---- elements ---- */

/* Find the next </name>; *after: the place behind it.  NULL: there is none. */
static const char *
end_tag(const struct wiki *w, const char *p, const char *name,
    const char **after)
{
    const size_t n = strlen(name);

    while ((p = memchr(p, '<', (size_t)(w->end - p))) != NULL) {
        const char *q = p + 2 + n;

        if ((size_t)(w->end - p) > n + 2 && p[1] == '/' &&
            strncasecmp(p + 2, name, n) == 0) {
            while (q < w->end && (*q == ' ' || *q == '\t' || *q == '\n'))
                q++;
            if (q < w->end && *q == '>') {
                *after = q + 1;
                return p;
            }
        }
        p++;
    }
    return NULL;
}

struct wiki_tag {
    const char *name;
    size_t n;
    const char *after; /* start of the text after the tag's ">" */
};

/* Parse the tag at w->p, where '<' is; 0: it is text.  An HTML tag must have an
 * attribute with "=", or none: so "x<s and y>z" stays text, though MediaWiki
 * takes "<s and y>" for a tag. */
static int
tag_at(const struct wiki *w, struct wiki_tag *t)
{
    const size_t left = (size_t)(w->end - w->p);
    const size_t most = left < 2048 ? left : 2048;
    const char *end = memchr(w->p, '>', most), *p;

    if (!end)
        return 0;
    t->after = end + 1;
    t->name = w->p + 1 + (w->p[1] == '/');
    for (p = t->name; p < end && !strchr(" \t\n/", *p);)
        p++;
    t->n = (size_t)(p - t->name);
    if (is_listed_tag(extension_tags, t->name, t->n))
        return 1;
    while (p < end && strchr(" \t\n/", *p))
        p++;
    return is_listed_tag(html_tags, t->name, t->n) &&
        (p == end || memchr(p, '=', (size_t)(end - p))) &&
        !memchr(p, '<', (size_t)(end - p));
}

/* w->p is behind the start tag *t.  If the tag's element is one of `ends` and
 * has an end tag, go behind the end tag. */
static void
pass_element(struct wiki *w, const struct wiki_tag *t)
{
    const char *stop, *after;
    size_t i = 0;

    while (ends[i] &&
        (strlen(ends[i]) != t->n || strncasecmp(ends[i], t->name, t->n) != 0))
        i++;
    if (!ends[i] || w->missing >> i & 1)
        return;
    stop = end_tag(w, w->p, ends[i], &after);
    if (!stop) {
        w->missing |= 1u << i;
        return;
    }
    if (i < LITERAL)
        unescape(w->p, (size_t)(stop - w->p), w->out);
    w->p = after;
}

/* Skip a comment, or a tag and what belongs to it. */
static int
wiki_element(struct wiki *w)
{
    struct wiki_tag t;
    const char *p;

    if (starts(w, "<!--")) {
        for (p = w->p + 4; (p = memchr(p, '>', (size_t)(w->end - p))); p++)
            if (p[-1] == '-' && p[-2] == '-')
                break;
        w->p = p ? p + 1 : w->end;
        return 1;
    }
    if (!tag_at(w, &t))
        return 0;
    if (t.n == 2 && strncasecmp(t.name, "br", 2) == 0)
        buf_addc(w->out, '\n');
    w->p = t.after;
    if (t.name[-1] != '/' && t.after[-2] != '/')
        pass_element(w, &t);
    return 1;
}

/* At a link [http://example.org text], skip the bracket and the address, or the
 * whole link if it has no text, and return 1; else 0. */
static int
outer_link(struct wiki *w)
{
    const size_t left = (size_t)(w->end - w->p);
    const size_t most = left < 4096 ? left : 4096;
    const char *stop, *space;

    if (!starts(w, "[http") && !starts(w, "[//") && !starts(w, "[ftp") &&
        !starts(w, "[mailto:"))
        return 0;
    for (stop = w->p; stop < w->p + most && *stop != ']' && *stop != '\n';)
        stop++;
    if (stop == w->p + most || *stop != ']')
        return 0;
    space = memchr(w->p, ' ', (size_t)(stop - w->p));
    if (!space) {
        w->p = stop + 1; /* an address without text */
        return 1;
    }
    w->p = space + 1;
    w->outer++;
    return 1;
}

/* ---- lines ---- */

/* Skip marks at the beginning of a line; 1: there were some; 0: none. */
static int
line_mark(struct wiki *w)
{
    const char *p = w->p;

    if (!line_begins(w) || (w->n && w->open[w->n - 1].at == w->out->n))
        return 0; /* "[[:Category" is no list */
    if (*p == '=') {
        while (p < w->end && *p == '=')
            p++;
    } else if (strchr("*#:;", *p) && *p) {
        while (p < w->end && *p && strchr("*#:;", *p))
            p++;
    } else if (starts(w, "----")) {
        while (p < w->end && *p == '-')
            p++;
    } else {
        return 0;
    }
    while (p < w->end && *p == ' ')
        p++;
    w->p = p;
    return 1;
}

/* Skip "==" at the end of a heading. */
static int
heading_end(struct wiki *w)
{
    const char *p = w->p, *q;

    while (p < w->end && *p == '=')
        p++;
    for (q = p; q < w->end && (*q == ' ' || *q == '\t');)
        q++;
    if (p - w->p < 2 || (q < w->end && *q != '\n'))
        return 0;
    w->p = q;
    return 1;
}

/* Skip __TOC__, '' and '''. */
static int
inline_mark(struct wiki *w)
{
    const char *p = w->p;

    if (starts(w, "''")) {
        while (p < w->end && *p == '\'')
            p++;
        w->p = p;
        return 1;
    }
    if (!starts(w, "__"))
        return 0;
    for (p += 2; p < w->end && *p >= 'A' && *p <= 'Z';)
        p++;
    if (p - w->p < 5 || w->end - p < 2 || p[0] != '_' || p[1] != '_')
        return 0;
    w->p = p + 2;
    return 1;
}

static int
special_link(struct wiki *w)
{
    uint32_t c;
    size_t k;

    switch (*w->p) {
    case '<': return wiki_element(w);
    case '&':
        k = entity_at(w->p, w->end, &c);
        if (k) {
            utf8_put(w->out, c);
            w->p += k;
        }
        return k > 0;
    case '\'':
    case '_': return inline_mark(w);
    case '=': return line_mark(w) || heading_end(w);
    case ']':
        if (tag_opens_or_closes(w))
            return 1;
        if (!w->outer)
            return 0;
        w->outer--;
        w->p++;
        return 1;
    case '[': return tag_opens_or_closes(w) || outer_link(w);
    case '{':
    case '}':
    case '|': return tag_opens_or_closes(w);
    default: return line_mark(w);
    }
}

/* In the text from offset `from` on, remove blanks at the beginning and end of
 * each line, empty lines at the beginning and end of the text, and all but the
 * first of several empty lines in a row. */
static void
tidy(struct buf *b, size_t from)
{
    size_t o = from, lines = 2;

    for (size_t i = from; i < b->n; i++) {
        const char c = b->p[i];

        if (c == '\r')
            continue;
        if (c == '\n') {
            while (o > from && (b->p[o - 1] == ' ' || b->p[o - 1] == '\t'))
                o--;
            if (lines++ >= 2)
                continue;
        } else if (c != ' ' && c != '\t') {
            lines = 0;
        } else if (lines) {
            continue; /* before the first word of a line */
        }
        b->p[o++] = c;
    }
    while (o > from && strchr(" \t\n", b->p[o - 1]))
        o--;
    cut_trailing(b, o);
}

void
wiki_text(const char *page, size_t n, struct buf *out)
{
    const char *nl = memchr(page, '\n', n);
    const size_t title = nl ? (size_t)(nl - page) : n, before = out->n;
    struct buf raw = { 0 }, text = { 0 };
    struct wiki w = { .out = &text };

    unescape(page, title, out);
    if (nl)
        unescape(nl + 1, n - title - 1, &raw);
    buf_reserve(&raw, 1);
    buf_reserve(&text, raw.n + 1);
    w.p = raw.p;
    w.end = raw.p + raw.n;
    if (raw.n >= 9 && strncasecmp(raw.p, "#redirect", 9) == 0)
        w.p = w.end;
    while (w.p < w.end) {
        const char *from = w.p;

        if (special_link(&w))
            continue;
        do
            w.p++;
        while (w.p < w.end && !strchr("<&'_=][{}|*#:;-\n", *w.p));
        buf_add(&text, from, (size_t)(w.p - from));
    }
    tidy(&text, 0);
    if (text.n) {
        buf_adds(out, "\n\n");
        buf_add(out, text.p, text.n);
        buf_addc(out, '\n');
    } else {
        cut_trailing(out, before);
    }
    buf_release(&raw);
    buf_release(&text);
}
