/* The file of Hessians: see hess_out.h. */
#include "hess_out.h"
#include "profile_sums.h"
#include "format/safetensors.h"

#include <stdio.h>

size_t
hess_floats(const size_t *n)
{
    size_t floats = 0;

    for (size_t i = 0; i < FWD_INPUTS; i++)
        floats += n[i] * n[i];
    return floats;
}

int
hess_out_begin(struct io_out *o, const char *path, const size_t *width,
    size_t L, struct err *e)
{
    struct st_out st = { 0 };
    int r = io_out_begin(o, path, e);

    st_out_begin(&st);
    for (size_t i = 0; i < L * FWD_INPUTS; i++) {
        const size_t shape[] = { width[i], width[i] };
        char name[64];

        snprintf(name, sizeof name, "%zu.%s", i / FWD_INPUTS,
            profile_inputs[i % FWD_INPUTS]);
        if (width[i] > 0)
            st_out_tensor(&st, name, DT_F32, 2, shape, NULL);
    }
    st_out_end(&st);
    r = r == 0 ? io_out_write(o, st.head.p, st.head.n, e) : r;
    st_out_release(&st);
    return r;
}
