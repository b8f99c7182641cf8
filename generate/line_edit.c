/* Lines edited by libedit; see line_edit.h. */
#include "line_edit.h"

#ifndef HAVE_EDIT

struct line_edit *
line_edit_open(const char *file, size_t most)
{
    (void)file;
    (void)most;
    return NULL;
}

void
line_edit_close(struct line_edit *l)
{
    (void)l;
}

ssize_t
line_edit_read(struct line_edit *l, const char *prompt, int bold, char **line,
    size_t *cap)
{
    (void)l;
    (void)prompt;
    (void)bold;
    (void)line;
    (void)cap;
    return -1;
}

void
line_edit_keep(struct line_edit *l, const char *text)
{
    (void)l;
    (void)text;
}

#else

#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

struct line_edit {
    EditLine *el;
    History *history;
    char *file;         /* NULL: the history is not saved */
    char prompt[40];    /* with the marks of libedit around what is not seen */
    mbstate_t received; /* bytes of a character that is not whole */
    int error;          /* errno of the last read; 0: none */
};

enum {
    UNSEEN = '\1', /* begins and ends codes in a prompt */
    END = '\4'     /* Ctrl-D */
};

static char *
edit_prompt(EditLine *el)
{
    struct line_edit *l;

    el_get(el, EL_CLIENTDATA, &l);
    return l->prompt;
}

/* Read a character for libedit.  Its own function goes on after a signal. */
static int
edit_key(EditLine *el, wchar_t *key)
{
    struct line_edit *l;

    el_get(el, EL_CLIENTDATA, &l);
    for (;;) {
        char byte;
        ssize_t n = -1;
        size_t k;

        errno = EINTR; /* a signal may have come since the prompt was shown */
        if (!stop_asked)
            n = read(STDIN_FILENO, &byte, 1);
        if (n < 0 && errno == EINTR && !stop_asked) {
            el_set(el, EL_REFRESH); /* the program was suspended */
            continue;
        }
        if (n <= 0) {
            l->error = n < 0 ? errno : 0;
            return (int)n;
        }
        if ((k = mbrtowc(key, &byte, 1, &l->received)) == (size_t)-2)
            continue;
        if (k == (size_t)-1) {
            l->received = (mbstate_t){ 0 };
            *key = L'?';
        }
        /* a Ctrl-D that was typed before the line was edited */
        *key = *key == L'\0' ? END : *key;
        return 1;
    }
}

struct line_edit *
line_edit_open(const char *file, size_t most)
{
    struct line_edit *l = xcalloc(1, sizeof *l);
    HistEvent ev;

    /* libedit counts characters by the locale; models read UTF-8 */
    if (setlocale(LC_CTYPE, "") == NULL ||
        strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    l->el = el_init("retort", stdin, stdout, stderr);
    l->history = history_init();
    if (l->el == NULL || l->history == NULL) {
        line_edit_close(l);
        return NULL;
    }
    history(l->history, &ev, H_SETSIZE, (int)most);
    history(l->history, &ev, H_SETUNIQUE, 1);
    el_set(l->el, EL_CLIENTDATA, l);
    el_set(l->el, EL_EDITOR, "emacs");
    el_set(l->el, EL_PROMPT_ESC, edit_prompt, UNSEEN);
    el_set(l->el, EL_HIST, history, l->history);
    el_set(l->el, EL_GETCFN, edit_key);
    el_set(l->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(l->el, NULL); /* ~/.editrc */
    if (file != NULL) {
        l->file = xstrdup(file);
        history(l->history, &ev, H_LOAD, file);
    }
    return l;
}

void
line_edit_close(struct line_edit *l)
{
    if (l == NULL)
        return;
    if (l->el != NULL)
        el_end(l->el);
    if (l->history != NULL)
        history_end(l->history);
    free(l->file);
    free(l);
}

ssize_t
line_edit_read(struct line_edit *l, const char *prompt, int bold, char **line,
    size_t *cap)
{
    const int last = (int)strlen(prompt) - 1;
    const char *text;
    int n = 0;

    /* libedit drops codes at the end, so the last character follows them */
    if (bold)
        snprintf(l->prompt, sizeof l->prompt, "%c\033[1m%c%.*s%c\033[0m%c%s",
            UNSEEN, UNSEEN, last, prompt, UNSEEN, UNSEEN, prompt + last);
    else
        snprintf(l->prompt, sizeof l->prompt, "%s", prompt);
    l->error = 0;
    el_resize(l->el);
    text = el_gets(l->el, &n);
    errno = l->error;
    if (text == NULL || n <= 0)
        return -1;
    if (*cap < (size_t)n + 1)
        *line = xreallocarray(*line, *cap = (size_t)n + 1, 1);
    memcpy(*line, text, (size_t)n);
    (*line)[n] = '\0';
    return n;
}

/* Write the history to its file, whose folder is made if it is missing.  -1 and
 * errno. */
static int
save_history(const struct line_edit *l)
{
    char *dir = xstrdup(l->file), *part;
    const mode_t mask = umask(077);
    HistEvent ev;
    struct err e;
    int r;

    *strrchr(dir, '/') = '\0';
    part = xasprintf("%s.tmp.%ld", l->file, (long)getpid());
    r = io_mkdirs(dir, &e);
    if (r == 0 && history(l->history, &ev, H_SAVE, part) < 0)
        r = -1;
    if (r == 0)
        r = rename(part, l->file);
    if (r < 0)
        unlink(part);
    umask(mask);
    free(part);
    free(dir);
    return r;
}

void
line_edit_keep(struct line_edit *l, const char *text)
{
    HistEvent ev;

    history(l->history, &ev, H_ENTER, text);
    if (l->file == NULL || save_history(l) == 0)
        return;
    warn("%s: the history cannot be saved:", l->file);
    free(l->file);
    l->file = NULL;
}

#endif
