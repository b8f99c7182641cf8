/* Reads a profile that `prune profile` has written; prune-profile(1) describes
 * the folder. */
#ifndef PRUNE_PROFILE_READ_H
#define PRUNE_PROFILE_READ_H

#include "profile_sums.h"
#include "base/err.h"
#include "base/io.h"
#include "format/safetensors.h"

#include <jansson.h>

enum { PROFILE_VERSION = 2 };
/* The files that programs read; profile.json holds their hashes. */
enum { PROFILE_SUMS, PROFILE_HESSIAN, PROFILE_FILES };
extern const char *const profile_files[PROFILE_FILES]; /* "sums", ... */
/* "DIR/sums.safetensors"; the caller frees it. */
char *profile_path(const char *dir, size_t file);
/* Write the name of an input's tensor to out, and return out.  suffix: such as
 * ".sums". */
char *profile_tensor(char out[64], size_t block, enum fwd_input input,
    const char *suffix);

/* The tensors of an input in sums.safetensors. */
enum { T_GRADIENT, T_SUMS, T_MAX, T_COUNTS, T_FROM, INPUT_TENSORS };
struct input_tensor {
    const char *suffix;
    enum dtype type;
    int ndim;
    size_t shape[3];
    const void *data; /* NULL: not in memory */
    char name[64];
};
/* Set t to the tensors of input `input` of a block, whose sums are *s. */
void input_tensors(struct input_tensor t[INPUT_TENSORS], size_t block,
    enum fwd_input input, const struct input_sums *s);

struct profile {
    char *dir;
    size_t L, rows, parts; /* parts: number of profiles added up */
    uint64_t tokens[CLASSES];
    int gradients;                    /* the profile has gradients */
    json_t *json;                     /* profile.json */
    struct io_map map[PROFILE_FILES]; /* the files of PROFILE_... */
    struct st sums, hessian; /* headers of the files; hessian.nt = 0: there are
                              * no Hessians */
};
/* Open a profile and check its hashes.  -1 and *e (EX_INPUT): the profile is
 * damaged, or of another model than m (NULL: any model); nothing is open
 * then. */
int profile_open(struct profile *p, const char *dir, const struct model *m,
    struct err *e);
void profile_close(struct profile *p);
/* Number of channels of an input; 0: the block has no such input. */
size_t profile_width(const struct profile *p, size_t block,
    enum fwd_input input);
/* out [n] = each channel's sum of x^2 over the tokens of class `kind`. */
void profile_sum_sq(const struct profile *p, size_t block, enum fwd_input input,
    size_t kind, double *out);
/* out [n] = each channel's sum of |gradient times weight|, over rows and over
 * the weights that read the channel; -1: the profile was made without
 * --gradient. */
int profile_gradient(const struct profile *p, size_t block,
    enum fwd_input input, double *out);
/* Sum over all tokens of x x^T, [n,n] in the mapped file.  NULL and *e
 * (EX_USAGE): the profile was made without --hessian. */
const float *profile_hessian(const struct profile *p, size_t block,
    enum fwd_input input, struct err *e);

#endif
