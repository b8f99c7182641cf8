/* Forms of tasks: files of lines, each a key and its value; see evaltask(1). */
#include "task_form.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { FORM_MAX = 1 << 20 }; /* bytes of a form's file */

const char *const score_name[] = { "acc", "acc_norm", "acc_bytes", NULL };
static const char *const kinds[] = { "choice", "contexts", "cloze", NULL };

/* ---- texts with fields ---- */

/* Append the text at p to *b, unescaped, up to one of the characters `ends` or
 * to `end`.  Returns the place of that character, or `end`. */
static const char *
unescape_until(const char *p, const char *end, const char *ends, struct buf *b)
{
    while (p < end && strchr(ends, *p) == NULL) {
        if (*p == '\\' && p + 1 < end) {
            p++;
            buf_addc(b, *p == 'n' ? '\n' : *p == 't' ? '\t' : *p);
        } else {
            buf_addc(b, *p);
        }
        p++;
    }
    return p;
}

static struct fill_part *
new_part(struct fill *f, int is_field)
{
    f->part = xgrow_pow2(f->part, f->n, sizeof(*f->part));
    f->part[f->n] = (struct fill_part){ .is_field = is_field };
    return &f->part[f->n++];
}

/* Parse filter:argument:... after a bar into part->step.  Returns the end of
 * this text; NULL and *e: there is no such filter, or it takes more or fewer
 * arguments. */
static const char *
parse_step(struct fill_part *part, const char *p, const char *end,
    struct err *e)
{
    struct buf name = { 0 }, arg = { 0 };
    struct filter_step *s;
    int r;

    part->step = xgrow_pow2(part->step, part->nstep, sizeof(*part->step));
    s = &part->step[part->nstep++];
    memset(s, 0, sizeof(*s));
    buf_adds(&name, "");
    for (p = unescape_until(p, end, "|}:", &name); p < end && *p == ':';) {
        buf_clear(&arg);
        buf_adds(&arg, "");
        p = unescape_until(p + 1, end, "|}:", &arg);
        strings_add(&s->arg, arg.p, arg.n);
    }
    r = filter_named(s, name.p, e);
    buf_release(&name);
    buf_release(&arg);
    return r < 0 ? NULL : p;
}

/* Parse {path|filter:argument|...} after its opening brace.  Returns the place
 * after the closing brace; NULL and *e: it is malformed. */
static const char *
parse_field(struct fill *f, const char *p, const char *end, struct err *e)
{
    struct fill_part *part = new_part(f, 1);
    struct buf b = { 0 };

    p = unescape_until(p, end, "|}", &b);
    part->text = xstrdup(b.n > 0 ? b.p : "");
    while (p != NULL && p < end && *p == '|')
        p = parse_step(part, p + 1, end, e);
    buf_release(&b);
    if (p == NULL)
        return NULL;
    if (p == end) {
        err_set(e, EX_INPUT, "a brace is not closed");
        return NULL;
    }
    if (part->text[0] == '\0') {
        err_set(e, EX_INPUT, "braces hold no field's name");
        return NULL;
    }
    return p + 1;
}

/* Parse the text s[n] into parts of f.  A backslash makes the next character
 * literal, but \n and \t are a newline and a tab.  0, or -1 and *e. */
static int
parse_fill(struct fill *f, const char *s, size_t n, struct err *e)
{
    const char *const end = s + n;

    if (memchr(s, '\0', n) != NULL)
        return err_set(e, EX_INPUT, "holds a NUL byte");
    while (s < end) {
        if (*s == '{') {
            if ((s = parse_field(f, s + 1, end, e)) == NULL)
                return -1;
        } else if (*s == '}') {
            return err_set(e, EX_INPUT, "a brace is closed that none opened");
        } else {
            struct buf b = { 0 };

            s = unescape_until(s, end, "{}", &b);
            new_part(f, 0)->text = b.p;
        }
    }
    return 0;
}

static void
release_fill(struct fill *f)
{
    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; k < f->part[i].nstep; k++)
            strings_release(&f->part[i].step[k].arg);
        free(f->part[i].step);
        free(f->part[i].text);
    }
    free(f->part);
    memset(f, 0, sizeof(*f));
}

