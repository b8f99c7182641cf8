/*
 * A teacher of another tokenizer.  Without arguments: two tokenizations of a
 * text are aligned, and two vocabularies matched, as can be seen by hand.
 * student_tokenizer STREAM GOLDEN prints how far what the teacher wrote is from
 * scripts/oracle/student_tokenizer.py: the number of ids and kinds that differ,
 * and the largest differences of a log-probability (relative, if it is below
 * -1), of the probability of the rest, and of a target's sum of probabilities
 * from 1.  Then, for tokens that several of the teacher's make up, it prints
 * how many of them TRL's GOLD was asked for, the largest difference of a
 * log-probability from GOLD's exact strategy, and the least from the strategy
 * that is off by one.
 */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "kern/kern.h"
#include "msg/msg.h"
#include "teacher/align.h"
#include "teacher/shared_vocab.h"
#include "teacher/student_tokenizer.h"

#include <string.h>

enum { K = 8 };

/* ---- a stream against the oracle ---- */

struct off {
    size_t kinds, ids, gold;
    double logp, rest, sum, exact, shifted;
};

static double
number_at(const struct st_tensor *t, size_t i)
{
    uint16_t half;
    float f;

    if (t->dtype == DT_F16) {
        half = st_u16(t, i);
        kern.widen_f16(&f, &half, 1);
    } else {
        memcpy(&f, (const char *)t->data + 4 * i, 4);
    }
    return f;
}

static const struct st_tensor *
want_tensor(const struct golden *g, size_t batch, const char *name)
{
    char key[40];

    snprintf(key, sizeof key, "%zu.%s", batch, name);
    return golden_get(g, key);
}

static void
compare_gold(struct off *o, double logp, double exact, double shifted)
{
    if (exact == 0.0)
        return;
    o->gold++;
    o->exact = farther(o->exact, fabs(logp - exact) / fmax(1.0, -exact));
    o->shifted = fmin(o->shifted, fabs(logp - shifted));
}

static void
compare_batch(struct off *o, const struct golden *g, size_t batch,
    const struct st *s)
{
    const struct st_tensor *kind = st_find(s, "teacher.kind");
    const struct st_tensor *ids = st_find(s, "teacher.top.ids");
    const struct st_tensor *logp = st_find(s, "teacher.top.logp");
    const struct st_tensor *rest = st_find(s, "teacher.rest");
    const struct st_tensor *text = want_tensor(g, batch, "ids");
    const uint8_t *got = kind->data;
    const uint8_t *want = want_tensor(g, batch, "kind")->data;

    if (text->nbytes != st_find(s, "ids")->nbytes ||
        memcmp(text->data, st_find(s, "ids")->data, text->nbytes) != 0) {
        printf("batch %zu has other tokens than the golden one\n", batch);
        exit(1);
    }
    for (size_t i = 0; i < kind->n; i++) {
        double sum = exp(number_at(rest, i));

        o->kinds += got[i] != want[i];
        o->rest = farther(o->rest,
            fabs(sum - exp(golden_at(want_tensor(g, batch, "rest"), i))));
        for (size_t j = 0; j < K; j++) {
            const size_t at = i * K + j;
            const double logp_want =
                golden_at(want_tensor(g, batch, "top.logp"), at);

            o->ids +=
                st_u32(ids, at) != st_u32(want_tensor(g, batch, "top.ids"), at);
            o->logp = farther(o->logp,
                fabs(number_at(logp, at) - logp_want) / fmax(1.0, -logp_want));
            if (j < (got[i] == 1 ? K : (size_t)(got[i] == 2)))
                sum += exp(number_at(logp, at));
        }
        o->sum = farther(o->sum, fabs(sum - 1.0));
        compare_gold(o, number_at(logp, i * K),
            golden_at(want_tensor(g, batch, "gold.bayesian"), i),
            golden_at(want_tensor(g, batch, "gold.observed"), i));
    }
}

static int
compare_stream(const char *stream, const char *path)
{
    struct off o = { .shifted = INFINITY };
    struct golden g;
    struct err e;
    struct msg_in *in = msg_in_open(stream, &e);
    struct msg m;
    size_t n = 0;
    int r;

    if (in == NULL || kern_init() != NULL)
        return 1;
    golden_open(&g, path);
    while ((r = msg_read(in, &m, &e)) > 0)
        if (m.kind == MSG_BATCH)
            compare_batch(&o, &g, n++, &m.st);
    printf("%zu %zu %zu %.3g %.3g %.3g\n%zu %.3g %.3g\n", n, o.kinds, o.ids,
        o.logp, o.rest, o.sum, o.gold, o.exact, o.shifted);
    msg_in_close(in);
    golden_close(&g);
    return r < 0;
}

