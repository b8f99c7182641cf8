/* Requests of generate bench: lengths and prompts by seed. */
#include "base/mem.h"
#include "generate/bench_plan.h"
#include "../lib/tap.h"

#include <string.h>

enum { COUNT = 200, V = 1000 };

/* How many tokens the prompts (k,i) and (l,j) have in common at their
 * beginnings. */
static size_t
common_tokens(const struct bench_plan *p, size_t k, size_t i, size_t l,
    size_t j)
{
    const size_t most = bench_longest(p);
    uint32_t *a = xcalloc(2 * most, sizeof *a), *b = a + most;
    size_t n = 0;

    bench_prompt(p, k, i, a);
    bench_prompt(p, l, j, b);
    while (n < bench_prompt_length(p, i) && n < bench_prompt_length(p, j) &&
        a[n] == b[n])
        n++;
    free(a);
    return n;
}

int
main(void)
{
    size_t at_once[] = { 1, 3, 100 };
    struct bench_plan p = { .count = COUNT,
        .prefix = 20,
        .prompt = 40,
        .length = 10,
        .vary = 0.25,
        .V = V,
        .seed = 1,
        .levels = 3,
        .at_once = at_once };
    size_t low = SIZE_MAX, high = 0, least = SIZE_MAX, most = 0;

    for (size_t i = 0; i < COUNT; i++) {
        const size_t n = bench_prompt_length(&p, i) - p.prefix;
        const size_t k = bench_new_tokens(&p, i);

        low = n < low ? n : low;
        high = n > high ? n : high;
        least = k < least ? k : least;
        most = k > most ? k : most;
    }
    ok(low == 30 && high == 50, "prompts of 40 tokens vary from 30 to 50");
    ok(least == 8 && most == 12, "10 new tokens vary from 8 to 12");
    ok(bench_longest(&p) == 20 + 50 + 12, "the longest request is counted");
    ok(common_tokens(&p, 0, 3, 0, 3) == bench_prompt_length(&p, 3),
        "a request has one prompt");
    ok(common_tokens(&p, 0, 3, 0, 4) == 20,
        "the prompts of a level share the prefix alone");
    ok(common_tokens(&p, 0, 3, 1, 3) == 20,
        "the prompts of two levels share the prefix alone");
    ok(bench_per_turn(&p, 0) == 1 && bench_per_turn(&p, 1) == 12 &&
            bench_per_turn(&p, 2) == COUNT,
        "a turn has one request, or four times as many as run at a time");
    ok(bench_warm_up(&p, 1) == 3 && bench_most_warm_up(&p) == 100,
        "as many requests as run at a time warm up");
    p.vary = 1.0;
    p.length = 2;
    least = SIZE_MAX;
    for (size_t i = 0; i < COUNT; i++)
        least =
            bench_new_tokens(&p, i) < least ? bench_new_tokens(&p, i) : least;
    ok(least == 2, "a text has at least two new tokens");
    return done_testing();
}
