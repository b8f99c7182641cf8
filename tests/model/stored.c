/* GGUF files whose matrices keep their types. */
#include "base/mem.h"
#include "format/gguf_file.h"
#include "kern/kern.h"
#include "model/files/export_gguf.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#define GGUF "tests/golden/gguf/"

/* A GGUF written without a mixture has the types and bytes of the model's own
 * file. */
static void
test_stored(void)
{
    static const char *const names[] = { "bf16", "f16", "q8_0", "q4_0",
        "q4_1" };
    const struct gguf_how how = { .mixture = NULL };

    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char *path = xasprintf(GGUF "%s.gguf", names[k]);
        struct gguf_file a, b;
        struct model m;
        struct err e = { 0 };
        size_t same = 0;

        if (model_open(&m, path, &e) < 0 ||
            model_export_gguf(&m, "out.gguf", &how, NULL, &e) < 0 ||
            gguf_open(&a, path, &e) < 0 || gguf_open(&b, "out.gguf", &e) < 0) {
            printf("Bail out! %s\n", e.msg);
            exit(1);
        }
        for (size_t i = 0; i < a.g.nt; i++) {
            const struct gguf_tensor *t = &a.g.t[i],
                                     *u = gguf_tensor(&b.g, t->name);

            same += u != NULL && u->dtype == t->dtype &&
                u->nbytes == t->nbytes &&
                memcmp(u->data, t->data, t->nbytes) == 0;
        }
        ok(same == a.g.nt && b.g.nt == a.g.nt,
            "%s: each tensor is written as it is stored (%zu of %zu)", names[k],
            same, a.g.nt);
        gguf_close(&a);
        gguf_close(&b);
        model_close(&m);
        remove("out.gguf");
        free(path);
    }
}

int
main(void)
{
    const char *why = kern_init();

    if (why != NULL) {
        printf("Bail out! %s\n", why);
        return 1;
    }
    test_stored();
    return done_testing();
}
