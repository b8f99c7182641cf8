/* The name of this machine's processor. */
#ifndef RETORT_PROCESSOR_H
#define RETORT_PROCESSOR_H

#include <stddef.h>

/* Copy the value of the first line "KEY: VALUE" of the file to text[n]; "" if
 * there is no such line. */
void processor_key(const char *path, const char *key, char *text, size_t n);

/* Copy the processor's name to text[n]; path: /proc/cpuinfo.  On Arm that file
 * has no name but the numbers of maker and part.  For common processors a table
 * gives the name; for others text has the numbers. */
void processor_name(const char *path, char *text, size_t n);

#endif
