/* A text in the tokens of two tokenizers: see align.h. */
#include "align.h"

void
align_piece(const struct align_side *student, const struct align_side *teacher,
    const uint32_t *twin, struct align_target *target)
{
    size_t at = 0, last;

    for (size_t i = 0; i < student->n; i++) {
        const uint32_t begin = student->end[i];
        uint32_t end;

        target[i] = (struct align_target){ ALIGN_NONE, 0, 0, 0 };
        if (i + 1 == student->n || (end = student->end[i + 1]) == begin)
            continue;
        while (at < teacher->n && teacher->end[at] < begin)
            at++;
        if (at == teacher->n || teacher->end[at] != begin)
            continue;
        for (last = at + 1; last < teacher->n && teacher->end[last] < end;)
            last++;
        if (last >= teacher->n || teacher->end[last] != end)
            continue;
        target[i] = (struct align_target){ ALIGN_TOKEN, (uint32_t)at,
            (uint32_t)(last - at), student->ids[i + 1] };
        if (last == at + 1 && twin[target[i].next] == teacher->ids[last])
            target[i].kind = ALIGN_WHOLE;
    }
}
