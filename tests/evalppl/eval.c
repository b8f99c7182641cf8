/* evalppl against golden logits: perplexity, KL, agreement, errors, and what
 * must not depend on how documents are packed.  With arguments it writes a
 * stream for the shell tests: eval GOLDEN KIND FILE. */
#include "base/mem.h"
#include "cli/die.h"
#include "msg/msg.h"
#include "../lib/tap.h"
#include "../lib/golden.h"

#include <stdint.h>

enum { V = 61, PMAX = 64 };
#define DIR "tests/golden/grad/"
#define HASH "0123456789abcdef0123456789abcdef"

static struct golden g;
static size_t B, T, P;
static uint16_t ids[4096];
static uint8_t mask[4096], scored[4096];
static struct {
    size_t row, at, len, source;
    uint64_t key;
} piece[PMAX];

static uint64_t
u_at(const char *name, size_t i)
{
    const struct st_tensor *t = golden_get(&g, name);
    const size_t size = t->nbytes / t->n;
    uint64_t v = 0;

    memcpy(&v, (const char *)t->data + i * size, size);
    return v;
}

static void
load(const char *path)
{
    size_t at = 0;

    golden_open(&g, path);
    B = golden_get(&g, "ids")->shape[0];
    T = golden_get(&g, "ids")->shape[1];
    P = golden_get(&g, "piece_row")->n;
    for (size_t i = 0; i < B * T; i++) {
        ids[i] = (uint16_t)u_at("ids", i);
        mask[i] = (uint8_t)u_at("loss_mask", i);
        scored[i] = (uint8_t)u_at("scored", i);
    }
    for (size_t p = 0; p < P; p++) {
        piece[p].row = (size_t)u_at("piece_row", p);
        piece[p].len = (size_t)u_at("piece_len", p);
        at = p > 0 && piece[p].row == piece[p - 1].row ? at : 0;
        piece[p].at = piece[p].row * T + at;
        piece[p].source = p % 2;
        piece[p].key = 100 + p;
        at += piece[p].len;
    }
}

/* ---- streams ---- */

static void
begin(struct msg_out *w, size_t t, size_t vocab, int64_t bos)
{
    static const char *source[] = { "bg", "cs" };
    struct stream_info i = {
        .content = t > 0 ? "batch" : "docs",
        .tokenizer = HASH,
        .vocab = vocab,
        .bos = bos,
        .eos = -1,
        .nsource = 2,
        .source = source,
        .T = t,
        .algorithm = t > 0 ? "test-1" : NULL,
    };
    struct err e;

    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    if (msg_send(w, &e) != 0)
        die_err(&e);
}

static struct {
    uint16_t ids[8192], source[512];
    uint32_t len[512];
    uint64_t key[512];
    uint8_t mask[8192];
    size_t n, d;
} doc;

static void
send_docs(struct msg_out *w, int masked)
{
    struct st_out *o = msg_begin(w, MSG_DOCS);
    struct err e;

    st_out_meta(o, "cursor", "0");
    st_out_tensor(o, "ids", DT_U16, 1, &doc.n, doc.ids);
    st_out_tensor(o, "doc_len", DT_U32, 1, &doc.d, doc.len);
    st_out_tensor(o, "doc_source", DT_U16, 1, &doc.d, doc.source);
    st_out_tensor(o, "doc_key", DT_U64, 1, &doc.d, doc.key);
    if (masked)
        st_out_tensor(o, "loss_mask", DT_U8, 1, &doc.n, doc.mask);
    msg_out_tokens(w, doc.n);
    if (msg_send(w, &e) != 0)
        die_err(&e);
    doc.n = doc.d = 0;
}

static void
add_doc(const uint16_t *v, const uint8_t *m, size_t n, size_t source,
    uint64_t key)
{
    for (size_t i = 0; i < n; i++, doc.n++) {
        doc.ids[doc.n] = v[i];
        doc.mask[doc.n] = m == NULL || m[i];
    }
    doc.len[doc.d] = (uint32_t)n;
    doc.source[doc.d] = (uint16_t)source;
    doc.key[doc.d++] = key;
}

static void
add_piece(size_t p)
{
    add_doc(ids + piece[p].at, mask + piece[p].at, piece[p].len,
        piece[p].source, piece[p].key);
}

