/*
 * Matrix products: plain C with one order of additions, and OpenBLAS, for
 * comparison and for processors that gemm_vec.h knows nothing of.
 *
 * OpenBLAS picks its kernels when it is loaded, from OPENBLAS_CORETYPE or the
 * processor it knows.  The core type decides the bits, and a wrong one (left in
 * the environment, or guessed for a processor newer than the library) halves
 * the speed.  So the library is not linked but loaded after the choice of
 * kernels, which sets the core type whatever was there, and is kept to one
 * thread: the callers' threads each multiply a tile of their own.
 */
#include "kern/kern.h"
#include "kern/kern_impl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* cblas.h's values: it need not be installed */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

static void (*sgemm)(int order, int ta, int tb, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb, float beta,
    float *c, int ldc);
static char *(*corename)(void);

static void
blas_nt(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    sgemm(ROW_MAJOR, NO_TRANS, TRANS, (int)m, (int)n, (int)k, 1.0f, a, (int)lda,
        b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

static void
blas_nn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)m, (int)n, (int)k, 1.0f, a,
        (int)lda, b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

static void
blas_tn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    sgemm(ROW_MAJOR, TRANS, NO_TRANS, (int)m, (int)n, (int)k, 1.0f, a, (int)lda,
        b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

/* dlsym gives an object pointer; POSIX promises that it holds a function. */
static int
symbol(void *lib, const char *name, void *fn)
{
    void *p = dlsym(lib, name);

    memcpy(fn, &p, sizeof p);
    return p != NULL ? 0 : -1;
}

const char *
gemm_blas(struct kern *k, const char *core)
{
    static const char missing[] =
        "libopenblas.so.0: not found; run scripts/setup";
    void (*set_threads)(int);

    if (sgemm == NULL) {
        void *lib;

        if ((core != NULL && setenv("OPENBLAS_CORETYPE", core, 1) != 0) ||
            setenv("OPENBLAS_NUM_THREADS", "1", 1) != 0)
            return "OPENBLAS_CORETYPE: cannot be set";
        lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        if (lib == NULL)
            return missing;
        if (symbol(lib, "openblas_set_num_threads", &set_threads) != 0 ||
            symbol(lib, "openblas_get_corename", &corename) != 0 ||
            symbol(lib, "cblas_sgemm", &sgemm) != 0)
            return "libopenblas.so.0: lacks cblas_sgemm or its own functions";
        set_threads(1);
    }
    k->gemm_nt = blas_nt;
    k->gemm_nn = blas_nn;
    k->gemm_tn = blas_tn;
    return NULL;
}

const char *
gemm_blas_core(void)
{
    return corename != NULL ? corename() : "";
}

/* a(i,l) = a[i*ra + l*ca], b(l,j) = b[l*rb + j*cb]; every sum in order of l,
 * in fp32 as the fast versions, starting from c when adding. */
static void
product(size_t m, size_t n, size_t k, const float *a, size_t ra, size_t ca,
    const float *b, size_t rb, size_t cb, int add, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            const float *x = a + i * ra, *y = b + j * cb;
            float s = add ? c[i * ldc + j] : 0.0f;

            for (size_t l = 0; l < k; l++)
                s += x[l * ca] * y[l * rb];
            c[i * ldc + j] = s;
        }
    }
}

void
gemm_nt_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    product(m, n, k, a, lda, 1, b, 1, ldb, add, c, ldc);
}

/* Rows of b are walked along: each c[i,j] still adds in order of l. */
static void
rows_product(size_t m, size_t n, size_t k, const float *a, size_t ra, size_t ca,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        float *restrict ci = c + i * ldc;

        if (!add)
            memset(ci, 0, n * sizeof *ci);
        for (size_t l = 0; l < k; l++) {
            const float x = a[i * ra + l * ca];
            const float *y = b + l * ldb;

            for (size_t j = 0; j < n; j++)
                ci[j] += x * y[j];
        }
    }
}

void
gemm_nn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    rows_product(m, n, k, a, lda, 1, b, ldb, add, c, ldc);
}

void
gemm_tn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    rows_product(m, n, k, a, 1, lda, b, ldb, add, c, ldc);
}
