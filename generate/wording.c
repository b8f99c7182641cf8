/* The words by which generate run asks for a question; see wording.h. */
#include "wording.h"

#include <string.h>

/* Append a question between its marks, without white space at its ends. */
static void
add_marked(struct buf *b, const char *text)
{
    size_t n;

    text += strspn(text, " \t\r\n");
    n = strlen(text);
    while (n > 0 && strchr(" \t\r\n", text[n - 1]) != NULL)
        n--;
    buf_adds(b, WORDING_OPEN "\n");
    buf_add(b, text, n);
    buf_adds(b, "\n" WORDING_CLOSE "\n");
}

void
wording_plain(struct buf *b, const char *const *example, size_t k)
{
    for (size_t i = 0; i < k; i++) {
        add_marked(b, example[i]);
        buf_addc(b, '\n');
    }
}

void
wording_like(struct buf *b, const char *const *example, size_t k)
{
    buf_adds(b,
        k > 1 ? "Here are examples of one kind, each between "
              : "Here is an example, between ");
    buf_adds(b, WORDING_OPEN " and " WORDING_CLOSE ":\n\n");
    wording_plain(b, example, k);
    buf_adds(b,
        "Write another of the same kind and in the same form, with other "
        "content. Do not answer it. Write only the new one, "
        "between " WORDING_OPEN " and " WORDING_CLOSE ".");
}

static const struct {
    const char *name, *method;
} ways[WORDING_WAYS] = {
    { "depth", "ask for more depth about its subject" },
    { "condition", "add one more condition or requirement" },
    { "steps",
        "change it so that its answer needs several steps of reasoning instead "
        "of one" },
};

const char *
wording_way(size_t way)
{
    return ways[way].name;
}

void
wording_harder(struct buf *b, const char *question, size_t way)
{
    buf_adds(b, "Rewrite this question so that it is harder to answer:\n\n");
    add_marked(b, question);
    buf_addf(b,
        "\nTo make it harder, %s. Keep the rest of the question, with any code "
        "and data in it. The " WORDING_NEW " must be clear, and must be "
        "understood without the old one. Add 10 to 20 words. Do not answer it. "
        "Write only the " WORDING_NEW ", between " WORDING_OPEN
        " and " WORDING_CLOSE ".",
        ways[way].method);
}
