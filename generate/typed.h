/*
 * Lines of standard input.  On a terminal they are edited and kept in a history
 * by libedit, if it was there when the program was built.
 */
#ifndef GENERATE_TYPED_H
#define GENERATE_TYPED_H

#include "base/mem.h"

#include <stddef.h>

enum { TYPED_KEPT = 1000 }; /* texts in the file of the history */

struct typed;

/* The history is the file chat_history of base/state.h.
 * prompt: the text before a line, in bold if the terminal and the user's
 * environment allow it; NULL: standard input or output is no terminal. */
struct typed *typed_open(const char *prompt);
/* Saves nothing: a text is saved when it is read. */
void typed_close(struct typed *l);

/*
 * Read a text that is not blank into *text, without its end and with a NUL
 * after it: a line or, on a terminal, the lines from one that begins with """
 * to one that ends with """.
 * 1: *text is set, and *several tells whether it stood between """.
 * 0: the input has ended, or a signal asks to stop.
 * Ctrl-C drops what was typed, and prints a note.  Dies if reading fails.
 */
int typed_read(struct typed *l, struct buf *text, int *several);

#endif
