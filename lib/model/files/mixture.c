/* Types of the matrices of a GGUF file; see mixture.h. */
#include "model/files/mixture.h"
#include "model/files/model.h"

#include <string.h>

static const struct mixture mixtures[] = {
    { "f32", 0, DT_F32, DT_F32, MORE_NOWHERE },
    { "f16", 1, DT_F16, DT_F16, MORE_NOWHERE },
    { "bf16", 32, DT_BF16, DT_BF16, MORE_NOWHERE },
    { "q8_0", 7, DT_Q8_0, DT_Q8_0, MORE_NOWHERE },
    { "q6_k", 18, DT_Q6_K, DT_Q6_K, MORE_NOWHERE },
    { "q5_k_m", 17, DT_Q5_K, DT_Q6_K, MORE_OFTEN },
    { "q5_k_s", 16, DT_Q5_K, DT_Q5_K, MORE_NOWHERE },
    { "q5_k", 16, DT_Q5_K, DT_Q5_K, MORE_NOWHERE },
    { "q5_1", 9, DT_Q5_1, DT_Q5_1, MORE_NOWHERE },
    { "q5_0", 8, DT_Q5_0, DT_Q5_1, MORE_IMPORTANT },
    { "q4_k_m", 15, DT_Q4_K, DT_Q6_K, MORE_OFTEN },
    { "q4_k_s", 14, DT_Q4_K, DT_Q5_K, MORE_EARLY },
    { "q4_k", 14, DT_Q4_K, DT_Q4_K, MORE_NOWHERE },
    { "q4_1", 3, DT_Q4_1, DT_Q4_1, MORE_NOWHERE },
    { "q4_0", 2, DT_Q4_0, DT_Q4_1, MORE_IMPORTANT },
};

const struct mixture *
mixture_at(size_t i)
{
    return i < sizeof mixtures / sizeof *mixtures ? &mixtures[i] : NULL;
}

const struct mixture *
mixture_of(const char *name)
{
    const struct mixture *x;

    for (size_t i = 0; (x = mixture_at(i)) != NULL; i++)
        if (strcmp(x->name, name) == 0)
            break;
    return x;
}

/* Has this matrix of a block the more precise type? */
static int
has_more(const struct mixture *x, int matrix, size_t i, size_t L, int important)
{
    const size_t eighth = L / 8;

    if (matrix == W_EXPERT_DOWN)
        matrix = W_DOWN;
    if (matrix != W_DOWN && matrix != W_V)
        return 0;
    switch (x->where) {
    case MORE_EARLY: return i < (matrix == W_V ? 4 : eighth);
    case MORE_OFTEN:
        return i < eighth || i >= 7 * L / 8 || (i - eighth) % 3 == 2;
    case MORE_IMPORTANT: return matrix == W_DOWN && important && i < eighth;
    default: return 0;
    }
}

/* Type t or, if its blocks do not divide rows of `cols` numbers, a type of at
 * least its precision whose blocks do. */
static enum dtype
type_that_fits(enum dtype t, size_t cols)
{
    if (cols % 256 != 0)
        t = t == DT_Q4_K   ? DT_Q5_0
            : t == DT_Q5_K ? DT_Q5_1
            : t == DT_Q6_K ? DT_Q8_0
                           : t;
    return t >= DT_Q8_0 && cols % 32 != 0 ? DT_F16 : t;
}

enum dtype
mixture_type(const struct mixture *x, const struct config *c, int matrix,
    size_t block, size_t cols, int important)
{
    const int is_head = matrix == MATRIX_HEAD ||
        (matrix == MATRIX_EMBED && (c->tied || x->most == DT_Q4_0));
    enum dtype t = x->most;

    if (is_head && t > DT_Q8_0)
        t = x->most == DT_Q4_0 ? DT_Q8_0 : DT_Q6_K;
    else if (matrix >= 0 && has_more(x, matrix, block, c->L, important))
        t = x->more;
    return type_that_fits(t, cols);
}
