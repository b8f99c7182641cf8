/*
 * The steps around the model, from their JSON: normalizer, pre-tokenizer and
 * decoder.  Only forms that are implemented to the bit are accepted; patterns
 * are compared as text.
 */
#include "tok/steps.h"
#include "format/patterns.h"
#include "tok/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NORM_MAX 8     /* steps of a normalizer, at most */
#define NORM_GROWTH 8  /* a text may grow to this many times its length */
#define PREPEND_MAX 64 /* bytes that Prepend may put before a text */
#define MARK "\xe2\x96\x81"

static const struct {
    const char *regex;
    enum split split;
} known[] = { { RX_GPT2, SPLIT_GPT2 }, { RX_LLAMA3, SPLIT_CL100K },
    { RX_CL100K, SPLIT_CL100K }, { RX_QWEN2, SPLIT_CL100K_1 },
    { RX_QWEN35, SPLIT_QWEN35 }, { RX_TEKKEN, SPLIT_TEKKEN },
    { RX_O200K, SPLIT_O200K }, { RX_DEEPSEEK, SPLIT_DEEPSEEK } };

/* The normalizer. */

static char *
copy_text(const json_t *v, size_t *n)
{
    char *s = xmalloc(json_string_length(v) + 1);

    *n = json_string_length(v);
    return memcpy(s, json_string_value(v), *n + 1);
}

int
norm_load(struct tokenizer *t, const json_t *j, const char *path, int depth,
    struct err *e)
{
    const char *type = js_text_of(j, "type");
    const json_t *list, *from, *to;
    struct norm_op op = { NORM_NFC, NULL, NULL, 0, 0 };
    char where[80];

    if (!j || json_is_null(j))
        return 0;
    if (strcmp(type, "Sequence") == 0 && depth == 0) {
        list = json_object_get(j, "normalizers");
        if (tok_members(j, path, "type normalizers", e))
            return -1;
        for (size_t i = 0; i < json_array_size(list); i++) {
            snprintf(where, sizeof where, "%s.normalizers.%zu", path, i);
            if (norm_load(t, json_array_get(list, i), where, 1, e))
                return -1;
        }
        return 0;
    }
    if (t->nnorm == NORM_MAX)
        return tok_bad(e, "%s: more than %d steps", path, NORM_MAX);
    if (strcmp(type, "NFC") == 0) {
        if (tok_members(j, path, "type", e))
            return -1;
    } else if (strcmp(type, "Prepend") == 0) {
        to = json_object_get(j, "prepend");
        if (tok_members(j, path, "type prepend", e))
            return -1;
        if (!json_is_string(to))
            return tok_bad(e, "%s.prepend: is no text", path);
        op.kind = NORM_PREPEND;
        op.to = copy_text(to, &op.nto);
    } else if (strcmp(type, "Replace") == 0) {
        from = json_object_get(json_object_get(j, "pattern"), "String");
        to = json_object_get(j, "content");
        if (tok_members(j, path, "type pattern content", e))
            return -1;
        if (json_string_length(from) == 0 || !json_is_string(to))
            return tok_bad(e,
                "%s.pattern: only a text (\"String\") is implemented", path);
        op.kind = NORM_REPLACE;
        op.from = copy_text(from, &op.nfrom);
        op.to = copy_text(to, &op.nto);
    } else {
        return tok_bad(e, "%s.type: %.60s is not implemented", path,
            *type ? type : "(none)");
    }
    t->norm_op = xreallocarray(t->norm_op, t->nnorm + 1, sizeof op);
    t->norm_op[t->nnorm++] = op;
    return 0;
}

static int
share_bytes(const struct norm_op *a, const struct norm_op *b)
{
    for (size_t i = 0; i < a->nto; i++)
        if (memchr(b->from, a->to[i], b->nfrom))
            return 1;
    return 0;
}

int
norm_check(const struct tokenizer *t, struct err *e)
{
    double growth = 1.0; /* most growth of a text by all steps so far */

    for (size_t i = 0; i < t->nnorm; i++) {
        const struct norm_op *o = &t->norm_op[i];
        double own = 1.0;
        int again = 0; /* growth of this step multiplies the growth of earlier
                        * steps */

        if (o->kind == NORM_PREPEND && o->nto > PREPEND_MAX)
            return tok_bad(e, "normalizer: prepends more than %d bytes",
                PREPEND_MAX);
        if (o->kind == NORM_NFC) {
            own = 3.0;
            again = 1;
        } else if (o->kind == NORM_REPLACE && o->nto > o->nfrom) {
            own = (double)o->nto / (double)o->nfrom;
            for (size_t k = 0; k < i; k++)
                again |= t->norm_op[k].kind == NORM_NFC ||
                    share_bytes(&t->norm_op[k], o);
        }
        growth = again ? growth * own : own > growth ? own : growth;
    }
    if (growth > NORM_GROWTH)
        return tok_bad(e,
            "normalizer: may make a text more than %d times as "
            "long, which is the limit",
            NORM_GROWTH);
    return 0;
}

