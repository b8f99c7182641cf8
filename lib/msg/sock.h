/*
 * Sockets for streams: how the two ends of unix:PATH and tcp:HOST:PORT connect.
 *
 * Either end may start first.  An end connects if somebody listens at the
 * address.  Else it listens itself, if HOST is an address of its machine, and
 * at that address only.
 *
 * The ends speak in turn; the connecting end begins.  Each sends a hello of 32
 * bytes: "retort-ipc-3 rd\n" or "... wr\n", then 16 random bytes.  Then each
 * sends a proof of 32 bytes (proof.h) that it knows RETORT_TOKEN; over unix
 * sockets that word is empty.  The listening end hears several connections at a
 * time, and closes the others when one has given its proof.  The messages that
 * follow are neither encrypted nor authenticated.
 */
#ifndef MSG_SOCK_H
#define MSG_SOCK_H

#include "base/err.h"
#include "msg/addr.h"

#include <stddef.h>
#include <stdint.h>

enum sock_role { SOCK_READS, SOCK_WRITES };
/* Connect with the other end.  Returns a descriptor with close-on-exec, or -1.
 * EX_SYS; EX_STOP: stop_asked is set; EX_USAGE: both ends read, or both write;
 * EX_INPUT: a foreign program answers. */
int sock_meet(const struct addr *a, enum sock_role role, struct err *e);

/* Over a unix socket: sock_give sends the descriptor fd and waits until the
 * other end has confirmed it; sock_take receives it; sock_thank confirms it. */
int sock_give(int s, const struct addr *a, int fd, struct err *e);
int sock_take(int s, const struct addr *a, struct err *e);
int sock_thank(int s, const struct addr *a, struct err *e);

#endif