/* ---- lines ---- */

struct form_line {
    const char *key, *value;
    size_t nkey, nvalue;
};

static int
is_form_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Split the line p[n] into key and value.  Returns 1; 0: it is blank or a
 * comment. Quotes around the value are dropped, and blanks inside them kept. */
static int
cut_line(const char *p, size_t n, struct form_line *l)
{
    while (n > 0 && is_form_blank(p[n - 1]))
        n--;
    while (n > 0 && is_form_blank(*p)) {
        p++;
        n--;
    }
    if (n == 0 || *p == '#')
        return 0;
    l->key = p;
    for (l->nkey = 0; l->nkey < n && !is_form_blank(p[l->nkey]);)
        l->nkey++;
    p += l->nkey;
    n -= l->nkey;
    while (n > 0 && is_form_blank(*p)) {
        p++;
        n--;
    }
    if (n >= 2 && p[0] == '"' && p[n - 1] == '"') {
        p++;
        n -= 2;
    }
    l->value = p;
    l->nvalue = n;
    return 1;
}

static int
is_key(const struct form_line *l, const char *key)
{
    return strlen(key) == l->nkey && memcmp(key, l->key, l->nkey) == 0;
}

static int
one_of(const struct form_line *l, const char *const *word, struct err *e)
{
    for (int i = 0; word[i] != NULL; i++)
        if (strlen(word[i]) == l->nvalue &&
            memcmp(word[i], l->value, l->nvalue) == 0)
            return i;
    return err_set(e, EX_INPUT, "%.*s is not %s, %s or %s", (int)l->nkey,
        l->key, word[0], word[1], word[2]);
}

static int
set_fill(struct fill *f, const struct form_line *l, struct err *e)
{
    release_fill(f);
    return parse_fill(f, l->value, l->nvalue, e);
}

static int
add_fill(struct fill **f, size_t *n, const struct form_line *l, struct err *e)
{
    *f = xgrow_pow2(*f, *n, sizeof(**f));
    memset(*f + *n, 0, sizeof(**f));
    return parse_fill(*f + (*n)++, l->value, l->nvalue, e);
}

/* Copy the value's first word, and remove it from l; NULL: there is none. */
static char *
take_word(struct form_line *l)
{
    struct form_line rest = { 0 };
    char *word;

    if (!cut_line(l->value, l->nvalue, &rest))
        return NULL;
    word = xasprintf("%.*s", (int)rest.nkey, rest.key);
    *l = rest;
    return word;
}

/* Parse a line `set NAME TEXT`. */
static int
add_set(struct form *f, struct form_line *l, struct err *e)
{
    char *name = take_word(l);

    if (name == NULL)
        return err_set(e, EX_INPUT, "set needs a name and a text");
    f->set = xgrow_pow2(f->set, f->nset, sizeof(*f->set));
    f->set[f->nset] = (struct named_fill){ .name = name };
    return parse_fill(&f->set[f->nset++].fill, l->value, l->nvalue, e);
}

/* Parse a line `map NAME FROM TO`. */
static int
add_map(struct form *f, struct form_line *l, struct err *e)
{
    char *map = take_word(l), *from = map != NULL ? take_word(l) : NULL;

    if (from == NULL || l->nvalue == 0) {
        free(map);
        free(from);
        return err_set(e, EX_INPUT, "map needs a name, a word and another");
    }
    f->map = xgrow_pow2(f->map, f->nmap, sizeof(*f->map));
    f->map[f->nmap++] = (struct map_word){ map, from,
        xasprintf("%.*s", (int)l->nvalue, l->value) };
    return 0;
}