/* The pre-tokenizers. */

static int
load_byte_level(const json_t *j, const char *path, int *prefix, int *regex,
    struct err *e)
{
    if (tok_members(j, path, "type add_prefix_space trim_offsets use_regex", e))
        return -1;
    *prefix = tok_flag(j, path, "add_prefix_space", 1, e);
    *regex = tok_flag(j, path, "use_regex", 1, e);
    return *prefix < 0 || *regex < 0 ? -1 : 0;
}

static int
split_load(const json_t *j, const char *path, enum split *split, struct err *e)
{
    const char *regex;

    if (tok_members(j, path, "type pattern behavior invert", e))
        return -1;
    if (strcmp(js_text_of(j, "behavior"), "Isolated") != 0)
        return tok_bad(e, "%s.behavior: only Isolated is implemented", path);
    if (tok_off(j, path, "invert", e))
        return -1;
    regex = js_text_of(json_object_get(j, "pattern"), "Regex");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(regex, known[i].regex) == 0) {
            *split = known[i].split;
            return 0;
        }
    return tok_bad(e,
        "%s.pattern: is none of the patterns that are implemented (GPT-2, "
        "cl100k and Llama 3, Qwen 2 and 3.5, Tekken, o200k, DeepSeek-V3)",
        path);
}

/* Read a Digits or Split that comes before ByteLevel. */
static int
first_step(const json_t *j, const char *path, enum split *split, struct err *e)
{
    const char *type = js_text_of(j, "type");

    if (strcmp(type, "Digits") == 0) {
        const int each = tok_flag(j, path, "individual_digits", -1, e);

        if (each < 0 || tok_members(j, path, "type individual_digits", e))
            return -1;
        if (!each)
            return tok_bad(e, "%s.individual_digits: false is not implemented",
                path);
        *split = SPLIT_GPT2_DIGITS;
        return 0;
    }
    if (strcmp(type, "Split") != 0)
        return tok_bad(e, "%s.type: %.60s is not implemented", path,
            *type ? type : "(none)");
    return split_load(j, path, split, e);
}

/* Check that the two steps before that of RX_DEEPSEEK are DeepSeek-V3's
 * Splits. */
static int
deepseek_steps(const json_t *list, struct err *e)
{
    static const char *const regex[] = { RX_DEEPSEEK_NUMBERS, RX_DEEPSEEK_HAN };

    for (size_t i = 0; i < 2; i++) {
        const json_t *j = json_array_get(list, i);
        const char *is = js_text_of(json_object_get(j, "pattern"), "Regex");
        char path[40];

        snprintf(path, sizeof path, "pre_tokenizer.pretokenizers.%zu", i);
        if (strcmp(js_text_of(j, "type"), "Split") != 0 ||
            strcmp(is, regex[i]) != 0)
            return tok_bad(e,
                "%s: is not the Split of DeepSeek-V3, the only list of four "
                "steps that is implemented",
                path);
        if (tok_members(j, path, "type pattern behavior invert", e) ||
            tok_off(j, path, "invert", e))
            return -1;
        if (strcmp(js_text_of(j, "behavior"), "Isolated") != 0)
            return tok_bad(e, "%s.behavior: only Isolated is implemented",
                path);
    }
    return 0;
}

static int
sequence_load(struct tokenizer *t, const json_t *j, struct err *e)
{
    const json_t *list = json_object_get(j, "pretokenizers"), *last;
    const size_t steps = json_array_size(list);
    char path[40], first[40];
    int prefix, regex;

    if (tok_members(j, "pre_tokenizer", "type pretokenizers", e))
        return -1;
    if (steps != 2 && steps != 4)
        return tok_bad(e,
            "pre_tokenizer.pretokenizers: is no list of two or four steps");
    last = json_array_get(list, steps - 1);
    snprintf(path, sizeof path, "pre_tokenizer.pretokenizers.%zu", steps - 1);
    snprintf(first, sizeof first, "pre_tokenizer.pretokenizers.%zu", steps - 2);
    if ((steps == 4 && deepseek_steps(list, e) < 0) ||
        first_step(json_array_get(list, steps - 2), first, &t->split, e))
        return -1;
    if ((t->split == SPLIT_DEEPSEEK) != (steps == 4))
        return tok_bad(e, "%s: is not implemented in a list of %zu steps",
            first, steps);
    if (strcmp(js_text_of(last, "type"), "ByteLevel") != 0)
        return tok_bad(e, "%s.type: only ByteLevel is implemented", path);
    if (load_byte_level(last, path, &prefix, &regex, e))
        return -1;
    if (prefix)
        return tok_bad(e,
            "%s.add_prefix_space: true is not implemented behind another step",
            path);
    if (regex != (t->split == SPLIT_GPT2_DIGITS))
        return tok_bad(e,
            "%s.use_regex: %s is not implemented behind that step", path,
            regex ? "true" : "false");
    return 0;
}

