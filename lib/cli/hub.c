/* Models by their ids: see hub.h */
#include "cli/hub.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"

#include <stdlib.h>
#include <string.h>

static int
has_suffix(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);

    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Has s the form ORG/NAME, without the suffix of a file? */
static int
is_id(const char *s)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    const size_t org = strspn(s, allowed);
    const char *name = s + org + 1;

    return org > 0 && s[0] != '.' && s[org] == '/' && *name != '\0' &&
        *name != '.' && name[strspn(name, allowed)] == '\0' &&
        !has_suffix(name, ".gguf") && !has_suffix(name, ".json");
}

/* Path of the Hugging Face cache; the caller frees it. */
static char *
cache_dir(void)
{
    const char *cache = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME");

    if (cache != NULL && *cache != '\0')
        return xstrdup(cache);
    if (home != NULL && *home != '\0')
        return xasprintf("%s/hub", home);
    home = getenv("HOME");
    return xasprintf("%s/.cache/huggingface/hub", home != NULL ? home : "");
}

/* Path of the snapshot that dir/refs/main names, or NULL. */
static char *
main_snapshot(const char *dir)
{
    char *ref = xasprintf("%s/refs/main", dir), *text = NULL, *path = NULL;
    struct err e;
    size_t n;

    if (io_exists(ref) && io_slurp(ref, 4096, &text, &n, &e) == 0) {
        text[strcspn(text, "\r\n")] = '\0';
        path = xasprintf("%s/snapshots/%s", dir, text);
        if (*text == '\0' || strchr(text, '/') != NULL || !io_is_dir(path)) {
            free(path);
            path = NULL;
        }
    }
    free(text);
    free(ref);
    return path;
}

const char *
hub_path(const char *name)
{
    char *cache, *dir, *path;
    const char *slash;

    if (!is_id(name) || io_exists(name))
        return name;
    slash = strchr(name, '/');
    cache = cache_dir();
    dir = xasprintf("%s/models--%.*s--%s", cache, (int)(slash - name), name,
        slash + 1);
    path = main_snapshot(dir);
    if (path == NULL)
        die(EX_SYS,
            "%s: is neither here nor in the Hugging Face cache %s: give the "
            "path of a model, or fetch it with hf download %s --local-dir DIR "
            "and give DIR",
            name, cache, name);
    free(cache);
    free(dir);
    return path;
}
