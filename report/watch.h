/* The command that shows runs in a terminal while they train. */
#ifndef REPORT_WATCH_H
#define REPORT_WATCH_H

/* report watch; returns the exit status. */
int watch_main(int argc, char **argv);

#endif
