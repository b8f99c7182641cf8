/* Checkpoint directories; see ckpt.h and retort-checkpoint(5). */
#include "format/ckpt.h"
#include "base/io.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define MANIFEST "manifest.json"
#define MANIFEST_MAX ((size_t)1 << 20)

void
position_release(struct position *p)
{
    free(p->cursor);
    memset(p, 0, sizeof(*p));
}

static char *
step_path(const char *run, uint64_t step, const char *suffix)
{
    return xasprintf("%s/step-%" PRIu64 "%s", run, step, suffix);
}

/* XXH3-128 of a file as 32 hex digits, and its size.  Read piece by piece: a
 * map of it would count as the trainer's memory. */
static int
hash_file(const char *path, char hex[33], uint64_t *size, struct err *e)
{
    enum { PIECE = 1 << 16 };
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    XXH3_state_t *state;
    XXH128_canonical_t c;
    unsigned char *piece;
    ptrdiff_t n = 0;
    uint64_t all = 0;

    if (fd < 0)
        return err_set(e, EX_SYS, "%s:", path);
    piece = xmalloc(PIECE);
    state = XXH3_createState();
    if (state == NULL)
        die(EX_SYS, "%s: out of memory", path);
    XXH3_128bits_reset(state);
    while ((n = io_read(fd, piece, PIECE)) > 0) {
        XXH3_128bits_update(state, piece, (size_t)n);
        all += (uint64_t)n;
    }
    if (n < 0)
        err_set(e, EX_SYS, "%s:", path);
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(state));
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", c.digest[i]);
    *size = all;
    XXH3_freeState(state);
    free(piece);
    close(fd);
    return n < 0 ? -1 : 0;
}

