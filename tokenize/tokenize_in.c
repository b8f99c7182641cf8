/* Inputs of tokenize; see tokenize_in.h. */
#include "tokenize_in.h"

#include "base/io.h"
#include "data/unicode.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 64            /* folders in folders */

static const char *const packers[] = { ".zst", ".gz", ".xz", ".bz2", ".lz4",
    NULL };
static const char *const lines[] = { ".jsonl", ".ndjson", NULL };
static const char *const texts[] = { ".txt", ".text", NULL };
static const char *const archives[] = { ".tar", ".zip", ".tgz", ".tbz2",
    ".txz", ".tzst", NULL };
static const char *const dumps[] = { ".xml", NULL };

/* Length of name[n] without one of the endings, or n. */
static size_t
without(const char *name, size_t n, const char *const *ending)
{
    for (; *ending; ending++) {
        const size_t k = strlen(*ending);

        if (n > k && memcmp(name + n - k, *ending, k) == 0)
            return n - k;
    }
    return n;
}

enum name_form
name_form(const char *name, int *packed)
{
    const size_t all = strlen(name), n = without(name, all, packers);

    *packed = n < all;
    if (without(name, n, lines) < n)
        return NAME_JSONL;
    if (without(name, n, texts) < n)
        return NAME_TEXT;
    if (without(name, n, archives) < n)
        return NAME_ARCHIVE;
    if (without(name, n, dumps) < n && strstr(name, "pages-articles"))
        return NAME_WIKI;
    return NAME_OTHER;
}

int
name_is_json(const char *name)
{
    const size_t n = without(name, strlen(name), packers);

    return n > 5 && memcmp(name + n - 5, ".json", 5) == 0;
}

const char *
input_name(const struct input *i)
{
    return i->path ? i->path : "<stdin>";
}

size_t
inputs_source(const struct inputs *in, const char *name, size_t n)
{
    size_t i;

    for (i = 0; i < in->nsource; i++)
        if (strlen(in->source[i]) == n &&
            memcmp(in->source[i], name, n) == 0)
            break;
    return i;
}

/* The source of that name, made if need be; what could not stand in a
 * stream's header is replaced. */
size_t
inputs_add_source(struct inputs *in, const char *name, size_t n)
{
    struct buf b = { 0 };
    size_t i;

    uni_repair(name, n, &b);
    for (i = 0; i < b.n; i++)
        if ((unsigned char)b.p[i] < 0x20 || b.p[i] == 0x7f)
            b.p[i] = '?';
    if (b.n == 0)
        buf_adds(&b, "text");
    i = inputs_source(in, b.p, b.n);
    if (i < in->nsource) {
        buf_release(&b);
        return i;
    }
    in->source = xgrow_pow2(in->source, in->nsource, sizeof *in->source);
    in->source[in->nsource] = b.p;
    return in->nsource++;
}

size_t
inputs_path_source(const struct inputs *in, const char *path)
{
    size_t end = strlen(path);

    while (end > 0) {
        size_t from = end, k;

        while (from > 0 && path[from - 1] != '/')
            from--;
        k = inputs_source(in, path + from, strcspn(path + from, "./"));
        if (k == in->nsource)
            k = inputs_source(in, path + from, strcspn(path + from, "./-_"));
        if (k < in->nsource)
            return k;
        end = from ? from - 1 : 0;
    }
    return in->nsource;
}

/* The first name of `path` below a folder of `below` bytes, up to its first
 * dot: that of the file, or of the folder it is in. */
static size_t
source_of_path(struct inputs *in, const char *path, size_t below)
{
    const char *base = strrchr(path, '/');
    size_t n;

    if (below) {
        base = path + below;
        while (*base == '/')
            base++;
    } else {
        base = base ? base + 1 : path;
    }
    n = strcspn(base, "./");
    return inputs_add_source(in, base, n ? n : strlen(base));
}

