/* Language identification; see lang.h. */
#include "lang.h"

#ifdef HAVE_CLD2
#include "lang_cld2.h"

int
lang_check(struct err *e)
{
    (void)e;
    return 0;
}

const char *
lang_code(size_t i)
{
    return cld2_code(i);
}

const char *
lang_detect(const char *text, size_t n)
{
    return cld2_detect(text, n);
}

#else

int
lang_check(struct err *e)
{
    return err_set(e, EX_USAGE,
        "--lang auto: this program was built without CLD2; install libcld2-dev "
        "and make again");
}

const char *
lang_code(size_t i)
{
    (void)i;
    return NULL;
}

const char *
lang_detect(const char *text, size_t n)
{
    (void)text;
    (void)n;
    return NULL;
}
#endif
