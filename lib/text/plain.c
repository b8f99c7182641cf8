/* Texts by which questions and answers are compared; see plain.h. */
#include "text/plain.h"

void
plain_text(const char *text, size_t n, struct buf *out)
{
    const size_t from = out->n;
    int space = 0;

    for (size_t i = 0; i < n; i++) {
        const char c = text[i];

        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            space = 1;
            continue;
        }
        if (space && out->n > from)
            buf_addc(out, ' ');
        space = 0;
        buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}
