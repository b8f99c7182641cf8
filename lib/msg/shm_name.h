/*
 * Named segments of shared memory, /dev/shm/retort-UID-NAME: their names, the
 * locks that show which are in use, and segments left unused.
 */
#ifndef MSG_SHM_NAME_H
#define MSG_SHM_NAME_H

#include "msg/addr.h"

#include <sys/types.h>

/* Lock an end of the segment at fd; role: 0 the writer's, 1 the reader's.  0;
 * -1: another process holds the lock. */
int shm_lock(int fd, int role);
/* Process that holds the lock; 0: none; -1: one that the system does not name
 * (in another namespace). */
pid_t shm_holder(int fd, int role);

/* Name of a's segment for shm_open(3); the caller frees it. */
char *shm_name(const struct addr *a);

/*
 * Note this user's segments that have had no writer for 10 s, except a's, which
 * starting removes.  Only the first call in a process looks, and it must come
 * before the process has a segment: closing one frees its locks.
 */
void shm_note_left(const struct addr *a);

#endif
