/* Named segments of shared memory, /dev/shm/retort-UID-NAME: their names, locks
 * that show which of them are in use, and the removal of segments that dead
 * writers left. */
#ifndef MSG_SHM_NAME_H
#define MSG_SHM_NAME_H

#include "msg/addr.h"

#include <sys/types.h>

/* Lock an end of the segment at fd; role: 0 the writer's, 1 the reader's.  0;
 * -1: another process holds the lock. */
int shm_lock(int fd, int role);
/* The process that holds the lock; 0: none; -1: a process without a number here
 * (it is in another namespace). */
pid_t shm_holder(int fd, int role);

/* Name of a's segment for shm_open(3); the caller frees it. */
char *shm_name(const struct addr *a);

/* Print a note of this user's segments that are older than 10 s and have no
 * writer, except the segment of `a`, which ring_create or ring_attach removes.
 * Only the first call in a process does anything.  Call before the process has
 * a segment, because closing any descriptor of a file frees the process's locks
 * on that file. */
void shm_note_left(const struct addr *a);

#endif
