/*
 * Reward programs: any program that reads a JSON line for each text and writes
 * a line for each, in the same order: a number from -1e30 to 1e30, or null for
 * a text that it cannot judge.  It is started anew for each batch of texts and
 * reads until its input ends, so it needs neither to flush its output nor to
 * keep a state.
 */
#ifndef GEN_REWARD_H
#define GEN_REWARD_H

#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>
#include <stddef.h>

/* Append the line of a text: the members of record, and `completion`, the text
 * [n].  Bytes that are not UTF-8 become U+FFFD. */
void reward_line(struct buf *lines, const json_t *record,
    const char *completion, size_t n);

/*
 * Let `sh -c command` judge n texts: write `lines` to it, and read the rewards
 * [n], NAN for null.  The program inherits standard error.  When it has ended
 * and written n lines, or when this process ends in any way, the rest of the
 * program's process group is killed.  -1 and *e "reward program 'command':
 * why": EX_INPUT: a line is no such number, or the number of lines is not n;
 * EX_SYS: the program cannot be started, fails, or is not done after `seconds`,
 * not counting time in which this process was stopped.
 */
int reward_run(const char *command, const struct buf *lines, size_t n,
    double seconds, double *reward, struct err *e);

#endif