/* ---- alignment ---- */

/* Students' ids and teachers' ids are the same numbers, each its own twin, but
 * for 9, which has none. */
static const uint32_t twin[10] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, SHARED_NONE };

/* Align a student's tokens with a teacher's; ids in order, and ends. */
static void
align_ends(struct align_target *t, const uint32_t *id_s, const uint32_t *end_s,
    size_t n, const uint32_t *id_t, const uint32_t *end_t, size_t m)
{
    const struct align_side s = { id_s, end_s, n }, o = { id_t, end_t, m };

    align_piece(&s, &o, twin, t);
}

static void
align_same(void)
{
    const uint32_t id[5] = { 1, 2, 3, 4, 5 }, end[5] = { 0, 3, 4, 9, 10 };
    struct align_target t[5];
    size_t good = 0;

    align_ends(t, id, end, 5, id, end, 5);
    for (size_t i = 0; i < 4; i++)
        good += t[i].kind == ALIGN_WHOLE && t[i].at == i && t[i].n == 1 &&
            t[i].next == id[i + 1];
    ok(good == 4 && t[4].kind == ALIGN_NONE,
        "equal tokenizations have a distribution at every token but the last");
}

static void
align_other(void)
{
    /* the student:  BOS ab  cd    ef gh   i; the teacher: BOS ab c d efgh i */
    const uint32_t s[6] = { 0, 1, 2, 3, 4, 5 }, es[6] = { 0, 2, 4, 6, 8, 9 };
    const uint32_t o[6] = { 0, 1, 6, 7, 8, 5 }, eo[6] = { 0, 2, 3, 4, 8, 9 };
    struct align_target t[6];

    align_ends(t, s, es, 6, o, eo, 6);
    ok(t[0].kind == ALIGN_WHOLE && t[0].at == 0,
        "the first token is predicted from BOS");
    ok(t[1].kind == ALIGN_TOKEN && t[1].at == 1 && t[1].n == 2 &&
            t[1].next == 2,
        "a token that two of the teacher's make up is predicted by both");
    ok(t[2].kind == ALIGN_NONE,
        "a token that is the beginning of the teacher's has no target");
    ok(t[3].kind == ALIGN_NONE,
        "a token that begins inside the teacher's has no target");
    ok(t[4].kind == ALIGN_WHOLE && t[4].at == 4,
        "the token after both tokenizations meet again has a distribution");
}

static void
align_rare(void)
{
    const uint32_t s[4] = { 0, 9, 1, 2 }, es[4] = { 0, 2, 2, 3 };
    const uint32_t o[4] = { 0, 3, 4, 2 }, eo[4] = { 0, 0, 2, 3 };
    const uint32_t text[2] = { 1, 2 }, ends[2] = { 1, 2 };
    struct align_target t[4];

    align_ends(t, s, es, 4, o, eo, 4);
    ok(t[0].kind == ALIGN_TOKEN && t[0].at == 0 && t[0].n == 2,
        "a token of no bytes counts in the product of the next token");
    ok(t[1].kind == ALIGN_NONE, "a next token of no bytes has no target");
    ok(t[2].kind == ALIGN_WHOLE, "a token of no bytes predicts the next one");
    align_ends(t, s, es, 2, o, eo + 2, 1);
    ok(t[0].kind == ALIGN_NONE,
        "without BOS the teacher does not predict its first token");
    align_ends(t, text, ends, 2, text, ends, 1);
    ok(t[0].kind == ALIGN_NONE,
        "where the teacher's tokens end there are no targets");
    align_ends(t, text, ends, 2, text, ends, 0);
    ok(t[0].kind == ALIGN_NONE, "a teacher without tokens gives no targets");
}

/* ---- vocabularies ---- */

static int
same_bytes(const struct tokenizer *a, uint32_t x, const struct tokenizer *b,
    uint32_t y)
{
    struct buf p = { 0 }, q = { 0 };
    struct err e;
    const int r = tok_decode(a, &x, 1, TOK_MIDDLE, &p, &e) == 0 &&
        tok_decode(b, &y, 1, TOK_MIDDLE, &q, &e) == 0 && p.n == q.n &&
        p.n > 0 && memcmp(p.p, q.p, p.n) == 0;

    buf_release(&p);
    buf_release(&q);
    return r;
}

