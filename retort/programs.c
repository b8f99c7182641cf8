/* The programs of retort; see programs.h.  The Makefile makes list.h from the
 * man pages, with a line for each program, and pages.h from their names. */
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

const char *const command_pages[] = {
#include "pages.h"
    NULL
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

/* Returns the folder of the running executable, malloc'd. */
static char *
own_folder(void)
{
    char own[4096];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash;

    own[n > 0 ? n : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash != NULL)
        *slash = '\0';
    return xstrdup(own);
}

char *
program_path(const char *name)
{
    char *own = own_folder(), *full = program_name(name);
    char *path = xasprintf("%s/%s", own, full);

    free(full);
    if (*prefix == '\0' && !io_exists(path)) {
        free(path);
        path = xasprintf("%s/%s", own, name);
    }
    free(own);
    return path;
}

/* `dir` without n folders at its end and with `rest` behind, malloc'd. */
static char *
above_and(const char *dir, int n, const char *rest)
{
    size_t k = strlen(dir);

    for (; n > 0; n--)
        while (k > 0 && dir[--k] != '/')
            ;
    return xasprintf("%.*s%s", (int)k, dir, rest);
}

char *
program_share(void)
{
    const char *named = getenv("RETORT_SHAREDIR");
    char *own = own_folder();
    char *place[3] = { named != NULL && *named != '\0' ? xstrdup(named) : NULL,
        above_and(own, 2, ""), above_and(own, 1, "/share/retort") };
    char *found = NULL;

    for (size_t i = 0; i < 3; i++) {
        char *recipe =
            place[i] != NULL ? xasprintf("%s/recipes/own.mk", place[i]) : NULL;

        if (found == NULL && recipe != NULL && io_exists(recipe))
            found = place[i];
        else
            free(place[i]);
        free(recipe);
    }
    free(own);
    return found;
}

char *
program_build(void)
{
    char *own = own_folder(), *other = xasprintf("%s/student", own);
    const char *slash = strrchr(own, '/');
    char *build = slash != NULL && strcmp(slash, "/bin") == 0 &&
            *prefix == '\0' && io_exists(other)
        ? above_and(own, 1, "")
        : NULL;

    free(own);
    free(other);
    return build;
}

int
program_in_path(const char *name)
{
    const char *p = getenv("PATH");
    int there = 0;

    while (p != NULL && *p != '\0' && !there) {
        const size_t n = strcspn(p, ":");
        char *file = xasprintf("%.*s/%s", (int)n, p, name);

        there = access(file, X_OK) == 0;
        free(file);
        p += n + (p[n] == ':');
    }
    return there;
}
