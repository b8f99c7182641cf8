/* Lines of generate run; see output.h. */
#include "output.h"
#include "made_with.h"
#include "base/io.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
    const char *path;
    const json_t *made;
    int fd;      /* of the file */
    FILE *had;   /* lines of earlier runs; NULL: all were read */
    off_t whole; /* bytes of the complete lines read so far */
    size_t lines;
    char *line; /* the line read last */
    size_t cap;
    json_t *next;    /* that line; NULL: it is no JSON */
    int waits;       /* 1: the caller has not yet named the line's text */
    struct buf last; /* the last complete line, without newline */
    int unproven;    /* 1: there are lines, but no FILE.options.json */
};

struct output *
output_open(const char *path, const json_t *made)
{
    struct output *o = xcalloc(1, sizeof *o);
    struct stat st;

    o->path = path;
    o->made = made;
    if (path == NULL)
        return o;
    /* opening a FIFO might wait for ever */
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        die(EX_USAGE, "%s: is no regular file: give a file to --resume", path);
    if ((o->fd = io_openat(AT_FDCWD, path, O_RDWR | O_CREAT)) < 0)
        die(EX_SYS, "%s:", path);
    if (io_flock(o->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        die(EX_SYS, "%s: another process writes there", path);
    if ((o->had = fdopen(o->fd, "r+")) == NULL)
        die(EX_SYS, "%s:", path);
    return o;
}

/* Does the object j have the members of `known`? */
static int
is_line_of(const json_t *j, const json_t *known)
{
    int same = json_is_object(j);
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)known, key, v)
    {
        same = same && json_equal(json_object_get(j, key), v);
    }
    return same;
}

/* Read the next complete line, unless o->waits.  0: there is none. */
static int
read_line(struct output *o)
{
    ssize_t n;

    if (o->waits)
        return 1;
    n = getline(&o->line, &o->cap, o->had);
    if (n <= 0 || o->line[n - 1] != '\n')
        return 0;
    o->lines++;
    o->whole += n;
    buf_clear(&o->last);
    buf_add(&o->last, o->line, (size_t)n - 1);
    json_decref(o->next);
    o->next = json_loadb(o->line, (size_t)n, JSON_ALLOW_NUL, NULL);
    o->waits = 1;
    return 1;
}

/* When all complete lines have been read: compare or write FILE.options.json,
 * cut off an incomplete line, and let the next line be written there. */
static void
finish_reading(struct output *o)
{
    if (o->lines == 0)
        made_with_write(o->made, o->path);
    else
        o->unproven = !made_with_compare(o->made, o->path);
    if (ferror(o->had) || ftruncate(o->fd, o->whole) != 0 ||
        lseek(o->fd, o->whole, SEEK_SET) < 0)
        die(EX_SYS, "%s:", o->path);
    o->had = NULL;
}

enum output_answer
output_look(struct output *o, const json_t *known, int gaps)
{
    if (o->had == NULL)
        return OUTPUT_END;
    if (read_line(o)) {
        if (is_line_of(o->next, known)) {
            o->waits = 0;
            return OUTPUT_LINE;
        }
        if (gaps)
            return OUTPUT_OTHER;
        die(EX_USAGE,
            "%s: line %zu: has another prompt or seed: repeat the options of "
            "the first run, or give another file",
            o->path, o->lines);
    }
    finish_reading(o);
    return OUTPUT_END;
}

const char *
output_next(struct output *o)
{
    if (o->had == NULL)
        return NULL;
    if (read_line(o)) {
        o->waits = 0;
        return o->last.p;
    }
    finish_reading(o);
    return NULL;
}

/* Die if the file has lines of further texts. */
static void
refuse_more(struct output *o)
{
    if (o->had != NULL && (o->waits || getline(&o->line, &o->cap, o->had) > 0))
        die(EX_USAGE,
            "%s: line %zu: belongs to none of the prompts: repeat the options "
            "of the first run, or give another file",
            o->path, o->lines + !o->waits);
}

const char *
output_unproven(struct output *o)
{
    refuse_more(o);
    if (o->had != NULL && o->lines > 0)
        o->unproven = !made_with_compare(o->made, o->path);
    return o->unproven ? o->last.p : NULL;
}

void
output_prove(struct output *o, const char *line)
{
    if (strcmp(line, o->last.p) != 0)
        die(EX_USAGE,
            "%s: line %zu: was made with another model or other options, "
            "which would give another text; repeat those of the first run, or "
            "give another file",
            o->path, o->lines);
    made_with_write(o->made, o->path);
    o->unproven = 0;
}

void
output_line(struct output *o, const char *line, size_t n)
{
    if (o->path == NULL)
        out_put(line, n);
    else if (io_write(o->fd, line, n) < 0)
        die(EX_SYS, "%s:", o->path);
}

void
output_close(struct output *o)
{
    refuse_more(o);
    if (o->path != NULL && (io_fsync(o->fd) < 0 || close(o->fd) != 0))
        die(EX_SYS, "%s:", o->path);
    buf_release(&o->last);
    json_decref(o->next);
    free(o->line);
    free(o);
}
