/* The command that writes runs for other programs. */
#ifndef REPORT_EXPORT_H
#define REPORT_EXPORT_H

/* report export; returns the exit status. */
int export_main(int argc, char **argv);

#endif