static int
metaspace_load(struct tokenizer *t, const json_t *j, struct err *e)
{
    static const struct {
        const char *name;
        enum prefix prefix;
    } scheme[] = { { "never", PREFIX_NONE }, { "first", PREFIX_FIRST },
        { "always", PREFIX_ALWAYS } };
    const char *mark = js_text_of(j, "replacement");
    const json_t *s = json_object_get(j, "prepend_scheme");
    const int old = tok_flag(j, "pre_tokenizer", "add_prefix_space", 1, e);
    const int split = tok_flag(j, "pre_tokenizer", "split", 1, e);
    size_t i = 0;

    if (old < 0 || split < 0 ||
        tok_members(j, "pre_tokenizer",
            "type replacement add_prefix_space prepend_scheme split str_rep",
            e))
        return -1;
    if (strcmp(mark, MARK) != 0)
        return tok_bad(e,
            "pre_tokenizer.replacement: only U+2581 is implemented");
    t->prefix = old ? PREFIX_ALWAYS : PREFIX_NONE;
    if (s) {
        for (; i < 3 &&
             strcmp(js_text_of(j, "prepend_scheme"), scheme[i].name) != 0;
             i++)
            ;
        if (i == 3)
            return tok_bad(e,
                "pre_tokenizer.prepend_scheme: is none of "
                "first, always, never");
        if (json_object_get(j, "add_prefix_space") &&
            !old != (scheme[i].prefix == PREFIX_NONE))
            return tok_bad(e,
                "pre_tokenizer.add_prefix_space: is at odds "
                "with prepend_scheme");
        t->prefix = scheme[i].prefix;
    }
    snprintf(t->gap, sizeof t->gap, "%s", MARK);
    t->put_gap = 1;
    t->sp->split = split ? SP_MARK : SP_WHOLE;
    return 0;
}

int
pre_load(struct tokenizer *t, const json_t *j, struct err *e)
{
    const char *type = js_text_of(j, "type");
    int prefix, regex;

    if (strcmp(type, "ByteLevel") == 0) {
        if (load_byte_level(j, "pre_tokenizer", &prefix, &regex, e))
            return -1;
        t->split = regex ? SPLIT_GPT2 : SPLIT_NONE;
        if (prefix) {
            t->prefix = PREFIX_ALWAYS;
            t->gap[0] = ' ';
        }
        return 0;
    }
    if (strcmp(type, "Sequence") == 0)
        return sequence_load(t, j, e);
    t->sp = xcalloc(1, sizeof *t->sp);
    if (!j || json_is_null(j))
        return 0;
    if (strcmp(type, "Metaspace") == 0)
        return metaspace_load(t, j, e);
    if (strcmp(type, "Split") == 0) {
        const json_t *p = json_object_get(j, "pattern");

        if (tok_members(j, "pre_tokenizer", "type pattern behavior invert",
                e) ||
            tok_off(j, "pre_tokenizer", "invert", e))
            return -1;
        if (strcmp(js_text_of(p, "String"), " ") != 0)
            return tok_bad(e,
                "pre_tokenizer.pattern: only the text \" \" is "
                "implemented without ByteLevel");
        if (strcmp(js_text_of(j, "behavior"), "MergedWithPrevious") != 0)
            return tok_bad(e,
                "pre_tokenizer.behavior: only "
                "MergedWithPrevious is implemented without ByteLevel");
        t->sp->split = SP_SPACE;
        return 0;
    }
    return tok_bad(e, "pre_tokenizer.type: %.60s is not implemented",
        *type ? type : "none at all");
}

/* The decoder. */

struct decoder {
    const char *from, *to; /* texts of Replace, or NULL */
    int bytes, fuse;       /* have ByteFallback, Fuse been read? */
    size_t strip;
};

static int
decoder_step(struct decoder *d, const json_t *j, const char *path,
    struct err *e)
{
    const char *type = js_text_of(j, "type");
    const json_t *start = json_object_get(j, "start");

