/* Inputs of documents; see inputs.h. */
#include "docs/inputs.h"
#include "docs/kind.h"
#include "docs/unpack.h"

#include "base/dir.h"
#include "base/io.h"
#include "base/note.h"
#include "format/json.h"
#include "text/unicode.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define DEPTH_MAX 64            /* maximum number of levels of folders */
#define NAMES_MAX 64            /* most names in a folder that are sources */
#define PEEK ((size_t)64 << 10) /* bytes read to find out what a file is */
#define HEAD_MAX JS_MAX         /* most bytes of line 1 of clean's documents */
#define TALK_MAX ((size_t)1 << 20) /* most bytes of a first conversation */

static const char *const packers[] = { ".zst", ".gz", ".xz", ".bz2", ".lz4",
    NULL };
static const char *const lines[] = { ".jsonl", ".ndjson", NULL };
static const char *const texts[] = { ".txt", ".text", ".md", ".wet", NULL };
static const char *const json[] = { ".json", NULL };
static const char *const xml[] = { ".xml", NULL };
static const char *const archives[] = { ".tar", ".zip", ".tgz", ".tbz2", ".txz",
    ".tzst", NULL };

/* Length of name[n] without its ending, if `ending` lists it; else n. */
static size_t
length_without(const char *name, size_t n, const char *const *ending)
{
    for (; *ending; ending++) {
        const size_t k = strlen(*ending);

        if (n > k && strncasecmp(name + n - k, *ending, k) == 0)
            return n - k;
    }
    return n;
}

enum name_form
name_form(const char *name, int *packed)
{
    const size_t all = strlen(name), n = length_without(name, all, packers);

    *packed = n < all;
    if (length_without(name, n, lines) < n)
        return NAME_JSONL;
    if (length_without(name, n, texts) < n)
        return NAME_TEXT;
    if (length_without(name, n, archives) < n)
        return NAME_ARCHIVE;
    if (length_without(name, n, json) < n)
        return NAME_JSON;
    return length_without(name, n, xml) < n ? NAME_XML : NAME_OTHER;
}

const char *
name_is_text(enum name_form form, const char *p, size_t n)
{
    if (form == NAME_OTHER)
        return "is no text by its name";
    if (form == NAME_JSON && n > 0 && !kind_is_lines(p, n))
        return "has no JSON object in its first line";
    if (form == NAME_XML && n > 0 && !kind_is_dump(p, n))
        return "is no dump of MediaWiki";
    return NULL;
}

const char *
input_name(const struct input *i)
{
    return i->path ? i->path : "<stdin>";
}

/* ---- sets of names, which number them ---- */

/* Find the name's place in s->slot, or a free one. */
static size_t
name_slot(const struct name_set *s, const char *name, size_t n)
{
    size_t k = (size_t)XXH3_64bits(name, n) & (s->room - 1);

    while (s->slot[k] &&
        (strlen(s->name[s->slot[k] - 1]) != n ||
            memcmp(s->name[s->slot[k] - 1], name, n) != 0))
        k = (k + 1) & (s->room - 1);
    return k;
}

/* Look up the number of the name; s->n: it is not in the set. */
static size_t
set_find(const struct name_set *s, const char *name, size_t n)
{
    const size_t i = s->n ? s->slot[name_slot(s, name, n)] : 0;

    return i ? i - 1 : s->n;
}

/* Return the number of the name, adding it if it is new. */
static size_t
set_add(struct name_set *s, const char *name, size_t n)
{
    struct buf b = { 0 };
    size_t i = set_find(s, name, n);

    if (i < s->n)
        return i;
    if (2 * (s->n + 1) > s->room) {
        s->room = s->room ? 2 * s->room : 64;
        free(s->slot);
        s->slot = xcalloc(s->room, sizeof *s->slot);
        for (i = 0; i < s->n; i++)
            s->slot[name_slot(s, s->name[i], strlen(s->name[i]))] = i + 1;
    }
    buf_add(&b, name, n);
    s->name = xgrow_pow2(s->name, s->n, sizeof *s->name);
    s->name[s->n] = b.p;
    s->slot[name_slot(s, name, n)] = s->n + 1;
    return s->n++;
}

