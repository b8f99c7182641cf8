/* Removing what a killed run left in its folder: see leftovers.h. */
#include "leftovers.h"
#include "base/dir.h"
#include "base/mem.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is `name` NAME.tmp.PID, where no process PID is alive? */
static int
is_dead_file(const char *name)
{
    const char *dot = strrchr(name, '.');
    const size_t digits = dot != NULL ? strspn(dot + 1, "0123456789") : 0;

    return digits > 0 && digits < 10 && dot[1 + digits] == '\0' &&
        dot - name > 4 && strncmp(dot - 4, ".tmp", 4) == 0 &&
        kill((pid_t)strtol(dot + 1, NULL, 10), 0) < 0 && errno == ESRCH;
}

/* Remove the folder PATH.tmp, unless a living process is filling it. */
static void
remove_folder(const char *tmp)
{
    char *path = xasprintf("%.*s", (int)(strlen(tmp) - strlen(".tmp")), tmp);
    struct err e;

    if (dir_new_check(path, &e) == 0)
        dir_remove(tmp, &e);
    free(path);
}

void
leftovers_remove(const char *run)
{
    struct dir_list l;
    struct err e;

    if (dir_list(run, &l, &e) < 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        const char *name = l.name[i], *dot = strrchr(name, '.');
        char *path = xasprintf("%s/%s", run, name);

        if (is_dead_file(name) || strcmp(name, "best.tmp") == 0)
            unlink(path);
        else if (dot != NULL && strcmp(dot, ".tmp") == 0)
            remove_folder(path);
        free(path);
    }
    dir_list_release(&l);
}
