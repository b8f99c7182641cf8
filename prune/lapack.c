/* OpenBLAS's LAPACK at run time: see lapack.h */
#include "lapack.h"
#include "kern/kern.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* LAPACK's Fortran functions take pointers, column-major matrices, and the
 * lengths of strings after the other arguments.  A row-major lower triangle is
 * a column-major upper one. */
static void (*dpotrf)(const char *uplo, const int *n, double *a, const int *lda,
    int *info, size_t);
static void (*dtrtri)(const char *uplo, const char *diag, const int *n,
    double *a, const int *lda, int *info, size_t, size_t);

/* Set *fn to a symbol's address; POSIX lets the pointer of dlsym hold a
 * function. */
static int
symbol(void *lib, const char *name, void *fn)
{
    void *p = dlsym(lib, name);

    memcpy(fn, &p, sizeof p);
    return p != NULL ? 0 : -1;
}

int
lapack_open(struct err *e)
{
    const char *core = strncmp(kern_name(), "avx512", 6) == 0 ? "SkylakeX"
        : strncmp(kern_name(), "avx2", 4) == 0                ? "Haswell"
        : strncmp(kern_name(), "neon", 4) == 0                ? "ARMV8"
                                                              : NULL;
    void (*set_threads)(int);
    void *lib;

    if (dtrtri != NULL)
        return 0;
    if (core != NULL)
        setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL ||
        symbol(lib, "openblas_set_num_threads", &set_threads) < 0 ||
        symbol(lib, "dpotrf_", &dpotrf) < 0 ||
        symbol(lib, "dtrtri_", &dtrtri) < 0)
        return err_set(e, EX_SYS,
            "libopenblas.so.0: not found or not whole; install OpenBLAS "
            "(Debian: libopenblas0)");
    set_threads(1);
    return 0;
}

size_t
lapack_potrf(double *a, size_t n)
{
    const int order = (int)n;
    int info;

    assert(dpotrf != NULL && n > 0 && n <= INT_MAX);
    dpotrf("U", &order, a, &order, &info, 1);
    assert(info >= 0);
    return (size_t)info;
}

void
lapack_trtri(double *a, size_t n)
{
    const int order = (int)n;
    int info;

    assert(dtrtri != NULL && n > 0 && n <= INT_MAX);
    dtrtri("U", "N", &order, a, &order, &info, 1, 1);
    assert(info == 0);
}