static void
release_names(struct name_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->name[i]);
    free(s->name);
    free(s->slot);
}

/* ---- sources ---- */

size_t
inputs_source(const struct inputs *in, const char *name, size_t n)
{
    return set_find(&in->set, name, n);
}

/* Bytes that a stream's header cannot hold are replaced in the name. */
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
    i = set_add(&in->set, b.p, b.n);
    buf_release(&b);
    in->source = in->set.name;
    in->nsource = in->set.n;
    return i;
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

/* Find the first component of the input's path below the operand's folder.  It
 * names a file or a folder, and is taken up to its first dot. */
static const char *
name_below(const struct input *i, size_t *n)
{
    const char *p = i->path + i->below;

    while (*p == '/')
        p++;
    *n = strcspn(p, "./");
    *n = *n ? *n : strlen(p);
    return p;
}

/* Does p[n] look like a language code: de, mlt, pt-BR, zh_Hans, eng_Latn? */
static int
is_language_code(const char *p, size_t n)
{
    size_t k = 0, part;

    while (k < n && p[k] >= 'a' && p[k] <= 'z')
        k++;
    if (k < 2 || k > 3)
        return 0;
    for (; k < n && (p[k] == '-' || p[k] == '_'); k += 1 + part) {
        for (part = 0;
             k + 1 + part < n && isalpha((unsigned char)p[k + 1 + part]);
             part++)
            ;
        if (part < 2 || part > 4)
            return 0;
    }
    return k == n;
}

/* Return the source named after the folder; "text" for "." or "/". */
static size_t
folder_source(struct inputs *in, const char *folder)
{
    size_t n = strlen(folder), from;

    while (n > 0 && folder[n - 1] == '/')
        n--;
    for (from = n; from > 0 && folder[from - 1] != '/'; from--)
        ;
    while (from < n && folder[from] == '.')
        from++;
    return inputs_add_source(in, folder + from, n - from);
}

/* The operands' folders and the names in them, counted to find out which names
 * are sources.  A stem is a name without the number at its end. */
struct folders {
    struct name_set folder;
    size_t *of;       /* [in->n] number of each input's folder */
    size_t *files;    /* [folder.n] files in it */
    size_t *many;     /* [folder.n] names that are not language codes */
    size_t *numbered; /* [folder.n] names whose stem another has too */
    struct name_set name, stem; /* keys: a folder's number with a name in it,
                                 * or with a stem */
    size_t *alike;              /* [stem.n] names with that stem */
};

/* Return the index in f->stem of the name without its final digits; SIZE_MAX:
 * the name does not end in digits, or is a language code. */
static size_t
stem_of(struct folders *f, size_t folder, const char *p, size_t n)
{
    struct buf b = { 0 };
    size_t k = n;

    while (k > 0 && isdigit((unsigned char)p[k - 1]))
        k--;
    if (k == n || is_language_code(p, n))
        return SIZE_MAX;
    buf_addf(&b, "%zu/%.*s", folder, (int)k, p);
    k = set_add(&f->stem, b.p, b.n);
    buf_release(&b);
    return k;
}

/* Count the names of each folder. */
static void
count_names(struct folders *f, const struct inputs *in)
{
    struct buf b = { 0 };
    size_t n, k;

    f->of = xcalloc(in->n + 1, sizeof *f->of);
    f->files = xcalloc(in->n + 1, sizeof *f->files);
    f->many = xcalloc(in->n + 1, sizeof *f->many);
    f->numbered = xcalloc(in->n + 1, sizeof *f->numbered);
    f->alike = xcalloc(in->n + 1, sizeof *f->alike);
    for (size_t i = 0; i < in->n; i++) {
        const struct input *x = &in->v[i];
        const size_t before = f->name.n;
        const char *p;

        if (!x->path || x->documents)
            continue;
        buf_clear(&b);
        buf_add(&b, x->path, x->below);
        f->of[i] = set_add(&f->folder, b.p, b.n);
        f->files[f->of[i]]++;
        p = name_below(x, &n);
        buf_addf(&b, "/%zu/", f->of[i]);
        buf_add(&b, p, n);
        if (is_language_code(p, n) || set_add(&f->name, b.p, b.n) != before)
            continue;
        f->many[f->of[i]]++;
        if ((k = stem_of(f, f->of[i], p, n)) < SIZE_MAX && ++f->alike[k] > 1)
            f->numbered[f->of[i]] += f->alike[k] == 2 ? 2 : 1;
    }
    buf_release(&b);
}

