/* Comparing our tokenizers with answers of reference tokenizers, in the form of
 * scripts/oracle/tok_families.py. */
#ifndef TESTS_LIB_TOK_ANSWERS_H
#define TESTS_LIB_TOK_ANSWERS_H

#include "base/io.h"
#include "tok/tok.h"
#include "text/unicode.h"
#include "tap.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* The path tests/golden/tok/FOLDER/NAME and suffix; valid until the call after
 * next. */
static inline const char *
golden(const char *folder, const char *name, const char *suffix)
{
    static char path[2][500];
    static int k;
    const char *top = getenv("RETORT_TOP");

    k = !k;
    snprintf(path[k], sizeof path[k], "%s/tests/golden/tok/%s/%s%s",
        top ? top : ".", folder, name, suffix);
    return path[k];
}

/* Read ids such as "12,7*3,5"; returns the first byte after them. */
static const char *
read_ids(const char *s, struct tok_ids *ids)
{
    ids->n = 0;
    if (*s == '-')
        return s + 1;
    for (;;) {
        char *end;
        const unsigned long id = strtoul(s, &end, 10);
        unsigned long n = 1;

        if (end == s) {
            printf("Bail out! not an id: %.20s\n", s);
            exit(1);
        }
        if (*end == '*')
            n = strtoul(end + 1, &end, 10);
        while (n--)
            tok_ids_push(ids, (uint32_t)id);
        if (*end != ',')
            return end;
        s = end + 1;
    }
}

static void
show_ids(const char *what, const struct tok_ids *a)
{
    printf("#   %s", what);
    for (size_t i = 0; i < a->n && i < 30; i++)
        printf(" %u", a->v[i]);
    printf("%s\n", a->n > 30 ? " ..." : "");
}

/* Read texts, a JSON string on each line, into an array. */
static inline json_t *
read_texts(const char *path)
{
    json_t *all = json_array(), *one;
    FILE *f = fopen(path, "r");

    if (!f) {
        printf("Bail out! %s: cannot be opened\n", path);
        exit(1);
    }
    while ((one = json_loadf(f,
                JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL | JSON_DECODE_ANY,
                NULL)) != NULL)
        json_array_append_new(all, one);
    fclose(f);
    return all;
}

/* Do the ids decode to the right text?  If `decoded` begins with a tab, the
 * right text is the JSON string after the tab; else it is `text`. */
static int
decodes_to(const struct tokenizer *t, const struct tok_ids *ids,
    const char *decoded, const json_t *text)
{
    struct buf b = { 0 }, c = { 0 };
    struct err e;
    json_t *want = *decoded == '\t'
        ? json_loads(decoded + 1, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL)
        : json_incref((json_t *)text);
    int same = tok_decode(t, ids->v, ids->n, 0, &b, &e) == 0;

    uni_repair(b.p, b.n, &c);
    same = same && c.n == json_string_length(want) &&
        (c.n == 0 || memcmp(c.p, json_string_value(want), c.n) == 0);
    if (!same) {
        char *s = json_dumps(text, JSON_ENCODE_ANY);

        printf("# decoded of %.120s: %.*s\n", s, (int)(c.n < 200 ? c.n : 200),
            c.p ? c.p : "");
        free(s);
    }
    buf_release(&b);
    buf_release(&c);
    json_decref(want);
    return same;
}

/* Compare t with the answers in the file at path, in three tests. */
static inline void
compare_answers(const char *name, const struct tokenizer *t,
    const json_t *texts, const char *path)
{
    struct tok_scratch *s = tok_scratch_new(t);
    struct tok_ids got = { 0 }, want = { 0 };
    struct io_map m;
    struct err e;
    size_t n = 0, wrong = 0, undone = 0;
    char *all, *line, *next;

    if (io_map(&m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    all = xmalloc(m.n + 2);
    memcpy(all, m.p, m.n);
    all[m.n] = all[m.n + 1] = '\0';
    io_unmap(&m);
    for (line = all; line && *line; line = next) {
        json_t *text;
        const char *decoded;
        char *p;
        size_t k;
        int flags;

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (*line == '#')
            continue;
        k = strtoul(line, &p, 10);
        text = json_array_get(texts, k);
        if (!text || p[0] != ' ' || !strchr("stwb", p[1]) || p[2] != ' ') {
            printf("Bail out! %s: line %.40s\n", path, line);
            exit(1);
        }
        flags = p[1] == 't' ? 0
            : p[1] == 's'   ? TOK_SPECIAL
            : p[1] == 'b'   ? TOK_BOS | TOK_EOS
                            : TOK_SPECIAL | TOK_BOS | TOK_EOS;
        decoded = read_ids(p + 3, &want);
        got.n = 0;
        tok_encode(t, s, json_string_value(text), json_string_length(text),
            flags, &got);
        n++;
        if (got.n != want.n ||
            (got.n && memcmp(got.v, want.v, got.n * sizeof *got.v) != 0)) {
            if (wrong++ < 10) {
                char *x = json_dumps(text, JSON_ENCODE_ANY);

                printf("# %s: text %zu %c %.200s\n", name, k, p[1], x);
                show_ids("want", &want);
                show_ids("got ", &got);
                free(x);
            }
        }
        if ((p[1] == 's' || *decoded == '\t') && decoded[1] != '?' &&
            !decodes_to(t, &want, decoded, text) && undone++ < 10)
            printf("#   %s: text %zu %c\n", name, k, p[1]);
    }
    ok(n > 300, "%s: %zu answers", name, n);
    ok(wrong == 0, "%s: ids, %zu differ", name, wrong);
    ok(undone == 0, "%s: decoded, %zu differ", name, undone);
    free(all);
    tok_ids_release(&got);
    tok_ids_release(&want);
    tok_scratch_free(s);
}

#endif
