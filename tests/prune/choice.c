/* Choices: files that are read, written and refused. */
#include "base/io.h"
#include "base/mem.h"
#include "prune/cost.h"
#include "../lib/choice_whole.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#define HEAD "# retort choice 1\nblock\tgroups\tchannels\n"

static struct model m; /* 3 blocks of 2 groups and 24 channels */

static int
parse(struct choice *c, const char *text, struct err *e)
{
    if (io_put_file("choice.tsv", text, strlen(text), e) < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
    return choice_read(c, "choice.tsv", &m, e);
}

static void
test_read(void)
{
    static const char text[] = HEAD "0\tall\t0-3,8,20-23\n1\t-\tall\n2\t1\t-\n";
    static const size_t chan[] = { 0, 1, 2, 3, 8, 20, 21, 22, 23 };
    struct choice c, d;
    struct buf b = { 0 };
    struct err e;

    ok(parse(&c, text, &e) == 0 && c.n == 3, "a file is read");
    ok(c.b[0].group == NULL && c.b[0].ngroups == 2 && c.b[0].nchan == 9 &&
            memcmp(c.b[0].chan, chan, sizeof chan) == 0,
        "block 0 keeps all groups and some channels");
    ok(c.b[1].group != NULL && c.b[1].ngroups == 0 && c.b[1].chan == NULL &&
            c.b[1].nchan == 24,
        "block 1 keeps no attention and all channels");
    ok(c.b[2].block == 2 && c.b[2].ngroups == 1 && c.b[2].group[0] == 1 &&
            c.b[2].chan != NULL && c.b[2].nchan == 0,
        "block 2 keeps one group and no MLP");
    choice_write(&c, &b);
    ok(strcmp(b.p, text) == 0, "a choice is written as it was read");
    buf_clear(&b);
    choice_write_word(&c, &b);
    ok(strcmp(b.p, "0:all:0-3,8,20-23;1:-:all;2:1:-") == 0,
        "a choice is written as one word");
    /* python-xxhash 4.1.0: xxh3_64_hexdigest(text) */
    ok(choice_key(&c) == 0xce601c4eae164a4cULL,
        "the key is the hash %016llx of the text",
        (unsigned long long)choice_key(&c));
    choice_copy(&d, &c);
    ok(choice_key(&d) == choice_key(&c), "a copy is equal");
    d.b[0].chan[8] = 22;
    ok(choice_key(&d) != choice_key(&c),
        "a changed copy differs from the original");
    buf_release(&b);
    choice_release(&c);
    choice_release(&d);
}

/* Comments and other spellings do not change a choice. */
static void
test_forms(void)
{
    struct choice c, all;
    struct err e;

    choice_whole(&all, &m);
    ok(parse(&c, HEAD "# mine\n\n0\t0-1\t0-23\n1\t0,1\tall\n2\tall\t0-11,12-23",
           &e) == 0 &&
            choice_key(&c) == choice_key(&all),
        "lists that name all are \"all\"");
    choice_release(&c);
    ok(parse(&c, HEAD "1\tall\tall\n", &e) == 0 && c.n == 1 &&
            c.b[0].block == 1,
        "blocks that are not listed go");
    choice_release(&c);
    choice_release(&all);
}

static size_t
params_of(const struct choice *c)
{
    const struct costs k = { .m = &m, .T = 1, .width = 1 };
    struct conf conf;
    struct cost cost;

    conf_of_choice(&conf, c, &m);
    cost_of(&k, &conf, &cost);
    conf_release(&conf);
    return (size_t)cost.params;
}

/* Parameters, counted by hand: d 16, 4 heads of 6 in 2 groups, MLP 24, 61 ids,
 * tied; a group is (2 + 1 + 1 + 2) * 6 * 16 = 576, a channel 48. */
static void
test_params(void)
{
    const size_t rest = 61 * 16 + 16;
    struct choice c;
    struct err e;

    choice_whole(&c, &m);
    ok(params_of(&c) == rest + 3 * (2 * 576 + 24 * 48 + 32) &&
            params_of(&c) == model_params(&m),
        "parameters of the whole are counted");
    choice_release(&c);
    ok(parse(&c, HEAD "0\t1\t0-6\n2\tall\tall\n", &e) == 0 &&
            params_of(&c) ==
                rest + (576 + 7 * 48 + 32) + (2 * 576 + 24 * 48 + 32),
        "parameters of a part are counted");
    choice_release(&c);
    ok(parse(&c, HEAD "0\t-\tall\n2\tall\t-\n", &e) == 0 &&
            params_of(&c) == rest + (24 * 48 + 16) + (2 * 576 + 16),
        "a part that is gone has no norm");
    choice_release(&c);
}

/* `text` must be refused with a message that begins with `where` and has
 * `why`. */
static void
refused(const char *what, const char *text, const char *where, const char *why)
{
    struct choice c;
    struct err e = { 0 };
    const int r = parse(&c, text, &e);

    ok(r < 0 && e.code == EX_INPUT && strstr(e.msg, where) == e.msg &&
            strstr(e.msg, why) != NULL && c.n == 0 && c.b == NULL,
        "%s is refused: %s", what, e.msg);
}

static void
test_refused(void)
{
#define L(n) "choice.tsv: line " n ": "
    refused("an empty file", "", L("1"), "\"# retort choice 1\"");
    refused("version 2", "# retort choice 2\n", L("1"), "retort choice 1");
    refused("a file of one line", "# retort choice 1\n", L("2"), "channels");
    refused("a head without tabs",
        "# retort choice 1\nblock groups channels\n0\tall\tall\n", L("2"),
        "tabs");
    refused("a choice of no block", HEAD, "choice.tsv: ", "no block");
    refused("a line of 2 columns", HEAD "0\tall\n", L("3"), "2 columns");
    refused("a line of 4 columns", HEAD "0\tall\tall\t\n", L("3"), "4 columns");
    refused("a word as block", HEAD "one\tall\tall\n",
        L("3") "block: ", "'one'");
    refused("a negative block", HEAD "-1\tall\tall\n",
        L("3") "block: ", "'-1'");
    refused("a block past the last", HEAD "0\tall\tall\n3\tall\tall\n",
        L("4") "block: 3", "0 to 2");
    refused("a block of 2^64", HEAD "18446744073709551616\tall\tall\n",
        L("3") "block: 18446744073709551615", "0 to 2");
    refused("a block twice", HEAD "1\tall\tall\n1\tall\tall\n",
        L("4") "block: 1", "not above");
    refused("a falling block", HEAD "1\tall\tall\n0\tall\tall\n",
        L("4") "block: 0", "not above");
    refused("a group past the last", HEAD "0\t2\tall\n", L("3") "groups: 2",
        "0 to 1");
    refused("a channel past the last", HEAD "0\tall\t0-24\n",
        L("3") "channels: 24", "0 to 23");
    refused("a falling range", HEAD "0\tall\t3-1\n",
        L("3") "channels: ", "3-1 goes down");
    refused("a channel twice", HEAD "0\tall\t3,3\n", L("3") "channels: 3",
        "not above");
    refused("a channel of two ranges", HEAD "0\tall\t0-5,5-6\n",
        L("3") "channels: 5", "not above");
    refused("a comma at the end", HEAD "0\tall\t1,\n",
        L("3") "channels: ", "''");
    refused("an empty list", HEAD "0\tall\t\n", L("3") "channels: ", "''");
    refused("a range without an end", HEAD "0\tall\t1-\n",
        L("3") "channels: ", "''");
    refused("a space before a number", HEAD "0\tall\t 1\n",
        L("3") "channels: ", "' 1'");
    refused("a hexadecimal number", HEAD "0\tall\t0x1\n",
        L("3") "channels: ", "'0x1'");
    refused("a word as channels", HEAD "0\tall\tnone\n",
        L("3") "channels: ", "'none'");
    refused("a line that ends in CR", HEAD "0\tall\tall\r\n",
        L("3") "channels: ", "'all\\x0d'");
    refused("a block of which nothing is kept", HEAD "0\t-\t-\n", L("3"),
        "neither groups nor channels");
}

static void
test_nul(void)
{
    static const char text[] = HEAD "0\tall\tall\n\0001\tall\tall\n";
    struct choice c;
    struct err e;

    io_put_file("choice.tsv", text, sizeof text - 1, &e);
    ok(choice_read(&c, "choice.tsv", &m, &e) < 0 && e.code == EX_INPUT,
        "a zero byte is refused: %s", e.msg);
    ok(choice_read(&c, "missing.tsv", &m, &e) < 0 && e.code == EX_SYS,
        "a missing file is an error: %s", e.msg);
}

int
main(void)
{
    struct err e;

    tap_scratch();
    if (model_open(&m, "tests/golden/grad/tied-teacher", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        return 1;
    }
    test_read();
    test_forms();
    test_params();
    test_refused();
    test_nul();
    model_close(&m);
    return done_testing();
}