/*
 * Derive the inputs' sources from their names.  Names in a folder that differ
 * only by a number at the end are taken for documents, whose source is the
 * folder.  If more than NAMES_MAX names of a folder are not language codes, the
 * folder is the source of all its files.
 */
static void
name_sources(struct inputs *in)
{
    struct folders f = { 0 };
    size_t n, k;

    count_names(&f, in);
    for (size_t i = 0; i < in->n; i++) {
        struct input *x = &in->v[i];
        const char *p = x->path ? name_below(x, &n) : NULL;

        if (x->documents)
            continue;
        if (!x->path)
            x->source = inputs_add_source(in, "stdin", 5);
        else if (f.many[f.of[i]] > NAMES_MAX ||
            ((k = stem_of(&f, f.of[i], p, n)) < SIZE_MAX && f.alike[k] > 1))
            x->source = folder_source(in, f.folder.name[f.of[i]]);
        else
            x->source = inputs_add_source(in, p, n);
    }
    for (size_t i = 0; i < f.folder.n; i++) {
        const int all = f.many[i] > NAMES_MAX;

        if (all || f.numbered[i] > 0)
            note("%s: %s%zu files%s are one source, \"%s\" (names such as "
                 "de.txt would make a source of each language; see --lang)",
                *f.folder.name[i] ? f.folder.name[i] : ".", all ? "its " : "",
                all ? f.files[i] : f.numbered[i],
                all ? "" : " whose names differ by a number",
                in->source[folder_source(in, f.folder.name[i])]);
    }
    release_names(&f.folder);
    release_names(&f.name);
    release_names(&f.stem);
    free(f.of);
    free(f.files);
    free(f.many);
    free(f.numbered);
    free(f.alike);
}

