/* lib/cli: options.  Run with arguments this is a program that parses them
 * and prints what it got; tests/rules/opt.sh looks at its usage and misuse. */
#include "base/note.h"
#include "base/number.h"
#include "cli/opt.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const char *const words[] = { "cold", "warm", "hot", NULL };

struct settings {
    int flag, long_flag, level;
    const char *text, *maybe;
    size_t size, depth, top;
    double real, wait;
    struct opt_list list;
    char **operands;
    int n;
};

static void
parse(struct settings *s, int argc, char **argv)
{
    const struct opt opts[] = { OPT_FLAG('f', "flag", &s->flag, "a flag"),
        OPT_FLAG(0, "no-cache", &s->long_flag, "a flag without letter"),
        OPT_STR('o', "out", &s->text, "file", "write to file"),
        OPT_GROUP("numbers"),
        OPT_SIZE('n', "number", &s->size, 1, 0x1p40, "bytes", "how much"),
        OPT_SIZE(0, "top", &s->top, 1, 64, "k", "the best (default: 8)"),
        OPT_REAL(0, "rate", &s->real, 0, 1, "x", "how fast"),
        OPT_TIME(0, "wait", &s->wait, 0, 0x1p40, "time", "how long"),
        OPT_ENUM('l', "level", &s->level, words, "word", "how warm"),
        OPT_LIST('a', "also", &s->list, "name", "one more"),
        OPT_MAYBE(0, "say", &s->maybe, "text", "perhaps something"),
        OPT_SIZE(0, "depth", &s->depth, 0, 0x1p53, "n",
            "how deep this goes, "
            "which takes a longer line to say than there is room for (0: not "
            "at all)"),
        OPT_END };

    s->size = (size_t)256 << 20;
    s->depth = 0;
    s->top = OPT_NONE;
    s->real = 2e-5;
    s->wait = 90;
    s->level = 1;
    s->operands = opt_parse(argc, argv, opts, "Prove the option parser.",
        "[file ...]", 0, 3, &s->n);
}

/* Parse the words of text. */
static void
parse_text(struct settings *s, const char *text)
{
    static char store[400];
    static char *argv[40];
    int argc = 0;

    *s = (struct settings){ 0 };
    snprintf(store, sizeof store, "prog %s", text);
    for (char *p = store; *p != '\0'; p += strcspn(p, " ")) {
        if (*p == ' ')
            *p++ = '\0';
        if (*p != '\0')
            argv[argc++] = p;
    }
    argv[argc] = NULL;
    parse(s, argc, argv);
}

static void
test_parse(void)
{
    struct settings s;

    parse_text(&s, "");
    ok(s.n == 0 && s.operands[0] == NULL && !s.flag && s.size == 256u << 20 &&
            s.top == OPT_NONE,
        "options not given keep their values");
    parse_text(&s, "--say --flag");
    ok(s.maybe == opt_absent && s.flag, "a value left out before an option");
    parse_text(&s, "--say");
    ok(s.maybe == opt_absent, "a value left out at the end");
    parse_text(&s, "--say=--flag");
    ok(strcmp(s.maybe, "--flag") == 0 && !s.flag,
        "a value behind = is never left out");
    parse_text(&s, "--say -f a");
    ok(s.maybe == opt_absent && s.flag && s.n == 1,
        "a value is left out before a letter too");
    parse_text(&s, "-f -n 3K --rate 0.5 --level hot -a x --also=y a b");
    ok(s.flag && s.size == 3072 && s.level == 2 && near(s.real, 0.5, 0, 0),
        "values are parsed by their kinds");
    ok(s.list.n == 2 && strcmp(s.list.v[0], "x") == 0 &&
            strcmp(s.list.v[1], "y") == 0,
        "a list keeps all values");
    free(s.list.v);
    ok(s.n == 2 && strcmp(s.operands[1], "b") == 0 && s.operands[2] == NULL,
        "operands are what is left");
    parse_text(&s, "-fn3 -oout --number=1T --no-cache --top 64");
    ok(s.top == 64, "a size that need not be given");
    ok(s.flag && s.long_flag && s.size == (size_t)1 << 40 &&
            strcmp(s.text, "out") == 0,
        "glued letters and values");
    parse_text(&s, "a - -f b");
    ok(s.flag && s.n == 3 && strcmp(s.operands[1], "-") == 0,
        "options after operands; - is an operand");
    parse_text(&s, "-f -- -n --x");
    ok(s.n == 2 && strcmp(s.operands[0], "-n") == 0, "-- ends the options");
    parse_text(&s, "-o - --out=");
    ok(strcmp(s.text, "") == 0, "an empty value; the last one counts");
    parse_text(&s, "-o --");
    ok(strcmp(s.text, "--") == 0 && s.n == 0, "a value that is --");
    parse_text(&s, "-vv");
    ok(verbosity == 2, "-vv says still more");
    parse_text(&s, "-vq");
    ok(verbosity == -1, "-q wins over -v");
}

