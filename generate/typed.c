/* Lines of standard input; see typed.h. */
#include "typed.h"
#include "base/note.h"
#include "base/state.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/out.h"
#include "line_edit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct typed {
    const char *prompt;     /* NULL: no prompt is printed */
    struct line_edit *edit; /* NULL: without libedit */
    char *line;
    size_t cap;
};

static const char quote[] = "\"\"\"";
enum { QUOTE = 3 }; /* its bytes */

struct typed *
typed_open(const char *prompt)
{
    struct typed *l = xcalloc(1, sizeof *l);
    char *file = state_file("chat_history");

    l->prompt = prompt;
    if (prompt != NULL)
        l->edit = line_edit_open(file, TYPED_KEPT);
    free(file);
    return l;
}

void
typed_close(struct typed *l)
{
    line_edit_close(l->edit);
    free(l->line);
    free(l);
}

/* Read a line with its end.  Returns its bytes, or -1 and errno, which is 0 at
 * the end of the input. */
static ssize_t
read_one(struct typed *l, const char *prompt)
{
    const int bold = prompt != NULL && out_colours(1);

    errno = 0;
    if (l->edit != NULL)
        return line_edit_read(l->edit, prompt, bold, &l->line, &l->cap);
    if (prompt != NULL)
        out_put(prompt, strlen(prompt));
    return getline(&l->line, &l->cap, stdin);
}

/* Remove the newline; returns the number of bytes before it. */
static size_t
cut_end(char *line, size_t n)
{
    while (n > 0 && strchr("\r\n", line[n - 1]) != NULL)
        n--;
    line[n] = '\0';
    return n;
}

/* Does the text, which begins with """, also end with """? */
static int
is_closed(const struct buf *text)
{
    return text->n >= 2 * QUOTE &&
        memcmp(text->p + text->n - QUOTE, quote, QUOTE) == 0;
}

/* Add a line to the text.  Returns 1 if the text goes on with another. */
static int
join_typed(struct typed *l, size_t n, struct buf *text)
{
    if (text->n > 0)
        buf_addc(text, '\n');
    buf_add(text, l->line, n);
    return l->prompt != NULL && text->n >= QUOTE &&
        memcmp(text->p, quote, QUOTE) == 0 && !is_closed(text);
}

/* Remove the """ at both ends.  Returns 1 if the text had them. */
static int
cut_quotes(struct buf *text)
{
    if (text->n < 2 * QUOTE || memcmp(text->p, quote, QUOTE) != 0 ||
        !is_closed(text))
        return 0;
    text->n -= 2 * QUOTE;
    memmove(text->p, text->p + QUOTE, text->n);
    text->n -= text->n > 0 && text->p[text->n - 1] == '\n';
    if (text->n > 0 && text->p[0] == '\n')
        memmove(text->p, text->p + 1, --text->n);
    return 1;
}

/* Was the text dropped by Ctrl-C?  Dies if reading has failed otherwise. */
static int
was_interrupted(struct typed *l)
{
    if (errno == EINTR && stop_asked == SIGINT && l->prompt != NULL) {
        stop_asked = 0;
        clearerr(stdin);
        out_put("\n", 1);
        note("Ctrl-D ends the chat");
        return 1;
    }
    if (errno != 0 && errno != EINTR)
        die(EX_SYS, "<stdin>:");
    return 0;
}

int
typed_read(struct typed *l, struct buf *text, int *several)
{
    text->n = 0;
    for (;;) {
        const ssize_t n =
            read_one(l, text->n == 0 || l->prompt == NULL ? l->prompt : "... ");

        if (n < 0 && was_interrupted(l)) {
            text->n = 0;
            continue;
        }
        if (n < 0) {
            if (l->prompt != NULL)
                out_put("\n", 1);
            return 0;
        }
        if (join_typed(l, cut_end(l->line, (size_t)n), text))
            continue;
        if (strspn(text->p, " \t\n") < text->n) {
            if (l->edit != NULL)
                line_edit_keep(l->edit, text->p);
            *several = l->prompt != NULL && cut_quotes(text);
            text->p[text->n] = '\0';
            return 1;
        }
        text->n = 0;
    }
}