/* below: length of the path up to the end of the operand's folder. */
static void
append_input(struct inputs *in, const char *path, size_t below)
{
    struct stat st;
    struct input *i;

    in->v = xgrow_pow2(in->v, in->n, sizeof *in->v);
    i = &in->v[in->n++];
    memset(i, 0, sizeof *i);
    i->path = path ? xstrdup(path) : NULL;
    i->below = below;
    if (path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        i->size = (uint64_t)st.st_size;
}

/* Add a file that is an operand. */
static int
add_text_file(struct inputs *in, const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    const char *what =
        kind_of_name(path, length_without(path, strlen(path), packers));

    if (access(path, R_OK) < 0)
        return err_set(e, EX_SYS, "%s:", path);
    if (what && !in->o.jsonl && !in->o.wiki)
        return err_set(e, EX_INPUT, "%s: %s", path, what);
    append_input(in, path, slash ? (size_t)(slash - path) : 0);
    return 0;
}

static int
by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct path_list {
    char **v;
    size_t n;
};

/* Open a file and its decompression; close_content closes both.  NULL and *e.
 */
static struct unpack *
open_content(const char *path, int *fd, struct err *e)
{
    *fd = io_open(path, e);
    return *fd < 0 ? NULL : unpack_open(*fd, io_in_name(path), e);
}

static void
close_content(struct unpack *u, int fd)
{
    unpack_close(u);
    if (fd >= 0)
        io_close_in(fd);
}

/* Call name_is_text with the beginning of a file.  A file that cannot be read
 * passes: reading it later reports the error. */
static const char *
look_inside(const char *path, enum name_form form)
{
    struct err e;
    int fd;
    struct unpack *u = open_content(path, &fd, &e);
    const char *p, *why = NULL;
    const ptrdiff_t n = u ? unpack_peek(u, PEEK, &p, &e) : -1;

    if (n >= 0)
        why = name_is_text(form, p, (size_t)n);
    close_content(u, fd);
    return why;
}

/* Add a file found in a folder to *names, or skip it. */
static void
walk_file(struct path_list *names, struct passed *passed, const char *path)
{
    int packed;
    const enum name_form form = name_form(path, &packed);
    struct stat st;
    const char *why = NULL;

    if (form != NAME_OTHER && stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        warn("%s: is no regular file: passed over", path);
        return;
    }
    if (form == NAME_OTHER || form == NAME_JSON || form == NAME_XML)
        why = form == NAME_OTHER ? name_is_text(form, NULL, 0)
                                 : look_inside(path, form);
    if (why) {
        passed_add(passed, path, why);
        return;
    }
    names->v = xgrow_pow2(names->v, names->n, sizeof *names->v);
    names->v[names->n++] = xstrdup(path);
}

/* Collect the files in a folder and below it; links to folders are not
 * followed. */
static int
walk_folder(struct path_list *names, struct passed *passed, const char *path,
    int depth, struct err *e)
{
    const size_t n = strlen(path);
    struct dir_list l;
    int k = dir_list(path, &l, e);

    for (size_t i = 0; k == 0 && i < l.n; i++) {
        const char *name = l.name[i];
        struct stat st;
        char *full;

        if (name[0] == '.')
            continue;
        full = xasprintf("%s%s%s", path, path[n - 1] == '/' ? "" : "/", name);
        if (lstat(full, &st) == 0 && S_ISDIR(st.st_mode)) {
            k = depth == DEPTH_MAX
                ? err_set(e, EX_USAGE, "%s: lies more than %d folders deep",
                      full, DEPTH_MAX)
                : walk_folder(names, passed, full, depth + 1, e);
        } else if (!io_is_dir(full)) {
            walk_file(names, passed, full);
        }
        free(full);
    }
    dir_list_release(&l);
    return k;
}

static int
no_text_in_folder(const char *path, struct passed *passed, struct err *e)
{
    char *text = passed_text(passed);

    err_set(e, EX_INPUT,
        "%s: holds no text%s%s; what is read in a folder ends in .txt, .text, "
        ".md, .wet, .jsonl, .ndjson, .json (an object a line), .xml (a dump of "
        "MediaWiki), .tar or .zip, compressed or not",
        path, *text ? ": " : "", text);
    free(text);
    return -1;
}

static int
add_folder(struct inputs *in, const char *path, struct err *e)
{
    struct path_list names = { 0 };
    struct passed passed = { 0 };
    int k = walk_folder(&names, &passed, path, 0, e);

    if (k == 0 && names.n == 0)
        k = no_text_in_folder(path, &passed, e);
    if (names.n > 0)
        qsort(names.v, names.n, sizeof *names.v, by_path);
    for (size_t i = 0; i < names.n; i++) {
        if (k == 0)
            append_input(in, names.v[i], strlen(path));
        free(names.v[i]);
    }
    free(names.v);
    passed_join(&in->passed, &passed);
    passed_release(&passed);
    return k;
}

static int
add_langs(struct inputs *in, struct err *e)
{
    const char *s = in->o.lang;
    const int many = in->o.lang_field || in->o.lang_path;

    if (!s)
        return many
            ? err_set(e, EX_USAGE,
                  "--lang-%s needs the names that may occur: --lang a,b,c",
                  in->o.lang_field ? "field" : "path")
            : 0;
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

/* ---- documents that clean has written ---- */

/* Look at the first line of u while `maybe` holds for what is there of it, and
 * up to `most` bytes.  1: *p, *n are the line without its end; 0: there is no
 * such line; -1 and *e. */
static int
first_line(struct unpack *u, int (*maybe)(const char *p, size_t n), size_t most,
    const char **p, size_t *n, struct err *e)
{
    size_t want = 1;
    ptrdiff_t k;

    /* Ask for few bytes at a time: a pipe may have no more for now. */
    do {
        const char *end;

        k = unpack_peek(u, want, p, e);
        if (k <= 0 || maybe(*p, (size_t)k) == 0)
            return k < 0 ? -1 : 0;
        end = memchr(*p, '\n', (size_t)k);
        *n = end ? (size_t)(end - *p) : (size_t)k;
        if (end || (size_t)k < want)
            return 1;
        want = (size_t)k + 1 + (size_t)k / 2;
    } while ((size_t)k < most);
    return 0;
}

static int
may_be_object(const char *p, size_t n)
{
    p += utf8_mark(p, n);
    return n < 4 || *p == '{';
}

/* Is the first record of u a conversation?  1 or 0; -1 and *e. */
static int
begins_talk(struct unpack *u, struct err *e)
{
    const char *p;
    size_t n;
    const int k = first_line(u, may_be_object, TALK_MAX, &p, &n, e);

    return k <= 0 ? k : kind_is_conversation(p, n);
}

/* If the input holds documents, add their sources.  A file that cannot be
 * unpacked is accepted: the reader will report the error. */
static int
look_for_documents(struct inputs *in, struct input *i, struct err *e)
{
    struct unpack *u;
    const char *p;
    size_t n;
    int fd, k;

    u = open_content(i->path, &fd, e);
    k = u ? first_line(u, documents_begin, HEAD_MAX, &p, &n, e) : 0;
    if (k > 0 && documents_begin(p, n) <= 0)
        k = 0;
    i->documents = k > 0;
    if (k == 0 && u && in->o.conversations) {
        k = begins_talk(u, e);
        i->conversations = k > 0;
        k = k < 0 ? k : 0;
    }
    if (k > 0 && documents_read_head(p, n, in, &in->run, e) < 0)
        k = err_prefix(e, "%s", input_name(i));
    else if (k > 0 && (in->o.lang_field || in->o.lang_path || in->o.wiki))
        k = err_set(e, EX_USAGE,
            "%s: holds documents of clean, which name their sources: leave out "
            "--lang-field, --lang-path and --wiki",
            input_name(i));
    if (!i->path) {
        i->unpack = u;
        return u ? k : -1;
    }
    close_content(u, fd);
    return k < 0 && i->documents ? -1 : 0;
}

/* Look for documents in all inputs whose names allow them. */
static int
find_documents(struct inputs *in, struct err *e)
{
    int stdin_seen = 0;

    for (size_t i = 0; i < in->n; i++) {
        struct input *x = &in->v[i];
        int packed;
        const enum name_form form =
            x->path ? name_form(x->path, &packed) : NAME_OTHER;

        if (form == NAME_TEXT || form == NAME_XML || form == NAME_ARCHIVE ||
            (x->path && x->size == 0) || (!x->path && stdin_seen))
            continue;
        stdin_seen |= !x->path;
        if (look_for_documents(in, x, e) < 0)
            return -1;
    }
    in->from_clean = in->n == 1 && !in->v[0].path && in->v[0].documents;
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
        append_input(in, NULL, 0);
    for (; *operand; operand++) {
        if (strcmp(*operand, "-") == 0)
            append_input(in, NULL, 0);
        else if (stat(*operand, &st) < 0)
            return err_set(e, EX_SYS, "%s:", *operand);
        else if ((S_ISDIR(st.st_mode) ? add_folder : add_text_file)(in,
                     *operand, e) < 0)
            return -1;
    }
    if (find_documents(in, e) < 0)
        return -1;
    if (!in->o.lang)
        name_sources(in);
    if (in->nsource > 65536)
        return err_set(e, EX_USAGE,
            "more than 65536 sources, each with the name of a file or folder: "
            "--lang NAME makes one of them, --lang a,b,c --lang-path takes "
            "theirs from paths");
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
    for (size_t i = 0; i < in->n; i++) {
        free(in->v[i].path);
        unpack_close(in->v[i].unpack);
    }
    free(in->v);
    release_names(&in->set);
    passed_release(&in->passed);
    memset(in, 0, sizeof *in);
}
