/* The teacher's block for each block of a student; see depth_map.h. */
#include "model/pass/depth_map.h"

int
depth_map(const struct model *s, size_t L, size_t d, size_t *map,
    const char **how, struct err *e)
{
    const size_t Ls = s->c.L;
    const int cut = s->c.cut && s->c.d == d;

    *how =
        cut ? "which the student was cut from" : "at the same relative depth";
    for (size_t i = 0; i < Ls; i++) {
        const size_t near = (2 * (i + 1) * L + Ls) / (2 * Ls); /* 0..L */

        map[i] = cut ? s->block[i].source : near > 0 ? near - 1 : 0;
        if (map[i] >= L)
            return err_set(e, EX_INPUT,
                "block %zu was cut from block %zu, the teacher has %zu", i,
                map[i], L);
    }
    return 0;
}