/* below: bytes of the path that are an operand, a folder; else 0. */
static void
add_input(struct inputs *in, const char *path, size_t below)
{
    struct stat st;
    struct input *i;
    int packed;

    in->v = xgrow_pow2(in->v, in->n, sizeof *in->v);
    i = &in->v[in->n++];
    i->path = path ? xstrdup(path) : NULL;
    i->jsonl = in->o.jsonl || (path && name_form(path, &packed) == NAME_JSONL);
    i->source = 0;
    i->size = 0;
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        i->size = (uint64_t)st.st_size;
    if (!in->o.lang)
        i->source = path ? source_of_path(in, path, below) :
            inputs_add_source(in, "stdin", 5);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct names {
    char **v;
    size_t n;
};

/* Files in a folder and those below it; links to folders are not followed. */
static int
walk(struct names *names, const char *path, int depth, struct err *e)
{
    const size_t n = strlen(path);
    DIR *d = opendir(path);
    struct dirent *x;
    int k = 0;

    if (!d)
        return err_set(e, EX_SYS, "%s:", path);
    while (k == 0 && (x = readdir(d)) != NULL) {
        struct stat st;
        char *full;
        int packed;

        if (x->d_name[0] == '.')
            continue;
        full = xasprintf("%s%s%s", path, path[n - 1] == '/' ? "" : "/",
            x->d_name);
        if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
            k = depth == DEPTH_MAX ? err_set(e, EX_USAGE, "%s: lies more than "
                "%d folders deep", full, DEPTH_MAX) :
                walk(names, full, depth + 1, e);
        } else if (name_form(x->d_name, &packed) != NAME_OTHER &&
            !io_is_dir(full)) {
            names->v = xgrow_pow2(names->v, names->n, sizeof *names->v);
            names->v[names->n++] = full;
            continue;
        }
        free(full);
    }
    closedir(d);
    return k;
}

static int
add_folder(struct inputs *in, const char *path, struct err *e)
{
    struct names names = { 0 };
    int k = walk(&names, path, 0, e);

    if (k == 0 && names.n == 0)
        k = err_set(e, EX_USAGE, "%s: holds no text (.txt, .text, .jsonl, "
            ".ndjson, compressed or not, .tar, .zip)", path);
    if (names.n > 0)
        qsort(names.v, names.n, sizeof *names.v, by_name);
    for (size_t i = 0; i < names.n; i++) {
        if (k == 0)
            add_input(in, names.v[i], strlen(path));
        free(names.v[i]);
    }
    free(names.v);
    return k;
}

static int
add_langs(struct inputs *in, struct err *e)
{
    const char *s = in->o.lang;
    const int many = in->o.lang_field || in->o.lang_path;

    if (!s)
        return many ? err_set(e, EX_USAGE, "--lang-%s needs the names that "
            "may occur: --lang a,b,c", in->o.lang_field ? "field" : "path") :
            0;
    while (many) {
        const size_t n = strcspn(s, ",");

        inputs_add_source(in, s, n);
        if (s[n] == '\0')
            return 0;
        s += n + 1;
    }
    inputs_add_source(in, s, strlen(s));
    return 0;
}

int
inputs_list(struct inputs *in, char **operand, const struct input_opts *o,
    struct err *e)
{
    struct stat st;

    memset(in, 0, sizeof *in);
    in->o = *o;
    if (add_langs(in, e) < 0)
        return -1;
    if (!*operand)
        add_input(in, NULL, 0);
    for (; *operand; operand++) {
        if (strcmp(*operand, "-") == 0)
            add_input(in, NULL, 0);
        else if (stat(*operand, &st) < 0)
            return err_set(e, EX_SYS, "%s:", *operand);
        else if (!S_ISDIR(st.st_mode))
            add_input(in, *operand, 0);
        else if (add_folder(in, *operand, e) < 0)
            return -1;
    }
    if (in->nsource > 65536)
        return err_set(e, EX_USAGE, "more than 65536 sources");
    for (size_t i = 0; i < in->n; i++) {
        if (in->v[i].size == 0) {
            in->bytes = 0;
            break;
        }
        in->bytes += (double)in->v[i].size;
    }
    return 0;
}

void
inputs_release(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->v[i].path);
    for (size_t i = 0; i < in->nsource; i++)
        free(in->source[i]);
    free(in->v);
    free(in->source);
    memset(in, 0, sizeof *in);
}
