/* Checkpoint directories; see ckpt.h and retort-checkpoint(5). */
#include "format/ckpt.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "format/gguf_file.h"

#include <errno.h>
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
step_path(const char *run, uint64_t step)
{
    return xasprintf("%s/step-%" PRIu64, run, step);
}

static void
to_hex(XXH128_hash_t hash, char hex[33])
{
    XXH128_canonical_t c;

    XXH128_canonicalFromHash(&c, hash);
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", c.digest[i]);
}

/* XXH3-128, as 32 hex digits, of the first `size` bytes of a file; size is the
 * file's size when it was opened.  The file is read piece by piece, since a
 * mapping would count as the trainer's memory. */
static int
hash_open(int fd, const char *path, uint64_t size, char hex[33], struct err *e)
{
    enum { PIECE = 1 << 16 };
    unsigned char *piece = xmalloc(PIECE);
    XXH3_state_t *state = XXH3_createState();
    uint64_t left = size;
    ptrdiff_t n = 1;

    if (state == NULL)
        mem_exhausted("hash of %s", path);
    XXH3_128bits_reset(state);
    while (left > 0 && n > 0) {
        n = io_read(fd, piece, left < PIECE ? (size_t)left : PIECE);
        if (n > 0)
            XXH3_128bits_update(state, piece, (size_t)n);
        left -= n > 0 ? (uint64_t)n : 0;
    }
    if (n < 0)
        err_set(e, EX_SYS, "%s:", path);
    else if (left > 0)
        n = err_set(e, EX_INPUT, "%s: has shrunk", path);
    to_hex(XXH3_128bits_digest(state), hex);
    XXH3_freeState(state);
    free(piece);
    return n < 0 ? -1 : 0;
}

void
ckpt_hash_bytes(const void *p, size_t n, char hex[33])
{
    to_hex(XXH3_128bits(p, n), hex);
}

int
ckpt_hash(const char *path, char hex[33], struct err *e)
{
    uint64_t size;
    const int fd = io_open_file(path, &size, e);
    const int r = fd < 0 ? -1 : hash_open(fd, path, size, hex, e);

    if (fd >= 0)
        close(fd);
    return r;
}

static int
has_suffix(const char *name, const char *end)
{
    const size_t n = strlen(name), k = strlen(end);

    return n > k && strcmp(name + n - k, end) == 0;
}

/* Is the file of that name part of a model's hash? */
static int
is_model_part(const char *name)
{
    return strcmp(name, "config.json") == 0 ||
        strcmp(name, "adapter_config.json") == 0 ||
        has_suffix(name, ".safetensors");
}

/* Hash a GGUF, or, if it is split, the hashes of its parts. */
static int
hash_gguf(const char *path, char hex[33], struct err *e)
{
    struct buf all = { 0 };
    struct gguf_file f;
    int r = 0;

    if (gguf_open(&f, path, e) < 0)
        return -1;
    for (size_t i = 0; r == 0 && i < f.n; i++)
        if ((r = ckpt_hash(f.name[i], hex, e)) == 0)
            buf_addf(&all, "%s\n", hex);
    if (r == 0 && f.n > 1)
        ckpt_hash_bytes(all.p, all.n, hex);
    buf_release(&all);
    gguf_close(&f);
    return r;
}

int
ckpt_hash_model(const char *path, char hex[33], struct err *e)
{
    struct buf all = { 0 };
    struct dir_list l;
    int r;

    if (has_suffix(path, ".gguf"))
        return hash_gguf(path, hex, e);
    if (!io_is_dir(path))
        return ckpt_hash(path, hex, e);
    if (dir_list(path, &l, e) < 0)
        return -1;
    r = 0;
    for (size_t i = 0; r == 0 && i < l.n; i++) {
        char *file = xasprintf("%s/%s", path, l.name[i]);

        if (is_model_part(l.name[i]) && (r = ckpt_hash(file, hex, e)) == 0)
            buf_addf(&all, "%s %s\n", hex, l.name[i]);
        free(file);
    }
    ckpt_hash_bytes(all.p, all.n, hex);
    dir_list_release(&l);
    buf_release(&all);
    return r;
}

