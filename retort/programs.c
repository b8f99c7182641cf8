/* The programs of retort; see programs.h.  The Makefile makes list.h from the
 * man pages, with a line for each program. */
#include "programs.h"
#include "base/io.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct program programs[] = {
#include "list.h"
    { NULL, NULL }
};

static char prefix[100];

void
program_begin(const char *argv0)
{
    static const char own[] = "retort";
    const char *slash = strrchr(argv0, '/');
    const char *file = slash != NULL ? slash + 1 : argv0;
    const size_t n = strlen(file), k = sizeof own - 1;

    if (n > k && n - k < sizeof prefix && strcmp(file + n - k, own) == 0)
        memcpy(prefix, file, n - k);
}

int
is_program(const char *name)
{
    for (const struct program *p = programs; p->name != NULL; p++)
        if (strcmp(p->name, name) == 0)
            return 1;
    return 0;
}

char *
program_name(const char *name)
{
    return xasprintf("%s%s", *prefix != '\0' ? prefix : "retort-", name);
}

char *
program_path(const char *name)
{
    char own[4096];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash, *full = program_name(name), *path;

    own[n > 0 ? n : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash != NULL)
        *slash = '\0';
    path = xasprintf("%s/%s", own, full);
    free(full);
    if (*prefix == '\0' && !io_exists(path)) {
        free(path);
        path = xasprintf("%s/%s", own, name);
    }
    return path;
}
