/* docs_run: documents in order by any number of threads, its hooks, and errors
 * that are returned */
#include "docs/options.h"

#include "base/io.h"
#include "../lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 5000

static struct buf seen; /* texts that were put, a line each */
static size_t begun, ended, encoded;
static double last, total;

static void
told_begin(const char *what, double all, const char *unit)
{
    (void)what;
    (void)unit;
    begun++;
    total = all;
    last = -1;
}

static void
told_from(double done)
{
    last = done;
}

static void
told_at(double done, const char *extra)
{
    (void)extra;
    last = done >= last ? done : -1e9;
}

static void
told_end(void)
{
    ended++;
}

static int
put_text(void *ctx, const struct doc *d, struct err *e)
{
    (void)ctx;
    (void)e;
    buf_add(&seen, d->text.p, d->text.n);
    buf_addc(&seen, '\n');
    return 0;
}

/* Ids are the bytes of the text. */
static void
encode_bytes(void *ctx, size_t worker, struct doc *d, const char *text,
    size_t n)
{
    size_t *of_worker = ctx;

    d->ids.v = xreallocarray(d->ids.v, n + 1, sizeof *d->ids.v);
    d->ids.cap = n + 1;
    for (size_t i = 0; i < n; i++)
        d->ids.v[i] = (unsigned char)text[i];
    d->ids.n = d->plain = n;
    of_worker[worker]++;
}

static int
put_ids(void *ctx, const struct doc *d, struct err *e)
{
    (void)ctx;
    (void)e;
    encoded += d->ids.n;
    for (size_t i = 0; i < d->ids.n; i++)
        buf_addc(&seen, (int)d->ids.v[i]);
    buf_addc(&seen, '\n');
    return 0;
}

static int
run_file(const char *path, const struct docs_opts *o, struct docs_sums *sums,
    struct err *e)
{
    char *operand[] = { (char *)(uintptr_t)path, NULL };
    const struct input_opts i = DOCS_INPUT_DEFAULTS;
    struct inputs in;
    int k;

    buf_clear(&seen);
    if (inputs_list(&in, operand, &i, e) < 0)
        return -1;
    k = docs_run(&in, o, sums, e);
    passed_release(&sums->passed);
    inputs_release(&in);
    return k;
}

static void
write_file(const char *path, const char *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(p, 1, n, f) != n || fclose(f) != 0)
        exit(1);
}

static void
test_order(void)
{
    const struct docs_progress told = { told_begin, told_from, told_at,
        told_end };
    struct docs_opts o = DOCS_DEFAULTS;
    size_t of_worker[3] = { 0 };
    struct docs_sums sums;
    struct buf want = { 0 };
    struct err e;

    for (size_t i = 0; i < LINES; i++)
        buf_addf(&want, "line %zu of the text\n", i * i);
    write_file("lines.txt", want.p, want.n);
    o.split = SPLIT_LINE;
    o.threads = 3;
    o.put = put_text;
    o.progress = &told;
    ok(run_file("lines.txt", &o, &sums, &e) == 0 && sums.docs == LINES,
        "every line is a document");
    ok(seen.n == want.n && memcmp(seen.p, want.p, want.n) == 0,
        "three threads put the texts in order");
    ok(begun == 1 && ended == 1, "progress begins and ends once");
    ok(last == total && total == (double)want.n,
        "progress grows to the size of the input");
    o.put = put_ids;
    o.work = encode_bytes;
    o.work_ctx = of_worker;
    o.progress = NULL;
    ok(run_file("lines.txt", &o, &sums, &e) == 0 && sums.tokens == encoded &&
            encoded == want.n - LINES,
        "ids that work makes are counted");
    ok(seen.n == want.n && memcmp(seen.p, want.p, want.n) == 0,
        "ids are put in order");
    ok(of_worker[0] + of_worker[1] + of_worker[2] == LINES,
        "work sees each document once, with the number of its worker");
    ok(begun == 1, "without a progress hook nobody is told");
    buf_release(&want);
}

static void
test_errors(void)
{
    static const char damaged[] = "{\"text\":\"a\"}\n{\"text\":1}\n";
    struct docs_opts o = DOCS_DEFAULTS;
    struct input_opts i = DOCS_INPUT_DEFAULTS;
    struct docs_sums sums;
    struct err e;

    o.put = put_text;
    o.threads = 2;
    write_file("bad.jsonl", damaged, sizeof damaged - 1);
    ok(run_file("bad.jsonl", &o, &sums, &e) < 0 && e.code == EX_INPUT,
        "a record without text is an error that is returned");
    ok(strstr(e.msg, "bad.jsonl: line 2, offset 13") != NULL,
        "the error names file and offset");
    ok(seen.n == 2 && memcmp(seen.p, "a\n", 2) == 0,
        "documents before the error are put");
    ok(run_file("not-there", &o, &sums, &e) < 0 && e.code == EX_SYS,
        "a missing file is an error that is returned");
    o.strict = i.lossy = 1;
    ok(docs_check(&i, &o, &e) < 0 && e.code == EX_USAGE,
        "strict and lossy exclude each other");
    i.lossy = 0;
    ok(docs_check(&i, &o, &e) == 0, "strict alone is taken");
    i.wiki = i.jsonl = 1;
    ok(docs_check(&i, &o, &e) < 0 && e.code == EX_USAGE,
        "a dump and JSONL exclude each other");
}

int
main(void)
{
    test_order();
    test_errors();
    buf_release(&seen);
    return done_testing();
}