static void
send_batch(struct msg_out *w)
{
    const size_t bt[2] = { B, T };
    uint32_t row[PMAX], len[PMAX], off[PMAX] = { 0 };
    uint16_t source[PMAX];
    uint64_t key[PMAX];
    struct st_out *o = msg_begin(w, MSG_BATCH);
    struct err e;
    size_t n = 0;

    for (size_t p = 0; p < P; n += len[p++]) {
        row[p] = (uint32_t)piece[p].row;
        len[p] = (uint32_t)piece[p].len;
        source[p] = (uint16_t)piece[p].source;
        key[p] = piece[p].key;
    }
    st_out_meta(o, "cursor", "0");
    st_out_tensor(o, "ids", DT_U16, 2, bt, ids);
    st_out_tensor(o, "piece_row", DT_U32, 1, &P, row);
    st_out_tensor(o, "piece_len", DT_U32, 1, &P, len);
    st_out_tensor(o, "piece_source", DT_U16, 1, &P, source);
    st_out_tensor(o, "piece_key", DT_U64, 1, &P, key);
    st_out_tensor(o, "piece_off", DT_U32, 1, &P, off);
    st_out_tensor(o, "loss_mask", DT_U8, 2, bt, mask);
    msg_out_tokens(w, n);
    if (msg_send(w, &e) != 0)
        die_err(&e);
}

/* 200 ids without a pattern. */
static void
noise(uint16_t *v)
{
    for (size_t i = 0; i < 200; i++)
        v[i] = (uint16_t)((i * i * 7 + i * 13 + 5) % V);
}

/* Send one long text, whole (n = 0) or cut by hand into windows of n that begin
 * every `step` tokens; each scores from its token `from` on. */
static void
send_long(struct msg_out *w, size_t n, size_t step, size_t from, int bos)
{
    uint16_t v[200];
    uint8_t m[200] = { 0 };

    noise(v);
    if (n == 0)
        add_doc(v, NULL, 200, 0, 1);
    memset(m + from, 1, sizeof m - from);
    for (size_t at = 0; n > 0 && at + (step < n) < 200; at += step) {
        if (bos)
            v[at] = 3;
        if (200 - at >= n || step < n)
            add_doc(v + at, m, 200 - at < n ? 200 - at : n, 0, 1);
    }
    send_docs(w, n > 0);
}

static void
write_kind(const char *kind, const char *path)
{
    struct err e;
    struct msg_out *w = msg_out_open(path, &e);
    const int bos = strstr(kind, "bos") != NULL;

    if (w == NULL)
        die_err(&e);
    begin(w, strstr(kind, "batch") ? T : 0, strstr(kind, "vocab") ? 100 : V,
        bos ? 3 : -1);
    if (strncmp(kind, "empty", 5) == 0) {
        ;
    } else if (strcmp(kind, "short") == 0) {
        for (size_t i = 0; i < 3; i++)
            add_doc(ids + i, NULL, 1, 0, i);
        send_docs(w, 0);
    } else if (strcmp(kind, "batch") == 0) {
        send_batch(w);
        send_batch(w); /* the same documents: no new observations */
    } else if (strcmp(kind, "calib-batch") == 0 ||
        strcmp(kind, "vocab-batch") == 0) {
        send_batch(w);
    } else if (strcmp(kind, "docs-back") == 0) {
        for (size_t p = P; p-- > 0; send_docs(w, 1))
            add_piece(p);
    } else if (strncmp(kind, "long", 4) == 0) {
        if (strncmp(kind, "long-docs", 9) == 0)
            send_long(w, 20, 19, 1, 0);
        else if (strncmp(kind, "long-apart", 10) == 0)
            send_long(w, 20, 20, 1, 0);
        else if (strncmp(kind, "long-llama", 10) == 0)
            send_long(w, 16, 16, 9, bos);
        else
            send_long(w, 0, 0, 0, 0);
    } else {
        for (size_t p = 0; p < P; p++)
            add_piece(p);
        send_docs(w, 1);
    }
    if (strcmp(kind, "docs-broken") == 0 ? msg_abort(w, "no more", &e) != 0
                                         : msg_end(w, &e) != 0)
        die_err(&e);
    msg_out_close(w);
}

/* ---- what evalppl says ---- */

