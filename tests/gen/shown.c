/* The bytes of a growing text that can be shown, and where a stop string ends
 * it. */
#include "base/rng.h"
#include "gen/shown.h"
#include "../lib/tap.h"

#include <string.h>

static char one[] = "\n\nQ:", two[] = "end", three[] = "\xc3\xa9t\xc3\xa9";
static char *const stops[] = { one, two, three };

static size_t
shown_of(const char *text)
{
    return shown_length(text, strlen(text), stops, 3);
}

/* Show a text that comes in random pieces: what is shown until it ends or has a
 * stop string is `want`. */
static int
shows(const char *text, const char *want, uint64_t seed)
{
    const size_t all = strlen(text);
    char out[200] = "";
    size_t shown = 0, n = 0, at;

    for (uint64_t k = 0; n < all; k++) {
        n += rng_u64(seed, k) % 4;
        n = n < all ? n : all;
        at = shown_stop(text, n, 0, stops, 3);
        if (at < n || n == all) {
            memcpy(out + shown, text + shown, at - shown);
            return strlen(want) == at && memcmp(out, want, at) == 0;
        }
        at = shown_length(text, n, stops, 3);
        if (at < shown)
            return 0;
        memcpy(out + shown, text + shown, at - shown);
        shown = at;
    }
    return 0;
}

int
main(void)
{
    size_t good = 0;

    ok(shown_of("abc") == 3 && shown_of("") == 0, "plain text is shown");
    ok(shown_of("the e") == 4 && shown_of("the en") == 4 &&
            shown_of("the ent") == 7,
        "bytes are held back while they may begin a stop string");
    ok(shown_of("a\n") == 1 && shown_of("a\n\n") == 1 &&
            shown_of("a\n\n\n") == 2,
        "the longest beginning of a stop string is held back");
    ok(shown_of("x\xe2\x82") == 1 && shown_of("x\xe2\x82\xac") == 4 &&
            shown_of("x\xf0\x9f\x98") == 1,
        "a character is shown when it is whole");
    ok(shown_of("x\xff") == 2 && shown_of("x\xf5") == 2 &&
            shown_of("x\x80") == 2,
        "a byte that begins no character is shown");
    ok(shown_of("\xc3\xa9t\xc3") == 0,
        "half a character may end a stop string");
    ok(shown_stop("a end the end", 13, 0, stops, 3) == 2 &&
            shown_stop("a end the end", 13, 3, stops, 3) == 10 &&
            shown_stop("en", 2, 0, stops, 3) == 2,
        "the first stop string ends a text");
    for (uint64_t seed = 0; seed < 300; seed++) {
        good += (size_t)shows("One e en \xe2\x82\xac of\n\nQ: more",
            "One e en \xe2\x82\xac of", seed);
        good += (size_t)shows("tail \n\n \xf0\x9f\x98\x80 \xc3\xa9t en",
            "tail \n\n \xf0\x9f\x98\x80 \xc3\xa9t en", seed);
    }
    ok(good == 600,
        "text in random pieces is shown whole, up to a stop string");
    return done_testing();
}