    if (strcmp(type, "Replace") == 0 && !d->from && !d->bytes && !d->fuse) {
        d->from = js_text_of(json_object_get(j, "pattern"), "String");
        d->to = js_text_of(j, "content");
        if (*d->from == '\0')
            return tok_bad(e,
                "%s.pattern: only a text (\"String\") is implemented", path);
        return tok_members(j, path, "type pattern content", e);
    }
    if (strcmp(type, "ByteFallback") == 0 && !d->bytes && !d->fuse) {
        d->bytes = 1;
        return tok_members(j, path, "type", e);
    }
    if (strcmp(type, "Fuse") == 0) {
        d->fuse = 1;
        return tok_members(j, path, "type", e);
    }
    if (strcmp(type, "Strip") == 0 && d->fuse && d->strip == 0) {
        if (tok_members(j, path, "type content start stop", e) ||
            tok_off(j, path, "stop", e))
            return -1;
        if (strcmp(js_text_of(j, "content"), " ") != 0 ||
            !json_is_integer(start) || json_integer_value(start) < 0)
            return tok_bad(e, "%s: only spaces are stripped", path);
        d->strip = (size_t)json_integer_value(start);
        return 0;
    }
    return tok_bad(e, "%s.type: %.60s is not implemented there", path,
        *type ? type : "none at all");
}

/* The byte that <0xNN> names, or -1. */
static int
byte_of(const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef0123456789ABCDEF";
    const char *a, *b;

    if (n != 6 || memcmp(s, "<0x", 3) != 0 || s[5] != '>' || !s[3] || !s[4] ||
        (a = strchr(hex, s[3])) == NULL || (b = strchr(hex, s[4])) == NULL)
        return -1;
    return (int)((a - hex) % 16 * 16 + (b - hex) % 16);
}

/* Set t->shown[id] to the text that p[n] decodes to; b is scratch. */
static void
show_token(struct tokenizer *t, const struct decoder *d, size_t id,
    const char *p, size_t n, struct buf *b)
{
    const size_t nfrom = d->from ? strlen(d->from) : 0;
    int byte;

    buf_clear(b);
    for (; n > 0 && nfrom > 0;) {
        if (n >= nfrom && memcmp(p, d->from, nfrom) == 0) {
            buf_adds(b, d->to);
            p += nfrom;
            n -= nfrom;
        } else {
            buf_addc(b, (unsigned char)*p++);
            n--;
        }
    }
    buf_add(b, p, n);
    if (d->bytes && (byte = byte_of(b->p, b->n)) >= 0) {
        buf_clear(b);
        buf_addc(b, byte);
    }
    t->shown[id].off = t->pool.n;
    t->shown[id].n = (uint32_t)b->n;
    buf_add(&t->pool, b->p, b->n);
}

/* Fill t->shown, the texts that tokens decode to.  As in the tokenizers
 * library, a normalized added token decodes to its normalized text, including
 * the space that Prepend puts before it. */
static void
show_all(struct tokenizer *t, const struct decoder *d)
{
    struct buf b = { 0 };

    t->shown = xreallocarray(NULL, t->nid, sizeof *t->shown);
    for (size_t i = 0; i < t->nid; i++) {
        t->shown[i] = t->text[i];
        show_token(t, d, i, t->pool.p + t->text[i].off, t->text[i].n, &b);
    }
    for (size_t i = 0; i < t->norm.n; i++)
        show_token(t, d, t->norm.a[i].id, t->norm.a[i].s, t->norm.a[i].n, &b);
    buf_release(&b);
}

int
decoder_load(struct tokenizer *t, const json_t *j, struct err *e)
{
    const char *type = js_text_of(j, "type"), *scheme;
    const json_t *list = json_object_get(j, "decoders");
    struct decoder d = { 0 };
    char path[60];

    t->shown = t->text;
    if (strcmp(type, "ByteLevel") == 0 && !t->sp)
        return 0;
    if (!t->sp)
        return tok_bad(e,
            "decoder.type: only ByteLevel is implemented with "
            "such a pre-tokenizer");
    if (strcmp(type, "Metaspace") == 0) {
        scheme = js_text_of(j, "prepend_scheme");
        if (tok_members(j, "decoder",
                "type replacement add_prefix_space "
                "prepend_scheme split str_rep",
                e))
            return -1;
        if (strcmp(js_text_of(j, "replacement"), MARK) != 0)
            return tok_bad(e,
                "decoder.replacement: only U+2581 is implemented");
        t->strip_marks = *scheme
            ? strcmp(scheme, "never") != 0
            : !json_is_false(json_object_get(j, "add_prefix_space"));
        d.from = MARK;
        d.to = " ";
    } else if (strcmp(type, "Sequence") == 0) {
        if (tok_members(j, "decoder", "type decoders", e))
            return -1;
        for (size_t i = 0; i < json_array_size(list); i++) {
            snprintf(path, sizeof path, "decoder.decoders.%zu", i);
            if (decoder_step(&d, json_array_get(list, i), path, e))
                return -1;
        }
    } else {
        return tok_bad(e,
            "decoder.type: %.60s is not implemented with such a pre-tokenizer",
            *type ? type : "none at all");
    }
    t->strip = d.strip;
    show_all(t, &d);
    return 0;
}