static int
take_line(struct form *f, struct form_line *l, struct err *e)
{
    const struct {
        const char *key;
        struct fill *to;
    } text[] = { { "description", &f->description }, { "context", &f->context },
        { "target", &f->target }, { "answer", &f->answer },
        { "delimiter", &f->delimiter }, { "by", &f->by } };
    int i;

    for (size_t k = 0; k < sizeof(text) / sizeof(*text); k++)
        if (is_key(l, text[k].key))
            return set_fill(text[k].to, l, e);
    if (is_key(l, "choice") || is_key(l, "choices"))
        return add_fill(&f->choice, &f->nchoice, l, e);
    if (is_key(l, "label") || is_key(l, "labels"))
        return add_fill(&f->label, &f->nlabel, l, e);
    if (is_key(l, "set"))
        return add_set(f, l, e);
    if (is_key(l, "map"))
        return add_map(f, l, e);
    if (is_key(l, "name")) {
        free(f->name);
        f->name = xasprintf("%.*s", (int)l->nvalue, l->value);
        return 0;
    }
    if (is_key(l, "kind")) {
        if ((i = one_of(l, kinds, e)) < 0)
            return -1;
        f->kind = (enum task_kind)i;
        return 0;
    }
    if (is_key(l, "score")) {
        if ((i = one_of(l, score_name, e)) < 0)
            return -1;
        f->score = (enum task_score)i;
        return 0;
    }
    return err_set(e, EX_INPUT, "%.*s is no key of a form", (int)l->nkey,
        l->key);
}

/* Check that the form has all texts that its kind needs. */
static int
check_form(const struct form *f, struct err *e)
{
    const char *const kind = kinds[f->kind];

    if (f->kind == TASK_CLOZE) {
        if (f->target.n == 0)
            return err_set(e, EX_INPUT, "a %s needs a target", kind);
        if (f->nchoice > 0 || f->answer.n > 0)
            return err_set(e, EX_INPUT, "a %s has neither choices nor answer",
                kind);
        return f->score == SCORE_ACC
            ? 0
            : err_set(e, EX_INPUT, "a %s has no score but acc", kind);
    }
    if (f->nchoice == 0 || f->answer.n == 0)
        return err_set(e, EX_INPUT, "%s needs choices and an answer", kind);
    if (f->kind == TASK_CONTEXTS ? f->target.n == 0 : f->target.n > 0)
        return err_set(e, EX_INPUT, "%s %s", kind,
            f->target.n == 0 ? "needs a target" : "has no target");
    if (f->kind == TASK_CONTEXTS && f->context.n > 0)
        return err_set(e, EX_INPUT,
            "%s takes its contexts from choices: leave out context", kind);
    return 0;
}

/* File name without folders and the last ending. */
static char *
file_stem(const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *dot = strrchr(base, '.');

    return dot != NULL && dot > base
        ? xasprintf("%.*s", (int)(dot - base), base)
        : xstrdup(base);
}

int
form_read(struct form *f, const char *path, struct err *e)
{
    char *text, *p;
    size_t n, line = 0;
    int r = 0;

    memset(f, 0, sizeof(*f));
    if (io_slurp(path, FORM_MAX, &text, &n, e) < 0)
        return -1;
    f->path = xstrdup(path);
    parse_fill(&f->delimiter, " ", 1, e);
    for (p = text; r == 0 && p < text + n;) {
        char *nl = memchr(p, '\n', (size_t)(text + n - p));
        char *end = nl != NULL ? nl : text + n;
        struct form_line l;

        line++;
        if (cut_line(p, (size_t)(end - p), &l) && (r = take_line(f, &l, e)) < 0)
            err_prefix(e, "%s: line %zu", path, line);
        p = end + (nl != NULL);
    }
    free(text);
    if (r == 0 && (r = check_form(f, e)) < 0)
        err_prefix(e, "%s", path);
    if (f->name == NULL)
        f->name = file_stem(path);
    return r;
}

static void
release_all(struct fill *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        release_fill(&f[i]);
    free(f);
}

void
form_release(struct form *f)
{
    release_fill(&f->description);
    release_fill(&f->context);
    release_fill(&f->target);
    release_fill(&f->answer);
    release_fill(&f->delimiter);
    release_fill(&f->by);
    release_all(f->choice, f->nchoice);
    release_all(f->label, f->nlabel);
    for (size_t i = 0; i < f->nset; i++) {
        free(f->set[i].name);
        release_fill(&f->set[i].fill);
    }
    for (size_t i = 0; i < f->nmap; i++) {
        free(f->map[i].map);
        free(f->map[i].from);
        free(f->map[i].to);
    }
    free(f->set);
    free(f->map);
    free(f->name);
    free(f->path);
    memset(f, 0, sizeof(*f));
}
