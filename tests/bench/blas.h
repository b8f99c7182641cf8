/*
 * OpenBLAS's matrix products in place of our own, for comparison.
 *
 * OpenBLAS chooses its kernels when it is loaded, by OPENBLAS_CORETYPE or by
 * the processors it knows; a core type left in the environment, or guessed for
 * a processor newer than the library, halves its speed.  So it is loaded at run
 * time, with the core type that our own kernels' instruction set means, and
 * kept to one thread: the callers' threads each multiply a tile of their own.
 */
#ifndef BENCH_BLAS_H
#define BENCH_BLAS_H

#include "base/err.h"
#include "cli/die.h"
#include "kern/kern.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* values of cblas.h, which need not be installed */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

static void (*blas_sgemm)(int order, int ta, int tb, int m, int n, int k,
    float alpha, const float *a, int lda, const float *b, int ldb, float beta,
    float *c, int ldc);

static void
blas_nt(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    blas_sgemm(ROW_MAJOR, NO_TRANS, TRANS, (int)m, (int)n, (int)k, 1.0f, a,
        (int)lda, b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

static void
blas_nn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    blas_sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)m, (int)n, (int)k, 1.0f, a,
        (int)lda, b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

static void
blas_tn(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    blas_sgemm(ROW_MAJOR, TRANS, NO_TRANS, (int)m, (int)n, (int)k, 1.0f, a,
        (int)lda, b, (int)ldb, add ? 1.0f : 0.0f, c, (int)ldc);
}

/* dlsym gives an object pointer; POSIX promises that it holds a function. */
static int
symbol(void *lib, const char *name, void *fn)
{
    void *p = dlsym(lib, name);

    memcpy(fn, &p, sizeof p);
    return p != NULL ? 0 : -1;
}

/* Use the kernels of that name (kern_force), or for "openblas" the best kernels
 * with OpenBLAS's products.  A name may end in +FORMAT, which is passed to
 * kern_compute. */
static void
use_kernels(const char *name)
{
    const int blas = strcmp(name, "openblas") == 0;
    char set[20] = "";
    const char *plus = strchr(name, '+'), *why, *core;
    void (*set_threads)(int);
    void *lib;

    if (!blas)
        snprintf(set, sizeof set, "%.*s",
            (int)(plus != NULL ? plus - name : (int)strlen(name)), name);
    /* kern_init first: its first call sets the table that is changed here */
    if ((why = kern_init()) != NULL || (why = kern_force(set)) != NULL)
        die(EX_SYS, "%s", why);
    if (plus != NULL)
        kern_compute(plus + 1);
    if (!blas)
        return;
    if (blas_sgemm == NULL) {
        core = strcmp(kern_name(), "avx512") == 0 ? "SkylakeX"
            : strcmp(kern_name(), "avx2") == 0    ? "Haswell"
                                                  : NULL;
        if (core != NULL)
            setenv("OPENBLAS_CORETYPE", core, 1);
        lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        if (lib == NULL ||
            symbol(lib, "openblas_set_num_threads", &set_threads) != 0 ||
            symbol(lib, "cblas_sgemm", &blas_sgemm) != 0)
            die(EX_SYS,
                "libopenblas.so.0: not found or not whole; run "
                "scripts/setup");
        set_threads(1);
    }
    kern.gemm_nt = blas_nt;
    kern.gemm_nn = blas_nn;
    kern.gemm_tn = blas_tn;
}

#endif