static void
test_numbers(void)
{
    static const char *const bad[] = { "", "x", "-1", "+1", " 1", "1 ", "1x",
        "1KK", "1.5K", "0x10", "99999999999999999999", "18446744073709551616",
        "16777216T", "K", "1e3" };
    static const char *const bad_real[] = { "", "x", "nan", "inf", "-inf",
        "1e999", " 1", "1 ", "0.5x", "1.0001", "-0.1", "1,5" };
    size_t v = 5;
    double r = 5;
    int wrong = 0;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (number_size(bad[i], 0, 1e30, &v) == 0 || v != 5)
            wrong += printf("# took \"%s\"\n", bad[i]);
    ok(wrong == 0, "bad sizes are refused");
    ok(number_size("18446744073709551615", 0, 1e30, &v) == 0 && v == SIZE_MAX,
        "the largest size");
    ok(number_size("2g", 0, 1e30, &v) == 0 && v == (size_t)2 << 30,
        "2g is a size");
    ok(number_size("3", 4, 9, &v) < 0 && number_size("10", 4, 9, &v) < 0 &&
            number_size("4", 4, 9, &v) == 0 && number_size("9", 4, 9, &v) == 0,
        "the range of sizes is inclusive");
    wrong = 0;
    for (size_t i = 0; i < sizeof bad_real / sizeof *bad_real; i++)
        if (number_real(bad_real[i], 0, 1, &r) == 0 || r < 5)
            wrong += printf("# took \"%s\"\n", bad_real[i]);
    ok(wrong == 0, "bad reals are refused");
    ok(number_real("2e-5", 0, 1, &r) == 0 && near(r, 2e-5, 0, 1e-15),
        "2e-5 is a number");
}

static void
test_times(void)
{
    static const char *const bad[] = { "", "s", "x", "-1", "+1", " 1", "1 ",
        "1w", "1H", "1ss", "1h30m", "inf", "nan", "nans", "0x10", "1e3",
        "1.2.3", ".", ".h", "101d" };
    static const struct {
        const char *text;
        double want;
    } good[] = { { "0", 0 }, { "90", 90 }, { "1.5", 1.5 }, { "90s", 90 },
        { "15m", 900 }, { "2h", 7200 }, { "1.5h", 5400 }, { "100d", 8640000 } };
    double r = 5;
    int wrong = 0;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (number_time(bad[i], 0, 100 * 86400.0, &r) == 0 || r != 5)
            wrong += printf("# took \"%s\"\n", bad[i]);
    ok(wrong == 0, "bad times are refused");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (number_time(good[i].text, 0, 100 * 86400.0, &r) < 0 ||
            r != good[i].want)
            wrong += printf("# %s is not %g\n", good[i].text, r);
    ok(wrong == 0, "seconds, minutes, hours and days");
    ok(number_time("59s", 60, 120, &r) < 0 &&
            number_time("1m", 60, 120, &r) == 0 &&
            number_time("2m", 60, 120, &r) == 0,
        "the range of times is inclusive");
}

static void
test_write(void)
{
    static const char *const leave_out[] = { "out", NULL };
    static int flag, none, word;
    static const char *out, *text;
    static size_t size = 1048576;
    static double third = 1.0 / 3.0, tenth = 0.1;
    const struct opt opts[] = { OPT_GROUP("numbers"),
        OPT_FLAG('f', "flag", &flag, "a flag"),
        OPT_FLAG(0, "none", &none, "a flag"),
        OPT_STR('o', "out", &out, "file", "left out"),
        OPT_STR(0, "text", &text, "text", "not given"),
        OPT_SIZE(0, "size", &size, 0, 0x1p40, "bytes", "how much"),
        OPT_REAL(0, "third", &third, 0, 1, "x", "all its digits"),
        OPT_TIME(0, "tenth", &tenth, 0, 1, "time", "no more than it needs"),
        OPT_ENUM(0, "word", &word, words, "word", "how warm"), OPT_END };
    struct buf b = { 0 };

    flag = 1;
    word = 2;
    opt_write(&b, opts, leave_out);
    ok(strcmp(b.p,
           "--flag\ton\n--none\toff\n--text\tnone\n--size\t1048576\n"
           "--third\t0.3333333333333333\n--tenth\t0.1\n--word\thot\n") == 0,
        "options are written with values that read back as they are");
    buf_release(&b);
}

int
main(int argc, char **argv)
{
    struct settings s = { 0 };

    if (argc > 1) {
        parse(&s, argc, argv);
        printf("%d %d %s %zu %g %s %zu %d\n", s.flag, s.long_flag,
            s.text != NULL ? s.text : "-", s.size, s.real, words[s.level],
            s.list.n, s.n);
        return 0;
    }
    test_parse();
    test_numbers();
    test_times();
    test_write();
    verbosity = -1; /* no closing line among the results */
    return done_testing();
}