static int
fsync_path(const char *path, struct err *e)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0) {
        err_set(e, EX_SYS, "%s:", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    close(fd);
    return 0;
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in dir but ".", ".." and the manifest, sorted; *n of them. */
static char **
list_files(const char *dir, size_t *n, struct err *e)
{
    DIR *d = opendir(dir);
    char **v = NULL;

    *n = 0;
    if (d == NULL) {
        err_set(e, EX_SYS, "%s:", dir);
        return NULL;
    }
    v = xcalloc(1, sizeof(*v));
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        if (f->d_name[0] == '.' || strcmp(f->d_name, MANIFEST) == 0)
            continue;
        v = xreallocarray(v, *n + 1, sizeof(*v));
        v[(*n)++] = xstrdup(f->d_name);
    }
    closedir(d);
    qsort(v, *n, sizeof(*v), by_name);
    return v;
}

static void
free_names(char **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(v[i]);
    free(v);
}

char *
ckpt_begin(const char *run, uint64_t step, struct err *e)
{
    char *tmp = step_path(run, step, ".tmp");

    if ((io_is_dir(tmp) && io_rmdir(tmp, e) < 0) || io_mkdirs(tmp, e) < 0) {
        free(tmp);
        return NULL;
    }
    return tmp;
}

void
ckpt_abort(const char *run, uint64_t step)
{
    char *tmp = step_path(run, step, ".tmp");
    struct err e;

    if (io_is_dir(tmp))
        (void)io_rmdir(tmp, &e);
    free(tmp);
}

/* {"name": {"size": n, "xxh3_128": hex}, ...} of the files in dir, each
 * fsynced on the way. */
static json_t *
hash_files(const char *dir, struct err *e)
{
    size_t n;
    char **v = list_files(dir, &n, e);
    json_t *files = json_object();

    if (v == NULL) {
        json_decref(files);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("%s/%s", dir, v[i]);
        char hex[33];
        uint64_t size;
        const int bad = fsync_path(path, e) < 0
            || hash_file(path, hex, &size, e) < 0;

        free(path);
        if (bad) {
            json_decref(files);
            files = NULL;
            break;
        }
        json_object_set_new(files, v[i], json_pack("{s:I,s:s}", "size",
            (json_int_t)size, "xxh3_128", hex));
    }
    free_names(v, n);
    return files;
}

/* The manifest ends with a hash of itself, so that it too is guarded. */
static int
put_manifest(const char *dir, json_t *m, struct err *e)
{
    char *path = xasprintf("%s/" MANIFEST, dir);
    char *text = json_dumps(m, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    struct buf b = { 0 };
    int r;

    buf_addf(&b, "%s\n%016" PRIx64 "\n", text,
        (uint64_t)XXH3_64bits(text, strlen(text)));
    r = io_put_file(path, b.p, b.n, e);
    buf_release(&b);
    free(text);
    free(path);
    return r;
}

static int remove_old(const char *run, size_t keep, struct err *e);

int
ckpt_commit(const char *run, uint64_t step, const struct position *p,
    size_t keep, struct err *e)
{
    char *tmp = step_path(run, step, ".tmp");
    char *dir = step_path(run, step, "");
    json_t *files = hash_files(tmp, e), *m;
    int r = -1;

    if (files != NULL) {
        m = json_pack("{s:i,s:I,s:o,s:I,s:s}", "version", 1, "step",
            (json_int_t)step, "files", files, "seq", (json_int_t)p->seq,
            "chain", p->chain);
        if (p->cursor != NULL)
            json_object_set_new(m, "cursor", json_string(p->cursor));
        r = put_manifest(tmp, m, e);
        json_decref(m);
    }
    if (r == 0)
        r = io_fsync_dir(tmp, e);
    if (r == 0 && io_is_dir(dir))       /* a damaged one of that step */
        r = io_rmdir(dir, e);
    if (r == 0 && rename(tmp, dir) < 0)
        r = err_set(e, EX_SYS, "%s:", dir);
    if (r == 0)
        r = io_fsync_dir(run, e);
    if (r == 0 && keep > 0)
        r = remove_old(run, keep, e);
    free(tmp);
    free(dir);
    return r;
}

/* Load and check the manifest's text; NULL with *e when it is damaged. */
static json_t *
get_manifest(const char *dir, struct err *e)
{
    char *path = xasprintf("%s/" MANIFEST, dir), *text = NULL;
    json_t *m = NULL;
    json_error_t je;
    size_t n;
    char sum[18];

    if (io_slurp(path, MANIFEST_MAX, &text, &n, e) < 0) {
        free(path);
        return NULL;
    }
    if (n > 18 && text[n - 18] == '\n') {
        snprintf(sum, sizeof(sum), "%016" PRIx64 "\n",
            (uint64_t)XXH3_64bits(text, n - 18));
        if (memcmp(sum, text + n - 17, 17) == 0)
            m = json_loadb(text, n - 18, JSON_REJECT_DUPLICATES, &je);
    }
    if (m == NULL)
        err_set(e, EX_INPUT, "%s: damaged: the text does not match its hash",
            path);
    free(text);
    free(path);
    return m;
}

static int
check_file(const char *dir, const char *name, const json_t *v, struct err *e)
{
    const char *want = json_string_value(json_object_get(v, "xxh3_128"));
    const json_t *js = json_object_get(v, "size");
    char *path, hex[33];
    uint64_t size;
    int r;

    if (want == NULL || !json_is_integer(js) || strchr(name, '/') != NULL)
        return err_set(e, EX_INPUT, "%s/" MANIFEST ": bad entry for '%s'",
            dir, name);
    path = xasprintf("%s/%s", dir, name);
    r = hash_file(path, hex, &size, e);
    if (r == 0 && size != (uint64_t)json_integer_value(js))
        r = err_set(e, EX_INPUT, "%s: %" PRIu64 " bytes, the manifest says "
            "%lld", path, size, (long long)json_integer_value(js));
    else if (r == 0 && strcmp(hex, want) != 0)
        r = err_set(e, EX_INPUT, "%s: hash differs from the manifest's", path);
    else if (r < 0 && e != NULL)
        e->code = EX_INPUT;
    free(path);
    return r;
}

static int
read_position(const json_t *m, const char *dir, struct position *p,
    struct err *e)
{
    const json_t *seq = json_object_get(m, "seq");
    const char *chain = json_string_value(json_object_get(m, "chain"));
    const char *cursor = json_string_value(json_object_get(m, "cursor"));

    if (!json_is_integer(seq) || chain == NULL || strlen(chain) != 32)
        return err_set(e, EX_INPUT, "%s/" MANIFEST ": no position", dir);
    p->seq = (uint64_t)json_integer_value(seq);
    memcpy(p->chain, chain, 33);
    p->cursor = cursor != NULL ? xstrdup(cursor) : NULL;
    return 0;
}

int
ckpt_verify(const char *dir, uint64_t *step, struct position *p,
    struct err *e)
{
    json_t *m = get_manifest(dir, e);
    json_t *files = json_object_get(m, "files"), *v;
    const json_t *n = json_object_get(m, "step");
    const json_t *version = json_object_get(m, "version");
    const char *name;
    int r = 0;

    if (m == NULL)
        return -1;
    if (!json_is_integer(version) || json_integer_value(version) != 1)
        r = err_set(e, EX_INPUT, "%s/" MANIFEST ": version is not 1", dir);
    else if (!json_is_integer(n) || !json_is_object(files))
        r = err_set(e, EX_INPUT, "%s/" MANIFEST ": no step or files", dir);
    if (r == 0) {
        json_object_foreach(files, name, v) {
            if ((r = check_file(dir, name, v, e)) < 0)
                break;
        }
    }
    if (r == 0 && p != NULL)
        r = read_position(m, dir, p, e);
    if (r == 0 && step != NULL)
        *step = (uint64_t)json_integer_value(n);
    json_decref(m);
    return r;
}

/* Steps of the checkpoints in run, newest first; -1 if it cannot be read. */
static ptrdiff_t
list_steps(const char *run, uint64_t **steps)
{
    DIR *d = opendir(run);
    size_t n = 0;

    *steps = NULL;
    if (d == NULL)
        return -1;
    for (struct dirent *f; (f = readdir(d)) != NULL;) {
        char *end;
        uint64_t s;

        if (strncmp(f->d_name, "step-", 5) != 0
                || f->d_name[5] < '0' || f->d_name[5] > '9')
            continue;
        errno = 0;
        s = strtoull(f->d_name + 5, &end, 10);
        if (*end != '\0' || errno != 0)
            continue;
        *steps = xreallocarray(*steps, n + 1, sizeof(**steps));
        size_t i = n++;
        for (; i > 0 && (*steps)[i - 1] < s; i--)
            (*steps)[i] = (*steps)[i - 1];
        (*steps)[i] = s;
    }
    closedir(d);
    return (ptrdiff_t)n;
}

int
ckpt_newest(const char *run, char **dir, uint64_t *step, struct position *p,
    struct err *e)
{
    uint64_t *steps;
    const ptrdiff_t n = list_steps(run, &steps);
    int r = 0;

    *dir = NULL;
    for (ptrdiff_t i = 0; i < n; i++) {
        char *path = step_path(run, steps[i], "");
        struct err why = { 0 };

        r = ckpt_verify(path, step, p, &why) == 0 ? 1 : -1;
        if (r == 1) {
            *dir = path;
            break;
        }
        warn("%s: passed over: %s", path, why.msg);
        err_set(e, EX_INPUT, "%s: no checkpoint in it is valid: %s", run,
            why.msg);
        free(path);
    }
    free(steps);
    return r;
}

/* Remove checkpoints older than the keep newest; what is newest has just been
 * written, so it is read back before anything older goes. */
static int
remove_old(const char *run, size_t keep, struct err *e)
{
    uint64_t *steps;
    const ptrdiff_t n = list_steps(run, &steps);
    int r = 0;

    for (ptrdiff_t i = 0; i < n && r == 0; i++) {
        char *path = step_path(run, steps[i], "");

        if (i == 0)
            r = n > (ptrdiff_t)keep ? ckpt_verify(path, NULL, NULL, e) : 0;
        else if ((size_t)i >= keep)
            r = io_rmdir(path, e);
        free(path);
    }
    free(steps);
    return r;
}
