/* Running tasks, from their files to the report; see task.h. */
#include "task.h"
#include "base/mem.h"
#include "cli/out.h"
#include "cli/prog.h"

#include <stdlib.h>
#include <string.h>

/* If several tasks have the same name, add to each the name of its file. */
static void
name_tasks(struct task *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *base = strrchr(t[i].path, '/');
        size_t same = 0;

        for (size_t k = 0; k < n; k++)
            same += strcmp(t[i].form.name, t[k].form.name) == 0;
        if (same < 2)
            continue;
        free(t[i].name);
        t[i].name = xasprintf("%s:%s", t[i].form.name,
            base != NULL ? base + 1 : t[i].path);
    }
}

void
tasks_run(struct eval *e, const struct task_args *a, struct buf *b)
{
    struct task *t = xcalloc(a->n, sizeof(*t));
    size_t items = 0;

    for (size_t i = 0; i < a->n; i++) {
        task_open(&t[i], a->spec[i]);
        t[i].score = xcalloc(t[i].nrequest, e->nj * sizeof(*t[i].score));
        items += t[i].n;
    }
    name_tasks(t, a->n);
    for (size_t j = 0; j < e->nj; j++)
        tasks_score(e, t, a->n, j);
    prog_closing("%zu items, %zu tokens of %zu computed", items, e->nfed,
        e->ntokens);
    if (a->items != NULL) {
        struct buf all = { 0 };

        tasks_items(e, t, a->n, &all);
        out_file(a->items, all.p, all.n);
        buf_release(&all);
    }
    tasks_print(e, t, a, b);
    for (size_t i = 0; i < a->n; i++)
        task_close(&t[i]);
    free(t);
}
