/* Language identification; see lang.h. */
#include "lang.h"

#include <string.h>

#ifdef HAVE_CLD2
#include "lang_cld2.h"
static const int built_in = 1;
#else
static const int built_in;

static const char *
cld2_code(size_t i)
{
    (void)i;
    return NULL;
}

static const char *
cld2_detect(const char *text, size_t n)
{
    (void)text;
    (void)n;
    return NULL;
}
#endif

int
langs_auto(const char *lang)
{
    return lang && strncmp(lang, "auto", 4) == 0 &&
        (lang[4] == '\0' || lang[4] == ':');
}

static int
is_cld2_code(const char *p, size_t n)
{
    size_t i = 0;

    while (cld2_code(i) &&
        (strlen(cld2_code(i)) != n || memcmp(cld2_code(i), p, n) != 0))
        i++;
    return cld2_code(i) != NULL;
}

int
langs_add(struct langs *l, const char *lang, struct inputs *in, struct err *e)
{
    if (!built_in)
        return err_set(e, EX_USAGE,
            "--lang auto: this program was built without CLD2; install "
            "libcld2-dev and make again");
    *l = (struct langs){ .in = in };
    if (lang[4] == '\0')
        for (size_t i = 0; cld2_code(i); i++)
            inputs_add_source(in, cld2_code(i), strlen(cld2_code(i)));
    for (lang += 4; *lang;) {
        const size_t n = strcspn(++lang, ",");

        if (!is_cld2_code(lang, n))
            return err_set(e, EX_USAGE,
                "--lang auto: \"%.*s\" is no code that CLD2 gives", (int)n,
                lang);
        inputs_add_source(in, lang, n);
        lang += n;
    }
    l->und = inputs_add_source(in, "und", 3);
    l->n = in->nsource;
    return 0;
}

size_t
langs_detect(const struct langs *l, const char *text, size_t n)
{
    const char *code = cld2_detect(text, n);
    const size_t i = code ? inputs_source(l->in, code, strlen(code)) : l->n;

    return i < l->n ? i : l->und;
}
