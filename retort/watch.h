/* Running make(1) in a folder of a run: its output goes to a log, and a line of
 * progress tells which stage it is in. */
#ifndef RETORT_WATCH_H
#define RETORT_WATCH_H

/* In the folder of a run: what make and programs say; the recipe's files. */
#define RUN_LOG "log"
#define RUN_FILES "full"

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
 *   EX_STOP   a signal asked to stop
 *   EX_SYS    else */
void run_make(const struct run *r, const char *target, const char *stages);

#endif
