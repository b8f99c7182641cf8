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

static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789-_.";

/* Has s the form NAME of the oldest ids? */
static int
is_old_id(const char *s)
{
    return *s != '\0' && *s != '.' && s[strspn(s, allowed)] == '\0';
}

/* Length of "LABEL=" at the beginning of s; 0: there is none. */
static size_t
label_length(const char *s)
{
    const size_t n = strcspn(s, "=/:");

    return n > 0 && s[n] == '=' ? n + 1 : 0;
}

/* Has s the form ORG/NAME, without the suffix of a file? */
static int
is_id(const char *s)
{
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

/* Path of the main snapshot of the model `id`, which is ORG/NAME or NAME.  Dies
 * if the cache has none. */
static char *
cached(const char *id)
{
    const char *slash = strchr(id, '/');
    const int org = slash != NULL ? (int)(slash - id) : 0;
    char *cache = cache_dir();
    char *dir = xasprintf("%s/models--%.*s%s%s", cache, org, id,
        slash != NULL ? "--" : "", slash != NULL ? slash + 1 : id);
    char *path = main_snapshot(dir);

    if (path == NULL)
        die(EX_SYS,
            "%s: is neither here nor in the Hugging Face cache %s: give the "
            "path of a model, or fetch it with hf download %s --local-dir DIR "
            "and give DIR; plan needs only its config.json",
            id, cache, id);
    free(cache);
    free(dir);
    return path;
}

/* Refuse the folder of a run of retort distil in the place of its student. */
static void
refuse_run(const char *path)
{
    static const char *const own[] = { "config.json", "tokenizer.json",
        "tekken.json" };
    char *student = xasprintf("%s/student", path);
    int is_run = io_exists_in(student, own[0]);

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        is_run = is_run && !io_exists_in(path, own[i]);
    if (is_run)
        die(EX_SYS,
            "%s: is the folder of a run of retort distil: its model is %s",
            path, student);
    free(student);
}

const char *
hub_path(const char *name)
{
    static const char of_hub[] = "hf:";
    const size_t n = sizeof of_hub - 1, label = label_length(name);
    const char *id = name + label;

    refuse_run(id);
    if (strncmp(id, of_hub, n) == 0) {
        id += n;
        if (!is_id(id) && !is_old_id(id))
            die(EX_USAGE, "%s: after hf: the id of a model follows, ORG/NAME",
                name);
    } else if (!is_id(id) || io_exists(id)) {
        return name;
    }
    return label == 0 ? cached(id)
                      : xasprintf("%.*s%s", (int)label, name, cached(id));
}