/* Is `name` that of a checkpoint, step-N with N in decimal without leading
 * zeros?  Sets *step to N. */
static int
is_step(const char *name, uint64_t *step)
{
    char same[32];
    char *end;

    if (strncmp(name, "step-", 5) != 0)
        return 0;
    errno = 0;
    *step = strtoull(name + 5, &end, 10);
    snprintf(same, sizeof(same), "step-%" PRIu64, *step);
    return errno == 0 && strcmp(name, same) == 0;
}

int
ckpt_begin(struct dir_new *d, const char *run, uint64_t step, struct err *e)
{
    char *path = step_path(run, step);
    const int r = dir_new_begin(d, path, e);

    free(path);
    return r;
}

/* A file's entry in the manifest, {"size": n, "xxh3_128": hex}; the file is
 * fsynced on the way.  NULL on failure. */
static json_t *
hash_file(const char *dir, const char *name, struct err *e)
{
    char *path = xasprintf("%s/%s", dir, name), hex[33];
    uint64_t size;
    const int fd = io_open_file(path, &size, e);
    int r = fd < 0 ? -1 : 0;

    if (r == 0 && io_fsync(fd) < 0)
        r = err_set(e, EX_SYS, "%s:", path);
    if (r == 0)
        r = hash_open(fd, path, size, hex, e);
    if (fd >= 0)
        close(fd);
    free(path);
    return r < 0
        ? NULL
        : json_pack("{s:I,s:s}", "size", (json_int_t)size, "xxh3_128", hex);
}

/* Manifest entries of all files in dir except the manifest and hidden files. */
static json_t *
hash_listed_files(const char *dir, struct err *e)
{
    struct dir_list l;
    json_t *files, *one;

    if (dir_list(dir, &l, e) < 0)
        return NULL;
    files = json_object();
    for (size_t i = 0; i < l.n && files != NULL; i++) {
        if (l.name[i][0] == '.' || strcmp(l.name[i], MANIFEST) == 0)
            continue;
        one = hash_file(dir, l.name[i], e);
        if (one != NULL) {
            json_object_set_new(files, l.name[i], one);
        } else {
            json_decref(files);
            files = NULL;
        }
    }
    dir_list_release(&l);
    return files;
}

/* Write the manifest, ending with a hash of itself, so that damage to it
 * shows. */
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

int
ckpt_commit(struct dir_new *d, const char *run, uint64_t step,
    const struct position *p, size_t keep, struct err *e)
{
    json_t *files = hash_listed_files(d->tmp, e), *m;
    int r = -1;

    if (files != NULL) {
        m = json_pack("{s:i,s:I,s:o,s:I,s:s}", "version", 1, "step",
            (json_int_t)step, "files", files, "seq", (json_int_t)p->seq,
            "chain", p->chain);
        if (p->cursor != NULL)
            json_object_set_new(m, "cursor", json_string(p->cursor));
        r = put_manifest(d->tmp, m, e);
        json_decref(m);
    }
    if (r == 0 && io_exists(d->path)) /* a damaged checkpoint of the same
                                       * step */
        r = dir_remove(d->path, e);
    if (r == 0)
        r = dir_new_commit(d, e);
    if (r == 0 && keep > 0)
        r = ckpt_remove_old(run, step, keep, 0, e);
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
        if (!io_exists(path) && e != NULL) /* no manifest: the checkpoint counts
                                            * as damaged */
            e->code = EX_INPUT;
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
check_listed_file(const char *dir, const char *name, const json_t *v,
    struct err *e)
{
    const char *want = json_string_value(json_object_get(v, "xxh3_128"));
    const json_t *js = json_object_get(v, "size");
    char *path, hex[33];
    uint64_t size;
    int fd, r;

    if (want == NULL || !json_is_integer(js) || strchr(name, '/') != NULL)
        return err_set(e, EX_INPUT, "%s/" MANIFEST ": bad entry for '%s'", dir,
            name);
    path = xasprintf("%s/%s", dir, name);
    fd = io_open_file(path, &size, e);
    if (fd < 0)
        r = -1;
    else if (size != (uint64_t)json_integer_value(js))
        r = err_set(e, EX_INPUT,
            "%s: %" PRIu64 " bytes, the manifest says "
            "%lld",
            path, size, (long long)json_integer_value(js));
    else if ((r = hash_open(fd, path, size, hex, e)) == 0 &&
        strcmp(hex, want) != 0)
        r = err_set(e, EX_INPUT, "%s: hash differs from the manifest's", path);
    /* A missing file is damage; a file that cannot be read is not. */
    if (fd < 0 && e != NULL &&
        (errno == ENOENT || errno == ENOTDIR || errno == EINVAL ||
            errno == EISDIR))
        e->code = EX_INPUT;
    if (fd >= 0)
        close(fd);
    free(path);
    return r;
}

static int
read_manifest_position(const json_t *m, const char *dir, struct position *p,
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
ckpt_verify(const char *dir, uint64_t *step, struct position *p, struct err *e)
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
        json_object_foreach(files, name, v)
        {
            if ((r = check_listed_file(dir, name, v, e)) < 0)
                break;
        }
    }
    if (r == 0 && p != NULL)
        r = read_manifest_position(m, dir, p, e);
    if (r == 0 && step != NULL)
        *step = (uint64_t)json_integer_value(n);
    json_decref(m);
    return r;
}