static void
match_vocabularies(void)
{
    static const char dir[] = "tests/golden/tok/";
    struct err e;
    char path[80];
    struct tokenizer *s, *t;
    struct shared_vocab v;
    size_t bad = 0, twice = 0;
    uint8_t seen[4096] = { 0 };
    int64_t byte, plain;

    snprintf(path, sizeof path, "%sdigits.json", dir);
    s = tok_open(path, &e);
    snprintf(path, sizeof path, "%sfamily/gemma3.json", dir);
    t = tok_open(path, &e);
    if (s == NULL || t == NULL) {
        ok(0, "tokenizers open: %s", e.msg);
        return;
    }
    shared_vocab_make(&v, s, t, tok_vocab(t));
    for (size_t i = 0; i < v.n; i++) {
        bad += !tok_is_special(s, v.student[i]) &&
            !same_bytes(s, v.student[i], t, v.teacher[i]);
        bad += v.twin[v.student[i]] != v.teacher[i];
        bad += i > 0 && v.student[i] <= v.student[i - 1];
        twice += seen[v.teacher[i]]++;
    }
    ok(v.n == 428, "428 tokens match, as the oracle counts (%zu)", v.n);
    ok(bad == 0, "matched tokens have equal bytes");
    ok(twice == 0, "no token is matched twice");
    ok(v.twin[tok_eos(s)] == (uint32_t)tok_eos(t), "EOS matches EOS");
    byte = tok_id(t, "<0x41>", 6);
    plain = tok_id(t, "A", 1);
    ok(byte >= 0 && plain >= 0 && byte != plain &&
            v.twin[tok_id(s, "A", 1)] == (uint32_t)plain,
        "a letter matches the token that is not spelled <0x41>");
    shared_vocab_release(&v);
    shared_vocab_make(&v, s, t, 300);
    for (size_t i = bad = 0; i < v.n; i++)
        bad += v.teacher[i] >= 300;
    ok(v.n > 0 && bad == 0, "ids that the teacher's model lacks do not match");
    shared_vocab_release(&v);
    shared_vocab_make(&v, s, s, tok_vocab(s));
    for (size_t i = bad = 0; i < v.n; i++)
        bad += v.teacher[i] != v.student[i];
    ok(bad == 0 && v.n + 1 >= tok_vocab(s),
        "a vocabulary matches itself, id by id (%zu)", v.n);
    shared_vocab_release(&v);
    tok_free(s);
    tok_free(t);
}

/* ---- batches ---- */

/* A batch of one row: a text in a student's tokens, in pieces of `cut` tokens;
 * special tokens in it are taken as such. */
static void
one_row(struct batch *b, const struct tokenizer *t, const char *text,
    size_t cut)
{
    struct tok_scratch *scratch = tok_scratch_new(t);
    struct tok_ids ids = { 0 };

    tok_encode(t, scratch, text, strlen(text), TOK_SPECIAL, &ids);
    memset(b, 0, sizeof *b);
    b->B = 1;
    b->T = b->ntok = ids.n;
    b->ids = ids.v;
    b->P = (ids.n + cut - 1) / cut;
    b->piece_row = xcalloc(b->P, sizeof *b->piece_row);
    b->piece_len = xcalloc(b->P, sizeof *b->piece_len);
    b->piece_off = xcalloc(b->P, sizeof *b->piece_off);
    for (size_t p = 0; p < b->P; p++) {
        b->piece_off[p] = (uint32_t)(p * cut);
        b->piece_len[p] =
            (uint32_t)(ids.n - p * cut < cut ? ids.n - p * cut : cut);
    }
    tok_scratch_free(scratch);
}

/* The bytes of tokens without a space before them. */
static void
bare_bytes(struct buf *b, const struct tokenizer *t, const uint32_t *ids,
    size_t n)
{
    struct err e;

    buf_clear(b);
    if (tok_decode(t, ids, n, TOK_MIDDLE, b, &e) < 0)
        abort();
    if (b->n > 0 && b->p[0] == ' ')
        memmove(b->p, b->p + 1, b->n--);
}

/* Counts of a text's targets: bad are those whose tokens of the teacher have
 * other bytes than the student's next token. */
struct counts {
    size_t kind[3], bad, tokens, last; /* last: the last token with a target */
};

/* Count the targets of a text.  cut: tokens of a piece; V: ids of the teacher's
 * model, 0: all. */
