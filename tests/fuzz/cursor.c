/* Any bytes as a cursor: they are refused with a reason, or the cursor that was
 * read is written and read as the same cursor. */
#include "base/mem.h"
#include "stream/cursor.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Returns 0 if `text` is refused, else 1, with the cursor written to b. */
static int
again(const char *text, struct buf *b)
{
    struct err e = { 0 };
    struct cursor c;

    if (cursor_read(&c, text, &e) < 0) {
        if (e.code != EX_INPUT || e.msg[0] == '\0')
            abort();
        return 0;
    }
    cursor_write(b, &c);
    cursor_release(&c);
    return 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = xmalloc(n + 1);
    struct buf once = { 0 }, twice = { 0 };

    if (n)
        memcpy(text, data, n);
    text[n] = '\0';
    if (again(text, &once) &&
        (!again(once.p, &twice) || strcmp(once.p, twice.p) != 0))
        abort();
    buf_release(&once);
    buf_release(&twice);
    free(text);
    return 0;
}