struct line {
    char label[32], source[32];
    double v[26];
};
enum {
    L_PARAM,
    L_DOCS,
    L_TOK,
    L_NLL,
    L_NLLSE,
    L_PPL,
    L_LOW,
    L_HIGH,
    L_KL,
    L_KLSE,
    L_KLT,
    L_KLTSE,
    L_AGREE,
    L_AGREESE,
    L_RATIO,
    L_REG,
    L_SPEED,
    L_MEM,
    L_BYTES,
    L_BITS,
    L_BITSSE,
    L_WORDS,
    L_BYTEPPL,
    L_WORDPPL,
    L_ACCEPT,
    L_ACCEPTSE
};
static struct line line[16];
static size_t nline;
static double diff[8][3];
static size_t ndiff;

static void
take_line(char *s)
{
    char *save = NULL, *f = strtok_r(s, "\t\n", &save), *last = f;
    struct line *l = &line[nline];
    size_t k = 0, col = 0;

    for (; f != NULL; f = strtok_r(NULL, "\t\n", &save), col++) {
        last = f;
        if (col == 0)
            snprintf(l->label, sizeof l->label, "%s", f);
        else if (col == 1)
            snprintf(l->source, sizeof l->source, "%s", f);
        else if (k < 26)
            l->v[k++] = strcmp(f, "-") == 0 ? NAN : strtod(f, NULL);
    }
    if (col == 28 && nline < 15 && strcmp(l->label, "model") != 0)
        nline++;
    else if (col == 7 && ndiff < 8 && strcmp(last, "(all)") == 0)
        memcpy(diff[ndiff++], l->v + 1, 3 * sizeof(double));
}

/* Run evalppl on a stream of that kind and read its tables.  Returns its wait
 * status: 0 if it ended well. */
static int
run(const char *kind, const char *args)
{
    char *cmd, text[1000];
    FILE *p;
    const char *dir = getenv("RETORT_SCRATCH");
    char *file = xasprintf("%s/eval.%s", dir ? dir : "/tmp", kind);
    int r;

    nline = ndiff = 0;
    write_kind(kind, file);
    cmd = xasprintf("evalppl -q --format tsv %s %s", args, file);
    if ((p = popen(cmd, "r")) == NULL)
        return -1;
    while (fgets(text, sizeof text, p) != NULL)
        if (text[0] != '#')
            take_line(text);
    r = pclose(p);
    remove(file);
    free(file);
    free(cmd);
    return r;
}

static const struct line *
line_of(const char *label, const char *source)
{
    for (size_t i = 0; i < nline; i++)
        if (strcmp(line[i].label, label) == 0 &&
            strcmp(line[i].source, source) == 0)
            return &line[i];
    printf("# no line for %s %s\n", label, source);
    return &line[15];
}

/* ---- what the golden logits say ---- */

static double
lse(const double *z, double tau)
{
    double m = z[0], s = 0;

    for (size_t v = 1; v < V; v++)
        m = fmax(m, z[v]);
    for (size_t v = 0; v < V; v++)
        s += exp((z[v] - m) / tau);
    return m / tau + log(s);
}

static size_t
best(const double *z)
{
    size_t k = 0;

    for (size_t v = 1; v < V; v++)
        k = z[v] > z[k] ? v : k;
    return k;
}

struct want {
    double x[PMAX], n[PMAX];
}; /* sums of a quantity by piece */
static struct want nll_s, nll_t, kl, kl2, agree, accept;

static double
kl_of(const double *p, const double *q, double tau)
{
    const double lp = lse(p, tau), lq = lse(q, tau);
    double s = 0;

    for (size_t v = 0; v < V; v++)
        s += exp(p[v] / tau - lp) * (p[v] / tau - lp - q[v] / tau + lq);
    return s;
}

static double
accept_of(const double *p, const double *q)
{
    const double lp = lse(p, 1), lq = lse(q, 1);
    double s = 0;

    for (size_t v = 0; v < V; v++)
        s += fmin(exp(p[v] - lp), exp(q[v] - lq));
    return s;
}

