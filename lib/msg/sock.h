/*
 * Sockets for streams: how the two ends of unix:PATH and tcp:HOST:PORT meet.
 *
 * Either end may start first.  It connects if somebody listens there; else it
 * listens itself, if HOST is its machine.  It binds the address that is named,
 * no other.
 *
 * They speak in turn, the end that connects first.  Each says a hello of 32
 * bytes, "retort-ipc-3 rd\n" or "... wr\n" and 16 random ones; then a proof of
 * 32 bytes (proof.h) that it knows RETORT_TOKEN, over unix sockets the empty
 * word.  The listener hears several connections at a time, and closes the
 * others when the first has proved who it is.  Nothing after that is protected.
 */
#ifndef MSG_SOCK_H
#define MSG_SOCK_H

#include "base/err.h"
#include "msg/addr.h"

#include <stddef.h>
#include <stdint.h>

enum sock_role { SOCK_READS, SOCK_WRITES };
/* A connected descriptor with close-on-exec, or -1: EX_SYS, EX_STOP, EX_USAGE
 * (both ends write, or read), EX_INPUT (a foreign program answers). */
int sock_meet(const struct addr *a, enum sock_role role, struct err *e);

/* Over a unix socket: sock_give sends the descriptor fd and waits until the
 * other end has confirmed it; sock_take receives it; sock_thank confirms it. */
int sock_give(int s, const struct addr *a, int fd, struct err *e);
int sock_take(int s, const struct addr *a, struct err *e);
int sock_thank(int s, const struct addr *a, struct err *e);

#endif
