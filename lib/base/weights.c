/* Weights of sources: see weights.h */
#include "base/weights.h"

#include <string.h>

/* Set the element of number [n] that the item names. */
static int
split_item(const char **number, const char *const *name, size_t n, char *item,
    const char *word, struct err *e)
{
    char *eq = strrchr(item, '=');
    size_t k = 0;

    if (eq == NULL)
        return err_set(e, EX_USAGE,
            "--weights: \"%.60s\" is not name=number%s%s", item,
            word != NULL ? " or " : "", word != NULL ? word : "");
    *eq = '\0';
    while (k < n && strcmp(name[k], item) != 0)
        k++;
    if (k == n)
        return err_set(e, EX_USAGE, "--weights: there is no source \"%.60s\"",
            item);
    if (number[k] != NULL)
        return err_set(e, EX_USAGE, "--weights: %s has two weights", name[k]);
    number[k] = eq + 1;
    return 0;
}

int
weights_split(const char **number, const char *const *name, size_t n,
    char *text, const char *word, struct err *e)
{
    int has_word = 0, r = 0;

    memset(number, 0, n * sizeof *number);
    for (char *rest = text, *item = text; item != NULL && r == 0; item = rest) {
        if ((rest = strchr(item, ',')) != NULL)
            *rest++ = '\0';
        if (word != NULL && strcmp(item, word) == 0)
            has_word = 1;
        else
            r = split_item(number, name, n, item, word, e);
    }
    return r < 0 ? -1 : has_word;
}