static void
expect(void)
{
    const struct st_tensor *zs = golden_get(&g, "student.logits");
    const struct st_tensor *zt = golden_get(&g, "teacher.logits");
    struct want *const all[] = { &nll_s, &nll_t, &kl, &kl2, &agree, &accept };

    for (size_t p = 0; p < P; p++)
        for (size_t t = piece[p].at; t < piece[p].at + piece[p].len; t++) {
            double q[V], r[V];

            if (!scored[t])
                continue;
            for (size_t v = 0; v < V; v++) {
                q[v] = golden_at(zs, t * V + v);
                r[v] = golden_at(zt, t * V + v);
            }
            nll_s.x[p] += lse(q, 1) - q[ids[t + 1]];
            nll_t.x[p] += lse(r, 1) - r[ids[t + 1]];
            kl.x[p] += kl_of(r, q, 1);
            kl2.x[p] += kl_of(r, q, 2);
            agree.x[p] += best(q) == best(r);
            accept.x[p] += accept_of(r, q);
            for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                all[i]->n[p]++;
        }
}

/* Mean of w over the predictions in a source's pieces (-1: in all pieces);
 * *se: its standard error, over pieces. */
static double
mean(const struct want *w, int source, double *se)
{
    double x = 0, n = 0, d = 0, sq = 0;

    for (size_t p = 0; p < P; p++)
        if (w->n[p] > 0 && (source < 0 || (int)piece[p].source == source)) {
            x += w->x[p];
            n += w->n[p];
            d++;
        }
    for (size_t p = 0; p < P; p++)
        if (w->n[p] > 0 && (source < 0 || (int)piece[p].source == source))
            sq += pow(w->x[p] - x / n * w->n[p], 2);
    *se = sqrt(d / (d - 1) * sq) / n;
    return x / n;
}

/* The models and the stream of the run at hand, for the names of tests. */
static char run_name[64];

static void
is(const struct line *l, int value, int error, const struct want *w, int source,
    const char *what)
{
    double se;
    const double m = mean(w, source, &se);

    ok(near(l->v[value], m, 2e-6, 2e-6), "%s: %s is the golden's", run_name,
        what);
    if (error >= 0)
        ok(near(l->v[error], se, 2e-6, 2e-5),
            "%s: the error of %s is the golden's", run_name, what);
}

static void
test_golden(const char *name, const char *kind)
{
    char *args = xasprintf("--per-source --compare -c 12 --base T=" DIR
                           "%s-teacher -m S=" DIR "%s-student --temperature 2",
        name, name);
    const struct line *s, *t;
    double se, a, b;

    snprintf(run_name, sizeof run_name, "%s, %s", name, kind);
    ok(run(kind, args) == 0, "%s: evalppl runs", run_name);
    s = line_of("S", "(all)");
    t = line_of("T", "(all)");
    is(s, L_NLL, L_NLLSE, &nll_s, -1, "the student's loss");
    is(t, L_NLL, L_NLLSE, &nll_t, -1, "the teacher's loss");
    is(s, L_KL, L_KLSE, &kl, -1, "KL(teacher || student)");
    is(s, L_KLT, L_KLTSE, &kl2, -1, "KL at temperature 2");
    is(s, L_AGREE, L_AGREESE, &agree, -1, "the agreement");
    is(s, L_ACCEPT, L_ACCEPTSE, &accept, -1, "the acceptance");
    is(line_of("S", "cs"), L_ACCEPT, L_ACCEPTSE, &accept, 1,
        "the acceptance of a source");
    is(line_of("S", "bg"), L_NLL, L_NLLSE, &nll_s, 0, "the loss of a source");
    is(line_of("S", "cs"), L_KL, L_KLSE, &kl, 1, "the KL of a source");
    a = mean(&nll_s, -1, &se);
    b = mean(&nll_t, -1, &se);
    ok(near(s->v[L_PPL], exp(a), 0, 1e-5), "%s: perplexity is exp(loss)",
        run_name);
    ok(near(s->v[L_RATIO], 100 * exp(b - a), 0, 1e-4),
        "%s: the ratio of perplexities is exact", run_name);
    ok(near(t->v[L_KL], 0, 0, 0) && near(t->v[L_RATIO], 100, 0, 0),
        "%s: the teacher's ratio is 100", run_name);
    mean(&nll_s, -1, &se);
    ok(near(log(s->v[L_HIGH] / s->v[L_PPL]), 2.776 * se, 1e-5, 1e-4),
        "%s: the interval is that of five documents", run_name);
    /* differences paired by document */
    {
        struct want d = nll_t;
        double m;

        for (size_t p = 0; p < P; p++)
            d.x[p] -= nll_s.x[p];
        m = mean(&d, -1, &se);
        ok(ndiff == 1 && near(diff[0][0], m, 2e-6, 0) &&
                near(diff[0][1], se, 2e-6, 2e-5),
            "%s: the difference of losses is paired", run_name);
    }
    free(args);
}

