/* A line that is edited on the terminal, and a history, by libedit. */
#ifndef GENERATE_LINE_EDIT_H
#define GENERATE_LINE_EDIT_H

#include <stddef.h>
#include <sys/types.h>

struct line_edit;

/* Begin editing, with the last `most` texts of the history in `file`.  file
 * NULL: no history is read or kept.  Returns NULL if retort was built without
 * libedit. */
struct line_edit *line_edit_open(const char *file, size_t most);
void line_edit_close(struct line_edit *l);
/* Read a line with its end, as getline does.  -1 and errno: EINTR if a signal
 * came; 0: the input has ended. */
ssize_t line_edit_read(struct line_edit *l, const char *prompt, int bold,
    char **line, size_t *cap);
/* Add a text to the history, and save it.  Warns once if that fails. */
void line_edit_keep(struct line_edit *l, const char *text);

#endif