static struct counts
count_targets(const char *student, const char *teacher, const char *text,
    size_t cut, size_t V)
{
    struct err e;
    struct tokenizer *s = tok_open(student, &e), *t = tok_open(teacher, &e);
    struct student_tokenizer *both =
        student_tokenizer_new(student, teacher, V > 0 ? V : tok_vocab(t));
    const struct align_target *a;
    struct batch from, to = { 0 };
    struct buf x = { 0 }, y = { 0 };
    struct counts c = { 0 };

    one_row(&from, s, text, cut);
    student_tokenizer_batch(both, &from, &to);
    a = student_tokenizer_targets(both);
    c.tokens = from.T;
    for (size_t i = 0; i < to.T; i++)
        c.bad += V > 0 && to.ids[i] >= V;
    for (size_t i = 0; i < from.T; i++) {
        c.kind[a[i].kind]++;
        if (a[i].kind == ALIGN_NONE)
            continue;
        c.last = i;
        bare_bytes(&x, s, &from.ids[i + 1], 1);
        bare_bytes(&y, t, to.ids + a[i].at + 1, a[i].n);
        c.bad += a[i].next != from.ids[i + 1] || a[i].at + a[i].n >= to.T ||
            to.first[a[i].at] != to.first[a[i].at + a[i].n] ||
            (!tok_is_special(s, a[i].next) &&
                (x.n != y.n || memcmp(x.p, y.p, x.n) != 0));
    }
    buf_release(&x);
    buf_release(&y);
    batch_release(&from);
    batch_release(&to);
    student_tokenizer_free(both);
    tok_free(s);
    tok_free(t);
    return c;
}

/* Texts in the tokens of many pairs of tokenizers. */
static void
align_pairs(void)
{
    static const char *const path[] = { "tests/golden/tok/digits.json",
        "tests/golden/tok/family/gpt2legacy.json",
        "tests/golden/tok/family/llama2.json",
        "tests/golden/tok/family/mistral3.json",
        "tests/golden/tok/family/gemma3.json",
        "tests/golden/tok/family/qwen.json" };
    static const char text[] =
        " The members  of the committee said \"don't\" in 1984.\n\n"
        "\tna\u00efve caf\u00e9 \u2014 \U0001F642! u d-drittijiet";
    enum { N = sizeof path / sizeof *path };

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            const char *a = strrchr(path[i], '/') + 1;
            const char *b = strrchr(path[j], '/') + 1;
            struct counts whole, cut;

            if (i == j)
                continue;
            whole = count_targets(path[i], path[j], text, 1000, 0);
            cut = count_targets(path[i], path[j], text, 7, 0);
            ok(whole.bad == 0 && cut.bad == 0 &&
                    whole.kind[1] + whole.kind[2] > 0 && cut.kind[1] > 0,
                "targets of %s from %s have the bytes of the next token "
                "(%zu, %zu, %zu)",
                a, b, whole.kind[1], whole.kind[2], whole.kind[0]);
        }
}

static void
end_early(void)
{
    static const char student[] = "tests/golden/tok/digits.json";
    static const char nfc[] = "tests/golden/tok/family/qwen.json";
    static const char gemma[] = "tests/golden/tok/family/gemma3.json";
    /* an e and a combining acute accent, which NFC makes one character */
    const char *text = "one two three\u0301 four five six";
    const char *same = "one two three four five six";
    static const char chat[] = "tests/golden/tok/family/qwen.json";
    const char *foreign = "one two three<|im_start|>four five six seven";
    const char *special = "one two<|endoftext|>three four five";
    struct counts c = count_targets(student, nfc, text, 1000, 0);
    struct counts d = count_targets(student, nfc, same, 1000, 0);

    ok(c.bad == 0 && c.last > 0 && c.last + 8 < c.tokens &&
            d.last + 2 == d.tokens,
        "after text that the teacher's tokenizer changes there are no targets "
        "(the last is %zu of %zu; else %zu of %zu)",
        c.last, c.tokens, d.last, d.tokens);
    c = count_targets(student, gemma, special, 1000, 0);
    ok(c.bad == 0 && c.last + 2 == c.tokens,
        "EOS inside a piece becomes the teacher's, and text after it is "
        "aligned");
    c = count_targets(chat, gemma, foreign, 1000, 0);
    d = count_targets(chat, gemma, "one two three", 1000, 0);
    ok(c.bad == 0 && c.last > 0 && c.last == d.last,
        "after a special token that the teacher lacks there are no targets "
        "(the last is %zu of %zu, as without it)",
        c.last, c.tokens);
    d = count_targets(student, gemma, special, 1000, 0);
    c = count_targets(student, gemma, special, 1000, 1100);
    ok(c.bad == 0 && c.kind[ALIGN_WHOLE] > 0 && c.last < d.last,
        "after a token that the teacher's model lacks there are no targets "
        "(the last is %zu, else %zu)",
        c.last, d.last);
}

int
main(int argc, char **argv)
{
    if (argc == 3)
        return compare_stream(argv[1], argv[2]);
    align_same();
    align_other();
    align_rare();
    match_vocabularies();
    align_pairs();
    end_early();
    return done_testing();
}
