/* Runs make(1) for the folder of one run.  make's output goes to a log; on the
 * terminal a line of progress shows the stage and the time left. */
#ifndef RETORT_WATCH_H
#define RETORT_WATCH_H

/* The log of make and the programs, in the folder of a run. */
#define RUN_LOG "log"

struct run {
    const char *out; /* the folder */
    char **words;    /* the command line of make, without a target */
    char *log;       /* path */
    int fd;          /* of the log */
};

/* Make the folder `out`, open its log, and refuse to go on (die) if another
 * process works in the folder.  out and words must outlive r. */
void run_begin(struct run *r, const char *out, char **words);

/* Run make for this target.  stages: the file in the folder that
 * scripts/distil-plan writes, or NULL if there is none yet.  If make fails, the
 * end of the log is printed and the program exits:
 *   EX_USAGE  the target is "settings", which refuses other arguments
 *   EX_INPUT  the target is "checked", which refuses text
 *   EX_STOP   a signal asked to stop
 *   EX_SYS    else
 * If the reader of standard output has left, make is stopped, and the program
 * exits with EX_OK. */
void run_make(const struct run *r, const char *target, const char *stages);

#endif