static int
same_line(const struct line *a, const struct line *b)
{
    int r = 1;

    for (int i = 0; i <= L_REG; i++)
        r = r && (a->v[i] == b->v[i] || (isnan(a->v[i]) && isnan(b->v[i])));
    for (int i = L_ACCEPT; i <= L_ACCEPTSE; i++)
        r = r && (a->v[i] == b->v[i] || (isnan(a->v[i]) && isnan(b->v[i])));
    return r;
}

/* Two runs that must say the same to the last digit. */
static void
test_same(const char *kind1, const char *args1, const char *kind2,
    const char *args2, int all, const char *what)
{
    const char *m = "--base T=" DIR "tied-teacher -m S=" DIR "tied-student ";
    char *one = xasprintf("%s%s", m, args1), *two = xasprintf("%s%s", m, args2);
    struct line s, t;
    int r = run(kind1, one);

    s = *line_of("S", "(all)");
    t = *line_of("T", "(all)");
    ok(r == 0 && run(kind2, two) == 0, "evalppl runs twice, for: %s", what);
    if (all)
        ok(same_line(&s, line_of("S", "(all)")) &&
                same_line(&t, line_of("T", "(all)")),
            "%s", what);
    else
        ok(s.v[L_NLL] > 0 && s.v[L_NLL] == line_of("S", "(all)")->v[L_NLL] &&
                s.v[L_KL] == line_of("S", "(all)")->v[L_KL] &&
                s.v[L_TOK] == line_of("S", "(all)")->v[L_TOK],
            "%s", what);
    free(one);
    free(two);
}

static void
test_self(void)
{
    const struct line *s;

    ok(run("docs", "--base T=" DIR "tied-teacher -m S=" DIR "tied-teacher") ==
            0,
        "a model is judged beside itself");
    s = line_of("S", "(all)");
    ok(s->v[L_KL] == 0 && s->v[L_AGREE] == 1 && s->v[L_RATIO] == 100,
        "a model has no KL to itself");
    ok(near(s->v[L_ACCEPT], 1.0, 1e-6, 0) && s->v[L_ACCEPT] <= 1.0,
        "a model accepts all of its own tokens");
    ok(run("docs",
           "--base T=" DIR "tied-teacher -m S=" DIR "tied-student "
           "-m P=" DIR "tied-student --before P") == 0,
        "a student is judged with --before");
    ok(line_of("P", "(all)")->v[L_REG] == 0 &&
            line_of("T", "(all)")->v[L_REG] == 100,
        "regained goes from 0 to 100");
}

int
main(int argc, char **argv)
{
    if (argc > 1) {
        load(argv[1]);
        write_kind(argv[2], argv[3]);
        return 0;
    }
    load(DIR "untied.safetensors");
    expect();
    test_golden("untied", "batch");
    test_golden("untied", "docs");
    golden_close(&g);
    for (size_t p = 0; p < P; p++)
        nll_s.x[p] = nll_t.x[p] = kl.x[p] = kl2.x[p] = agree.x[p] =
            accept.x[p] = nll_s.n[p] = nll_t.n[p] = kl.n[p] = kl2.n[p] =
                agree.n[p] = accept.n[p] = 0;
    load(DIR "tied.safetensors");
    expect();
    test_golden("tied", "batch");
    test_golden("tied", "docs");
    test_self();
    test_same("docs", "-c 64 -B 1", "docs", "-c 64 -B 9", 1,
        "rows at a time change no digit");
    test_same("docs", "-c 64 -j 1", "docs", "-c 64 -j 3", 1,
        "threads change no digit");
    test_same("docs", "-c 640", "docs-back", "-c 640", 1,
        "the order of documents changes no digit");
    test_same("long", "-c 20", "long-docs", "-c 20", 1,
        "long documents are cut as by hand");
    test_same("long", "-c 20 --protocol hf --stride 20", "long-apart", "-c 20",
        1, "strides are cut as by hand");
    test_same("long", "-c 16 --protocol llama.cpp", "long-llama", "-c 16", 0,
        "llama.cpp's windows are cut as by hand");
    test_same("long-bos", "-c 16 --protocol llama.cpp", "long-llama-bos",
        "-c 16", 0, "windows that begin with BOS are cut as by hand");
    golden_close(&g);
    return done_testing();
}
