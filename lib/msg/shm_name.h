/*
 * Named segments of shared memory, /dev/shm/retort-UID-NAME: the locks that
 * say whether a segment is in use, and those that nobody uses any more.
 */
#ifndef MSG_SHM_NAME_H
#define MSG_SHM_NAME_H

#include "msg/addr.h"

#include <sys/types.h>

/* Take the lock of an end of the segment at fd: role 0 is the writer's, 1 the
 * reader's.  0, or -1: another process has it. */
int shm_lock(int fd, int role);
/* The process that holds the lock; 0: nobody; -1: one that the system does not
 * name (in another namespace). */
pid_t shm_holder(int fd, int role);

/* The name of a's segment, for shm_open(3); the caller frees it. */
char *shm_name(const struct addr *a);

/*
 * Note the segments of this user that have had no writer for 10 s, but a's,
 * which the start itself removes.  Only the first call in a process looks, and
 * it comes before the process has a segment: closing one frees its locks.
 */
void shm_note_left(const struct addr *a);

#endif
