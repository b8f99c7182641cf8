/*
 * The process at the other end of a stream: whether it is stopped (SIGSTOP,
 * Ctrl-Z, a debugger), so that a wait for it can be explained.  Only what the
 * system shows of processes of this machine and user is known.
 */
#ifndef MSG_PEER_H
#define MSG_PEER_H

#include <sys/types.h>

/* Process pid is stopped: 1, or 0 also when it cannot be seen. */
int peer_is_stopped(pid_t pid);

/* What a wait at a descriptor is for. */
struct peer_watch {
    const char *name; /* of the stream, for messages; not owned */
    const char *whom; /* "reader" or "writer" */
    int fd;           /* a pipe, or else (tcp) only silence is known */
    int told;
};
/* The wait has lasted `seconds`: say once why, if that is known.  Cheap when
 * called every second or so. */
void peer_waits(struct peer_watch *w, double seconds);
/* The wait is over. */
void peer_goes_on(struct peer_watch *w);

/*
 * The same for a wait that cannot be divided, as that of write(2) to a pipe:
 * a thread looks on.  NULL when there can be none; all calls take NULL.
 */
struct peer_guard;
struct peer_guard *peer_guard_new(const char *name, const char *whom, int fd);
void peer_guard_begin(struct peer_guard *g);
void peer_guard_end(struct peer_guard *g);
void peer_guard_free(struct peer_guard *g);

#endif