/* List the steps of the checkpoints in run, newest first; returns their number,
 * 0 if run does not exist, -1 if it cannot be read. */
static ptrdiff_t
list_steps(const char *run, uint64_t **steps, struct err *e)
{
    struct dir_list l;
    size_t n = 0;

    *steps = NULL;
    if (dir_list(run, &l, e) < 0)
        return errno == ENOENT ? 0 : -1;
    *steps = xcalloc(l.n + 1, sizeof(**steps));
    for (size_t i = 0; i < l.n; i++) {
        uint64_t s;
        size_t at;

        if (!is_step(l.name[i], &s))
            continue;
        for (at = n++; at > 0 && (*steps)[at - 1] < s; at--)
            (*steps)[at] = (*steps)[at - 1];
        (*steps)[at] = s;
    }
    dir_list_release(&l);
    return (ptrdiff_t)n;
}

int
ckpt_any(const char *run, struct err *e)
{
    uint64_t *steps;
    const ptrdiff_t n = list_steps(run, &steps, e);

    free(steps);
    return n < 0 ? -1 : n > 0;
}

int
ckpt_newest(const char *run, char **dir, uint64_t *step, struct position *p,
    struct err *e)
{
    uint64_t *steps;
    const ptrdiff_t n = list_steps(run, &steps, e);
    int r = n < 0 ? -1 : 0;

    *dir = NULL;
    for (ptrdiff_t i = 0; i < n; i++) {
        char *path = step_path(run, steps[i]);
        struct err why = { 0 };

        r = ckpt_verify(path, step, p, &why) == 0 ? 1 : -1;
        if (r == 1) {
            *dir = path;
            break;
        }
        free(path);
        /* An unreadable checkpoint may be good: continuing from an older one
         * would lose work. */
        if (why.code == EX_SYS) {
            if (e != NULL)
                *e = why;
            break;
        }
        warn("%s/step-%" PRIu64 ": passed over: %s", run, steps[i], why.msg);
        err_set(e, EX_INPUT, "%s: no checkpoint in it is valid: %s", run,
            why.msg);
    }
    free(steps);
    return r;
}

int
ckpt_remove_old(const char *run, uint64_t step, size_t keep, uint64_t spare,
    struct err *e)
{
    uint64_t *steps;
    const ptrdiff_t n = list_steps(run, &steps, e);
    size_t seen = 0;
    int r = n < 0 ? -1 : 0;

    for (ptrdiff_t i = 0; i < n && r == 0; i++) {
        char *path;

        if (steps[i] > step)
            continue;
        path = step_path(run, steps[i]);
        if (seen++ == 0)
            r = n > (ptrdiff_t)keep ? ckpt_verify(path, NULL, NULL, e) : 0;
        else if (seen > keep && steps[i] != spare)
            r = dir_remove(path, e);
        free(path);
    }
    free(steps);
    return r;
}
