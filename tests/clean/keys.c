/* Counted keys against a plain table; folded words; MinHash. */
#include "clean/keys.c"
#include "clean/minhash.c"
#include "clean/words.c"

#include "base/rng.h"

#include "../lib/tap.h"

#define KEYS 60000
#define PUTS 200000

/* Key number i, of random bits. */
static struct key
number(uint64_t i)
{
    return (struct key){ rng_u64(1, i), rng_u64(2, i) };
}

static void
counting(size_t mem, size_t least, const char *what)
{
    static uint32_t want[KEYS];
    struct keys *k = keys_new(mem);
    struct err e;
    size_t wrong = 0, failed = 0;

    memset(want, 0, sizeof want);
    for (uint64_t i = 0; i < PUTS; i++) {
        const uint64_t u = rng_u64(3, i) % KEYS, w = u * u / KEYS;

        wrong += i % 3 == 0 && keys_count(k, number(w)) != want[w];
        failed += keys_put(k, number(w), &e) < 0;
        want[w]++;
    }
    for (uint64_t i = 0; i < KEYS; i++)
        wrong += keys_count(k, number(i)) != want[i];
    for (uint64_t i = KEYS; i < 2 * KEYS; i++)
        wrong += keys_count(k, number(i)) != 0;
    ok(wrong == 0 && failed == 0, "%s: %zu counts are wrong", what, wrong);
    ok(keys_spills(k) >= least, "%s takes %zu files", what, keys_spills(k));
    keys_free(k);
}

static void
limits(void)
{
    struct keys *k = keys_new((size_t)1 << 20);
    struct err e;
    int bad = 0;

    for (int i = 0; i < 70000; i++)
        bad += keys_put(k, number(5), &e) < 0;
    ok(!bad && keys_count(k, number(5)) == KEYS_MOST,
        "counts stop at KEYS_MOST");
    /* only the first 112 of a key's 128 bits distinguish keys */
    keys_put(k, (struct key){ 7, 0x10000 }, &e);
    ok(keys_count(k, (struct key){ 7, 0x1ffff }) == 1 &&
            keys_count(k, (struct key){ 7, 0x20000 }) == 0,
        "112 bits count");
    keys_put(k, (struct key){ UINT64_MAX, UINT64_MAX }, &e);
    keys_put(k, (struct key){ 0, 0 }, &e);
    ok(keys_count(k, (struct key){ UINT64_MAX, UINT64_MAX }) == 1 &&
            keys_count(k, (struct key){ 0, 0 }) == 1,
        "first and last keys");
    keys_free(k);
}

/* Test that f cuts `text` into the words that `want` lists, a / after each. */
static void
folds(const struct fold *f, const char *text, const char *want)
{
    struct words w = { 0 };
    struct buf b = { 0 };
    uint64_t hash;
    int good = 1;

    buf_adds(&b, "");
    words_begin(&w, f, text, strlen(text));
    while (words_next(&w, &hash)) {
        good &= hash == XXH3_64bits(w.word.p, w.word.n);
        buf_add(&b, w.word.p, w.word.n);
        buf_addc(&b, '/');
    }
    ok(good && strcmp(b.p, want) == 0, "\"%s\" is cut into the words %s", text,
        b.p);
    words_release(&w);
    buf_release(&b);
}

/* Expected words are Python's: unicodedata.normalize("NFD", normalize("NFKC",
 * s).casefold()) without category M, cut where no letter or number is. */
static void
words_fold(const struct fold *f)
{
    folds(f, "", "");
    folds(f, " .,!\t\n", "");
    folds(f, "One two,THREE", "one/two/three/");
    folds(f, "Stra\303\237e STRASSE", "strasse/strasse/");
    folds(f, "caf\303\251 cafe\314\201 CAF\303\211", "cafe/cafe/cafe/");
    folds(f, "\357\254\201n \357\274\241\357\274\242", "fin/ab/");
    folds(f,
        "\316\243\316\237\316\246\316\237\316\243 "
        "\317\203\317\214\317\206\316\277\317\202",
        "\317\203\316\277\317\206\316\277\317\203/"
        "\317\203\316\277\317\206\316\277\317\203/");
    folds(f, "\310\231i \305\237i", "si/si/");
    folds(f, "so\302\255ft don't 3,5 x\302\262", "soft/don/t/3/5/x2/");
    folds(f, "\360\235\220\200\360\235\220\201 \360\237\230\200 z", "ab/z/");
    folds(f, "\304\260 I \304\261", "i/i/\304\261/");
}

/* The estimated similarity of two texts of `words` words, of which the first
 * `same` are equal. */
static double
estimate(const struct fold *f, const struct minhash *m, unsigned seed,
    int words, int same)
{
    static uint64_t v[2][MINHASH_MOST];
    struct words w = { 0 };
    struct buf b = { 0 };
    size_t equal_values = 0;

    for (int t = 0; t < 2; t++) {
        buf_clear(&b);
        for (int i = 0; i < words; i++)
            buf_addf(&b, "w%ux%dx%d ", seed, i, i < same ? 0 : t + 1);
        words_begin(&w, f, b.p, b.n);
        minhash_text(m, &w, v[t]);
    }
    for (size_t i = 0; i < m->n; i++)
        equal_values += v[0][i] == v[1][i];
    words_release(&w);
    buf_release(&b);
    return (double)equal_values / (double)m->n;
}

static void
estimates(const struct fold *f)
{
    static struct minhash m;

    minhash_init(&m, MINHASH_MOST);
    for (int same = 4; same <= 204; same += 25) {
        /* of the 200 runs of five words in each text, same - 4 are shared */
        const double J = (same - 4.0) / (400.0 - (same - 4.0));
        double sum = 0.0, err;

        for (unsigned seed = 0; seed < 30; seed++)
            sum += estimate(f, &m, seed, 204, same);
        /* 4 standard errors of the mean of 30 pairs of texts; a pair's 1024
         * values, which are not independent, count as 200 */
        err = 4.0 * sqrt(J * (1.0 - J) / (30.0 * 200.0)) + 1e-12;
        ok(near(sum / 30.0, J, err, 0.0), "the similarity %.3f is estimated",
            J);
    }
    ok(estimate(f, &m, 1, 3, 3) == 1.0, "a text of fewer words is one run");
    ok(estimate(f, &m, 1, 3, 2) < 0.05, "one of three words differs");
}

int
main(void)
{
    struct err e;
    struct fold *f = fold_new(&e);

    counting((size_t)64 << 20, 0, "all in memory");
    counting((size_t)1 << 20, 8, "files that are merged");
    counting((size_t)64 << 10, 64, "twice");
    limits();
    ok(f != NULL, "ICU has its data");
    if (f) {
        words_fold(f);
        estimates(f);
    }
    fold_free(f);
    return done_testing();
}
