/* Escaped text: see html.h */
#include "html.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>

static void
escape(struct buf *b, const char *s)
{
    const char *end = s + strlen(s);
    char one[TEXT_CHAR];

    while (s < end) {
        const char c = *s;

        s += text_char(one, s, (size_t)(end - s));
        switch (c) {
        case '&': buf_adds(b, "&amp;"); break;
        case '<': buf_adds(b, "&lt;"); break;
        case '>': buf_adds(b, "&gt;"); break;
        case '"': buf_adds(b, "&quot;"); break;
        case '\'': buf_adds(b, "&#39;"); break;
        case '\t':
        case '\n': buf_addc(b, c); break;
        default: buf_adds(b, one); break;
        }
    }
}

void
put(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    for (;;) {
        const size_t text = strcspn(fmt, "%");
        char spec[16] = "";
        size_t n;

        buf_add(b, fmt, text);
        fmt += text;
        if (*fmt == '\0')
            break;
        n = strcspn(fmt + 1, "sdufg%") + 2;
        if (n < sizeof spec)
            memcpy(spec, fmt, n);
        fmt += n;
        switch (fmt[-1]) {
        case 's': escape(b, va_arg(ap, const char *)); break;
        case 'd': buf_addf(b, spec, va_arg(ap, int)); break;
        case 'u': buf_addf(b, spec, va_arg(ap, size_t)); break;
        case '%': buf_addc(b, '%'); break;
        default: buf_addf(b, spec, va_arg(ap, double)); break;
        }
    }
    va_end(ap);
}

char *
fitted(char out[FITTED], const char *s, size_t n)
{
    text_show(out, FITTED, s);
    if (text_fit(out, strlen(out), n) < strlen(out))
        memcpy(out + text_fit(out, strlen(out), n - 1), "~", 2);
    return out;
}

size_t
columns(const char *s)
{
    size_t n = 0;

    while (text_fit(s, strlen(s), n) < strlen(s))
        n++;
    return n;
}
