/* Lines of a file: marks, ends, blank and long lines, NUL bytes */
#include "docs/lines.h"

#include "base/mem.h"
#include "../lib/tap.h"

#include <string.h>

static void
write_file(const char *name, const char *text, size_t n)
{
    FILE *f = fopen(name, "wb");

    if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0) {
        printf("Bail out! %s cannot be written\n", name);
        exit(1);
    }
}

/* Write the lines of the file x as "number:text|", then the message of an
 * error. */
static const char *
all_lines(void)
{
    static struct buf b;
    struct err e = { 0 };
    struct line_reader *l = lines_open("x", &e);
    char *line;
    size_t n;
    int k = l ? 1 : -1;

    buf_clear(&b);
    while (k > 0 && (k = lines_next(l, &line, &n, &e)) > 0)
        buf_addf(&b, "%zu:%s%s|", lines_number(l), line,
            strlen(line) == n ? "" : " (another length)");
    buf_adds(&b, k < 0 ? e.msg : "");
    lines_close(l);
    return b.p;
}

static void
gives(const char *what, const char *text, size_t n, const char *want)
{
    const char *got;

    write_file("x", text, n);
    got = all_lines();
    if (!ok(strcmp(got, want) == 0, "%s", what))
        printf("# got \"%s\", want \"%s\"\n", got, want);
}
#define GIVES(what, text, want) gives(what, text, sizeof(text) - 1, want)

/* Lines of many lengths, so that their ends fall on every place of a block. */
static int
long_lines(void)
{
    struct buf b = { 0 };
    struct err e;
    struct line_reader *l;
    char *line;
    size_t n, k;
    int right = 1;

    for (size_t i = 1; i <= 60; i++) {
        for (k = 0; k < i * 6007; k++)
            buf_addc(&b, 'a' + (int)(i % 26));
        buf_adds(&b, i % 2 ? "\n" : "\r\n");
    }
    write_file("x", b.p, b.n);
    buf_release(&b);
    l = lines_open("x", &e);
    for (k = 1; l && lines_next(l, &line, &n, &e) > 0; k++)
        right &= n == k * 6007 && lines_number(l) == k &&
            line[0] == 'a' + (int)(k % 26) && line[n - 1] == line[0] &&
            line[n] == '\0';
    lines_close(l);
    return right && k == 61 && lines_count("x", 100) == 60 &&
        lines_count("x", 7) == 7;
}

int
main(void)
{
    struct err e = { 0 };

    tap_scratch();
    GIVES("lines", "a\nb\n", "1:a|2:b|");
    GIVES("a last line without its end", "a\nb", "1:a|2:b|");
    GIVES("ends with CR", "a\r\nb\r\n", "1:a|2:b|");
    GIVES("blank lines count and are skipped", "\n \t\r\na\n\n b \n",
        "3:a|5: b |");
    GIVES("a mark at the start goes", "\xef\xbb\xbf{\"a\":1}\n\xef\xbb\xbfz\n",
        "1:{\"a\":1}|2:\xef\xbb\xbfz|");
    GIVES("a mark before a blank line goes", "\xef\xbb\xbf\na\n", "2:a|");
    GIVES("an empty file", "", "");
    GIVES("a file of blank lines", "\n\n \n", "");
    GIVES("a NUL byte is refused with its line", "a\nb\0c\nd\n",
        "1:a|x: line 2: has a NUL byte: give text in UTF-8");
    GIVES("a NUL byte in the last line", "a\n\0",
        "1:a|x: line 2: has a NUL byte: give text in UTF-8");
    GIVES("UTF-16 is named", "\xff\xfeh\0i\0\n\0",
        "x: line 1: is UTF-16, not UTF-8: convert it, iconv -f UTF-16 -t "
        "UTF-8");
    GIVES("what is gzip by its beginning alone is refused",
        "\x1f\x8b\x08\0\0\0\0\0\0\3", "x: offset 0: truncated gzip input");
    ok(long_lines(), "long lines over blocks are whole, and are counted");
    ok(!lines_open("none", &e) && e.code == EX_SYS && strstr(e.msg, "none"),
        "a file that is not there is an error of the system");
    ok(lines_count("none", 9) == 0 && lines_count(".", 9) == 0,
        "what is no regular file has no count");
    return done_testing();
}
