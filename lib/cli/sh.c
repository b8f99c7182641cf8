/* Words for a shell: see sh.h. */
#include "cli/sh.h"
#include "base/mem.h"

#include <string.h>

char *
sh_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-./,:=+@%";
    struct buf b = { 0 };

    if (*word != '\0' && strspn(word, plain) == strlen(word))
        return xstrdup(word);
    buf_addc(&b, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_adds(&b, "'\\'");
        buf_addc(&b, *word);
    }
    buf_adds(&b, "'");
    return b.p;
}
