/* Types of matrices in a GGUF, against those that llama-quantize gives them
 * (tests/golden/gguf/mixtures.tsv, by scripts/oracle/mixtures.py). */
#include "base/mem.h"
#include "model/config/family.h"
#include "model/files/mixture.h"
#include "model/files/model.h"
#include "../lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of a matrix by its name in a GGUF, such as "ffn_down". */
static int
matrix_named(const char *kind)
{
    static const struct config llama = { .arch = "llama" };
    const size_t n = strlen(kind);

    if (strcmp(kind, "token_embd") == 0)
        return MATRIX_EMBED;
    if (strcmp(kind, "output") == 0)
        return MATRIX_HEAD;
    for (int t = 0; t < W_N; t++) {
        const char *name = block_stored(&llama, t, 1).gguf;

        if (strncmp(name, kind, n) == 0 && name[n] == '.')
            return t;
    }
    printf("Bail out! no matrix %s\n", kind);
    exit(1);
}

/* Compare the types of one kind of matrix, "3*Q6_K 2*Q4_K ...". */
static int
same_types(const struct mixture *x, const struct config *c, int important,
    const char *kind, size_t cols, char *runs)
{
    const int matrix = matrix_named(kind);
    size_t block = 0;
    int same = 1;

    for (char *run = strtok(runs, " \n"); run != NULL;
         run = strtok(NULL, " \n")) {
        char *type;
        const unsigned long n = strtoul(run, &type, 10);

        for (size_t i = 0; i < n; i++, block++)
            same &= strcmp(dtype_name(mixture_type(x, c, matrix, block, cols,
                               important)),
                        type + 1) == 0;
    }
    return same && (matrix < 0 || block == c->L);
}

int
main(void)
{
    const char *top = getenv("RETORT_TOP");
    char *path =
        xasprintf("%s/tests/golden/gguf/mixtures.tsv", top != NULL ? top : ".");
    FILE *f = fopen(path, "r");
    char line[1000], model[64], name[16], kind[32], runs[800];
    size_t cols, L;
    int tied, important;

    if (f == NULL || fgets(line, sizeof line, f) == NULL) {
        printf("Bail out! %s cannot be read\n", path);
        return 1;
    }
    while (fgets(line, sizeof line, f) != NULL) {
        struct config c = { 0 };

        if (sscanf(line, "%63s %zu %d %15s %d %31s %zu %799[^\n]", model, &L,
                &tied, name, &important, kind, &cols, runs) != 8) {
            printf("Bail out! not a row: %s", line);
            return 1;
        }
        if (strcmp(name, "q4_0") == 0 && matrix_named(kind) < 0)
            continue; /* embedding and head are Q8_0 here */
        c.L = L;
        c.tied = tied;
        ok(same_types(mixture_of(name), &c, important, kind, cols, runs),
            "%s of %s has llama-quantize's types in %s%s", kind, model, name,
            important ? " with importance" : "");
    }
    fclose(f);
    free(path);
    return done_testing();
}
