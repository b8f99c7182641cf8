/*
 * Requests that a browser sends for somebody else's page.  A server that
 * listens at a loopback address, without keys, is for programs of this machine.
 * A page reaches it by a name of its own that leads to 127.0.0.1 (DNS
 * rebinding), which the header Host shows; or by its address, and then the
 * header Origin shows where the page is from.
 */
#ifndef SERVE_ORIGIN_H
#define SERVE_ORIGIN_H

#include <sys/socket.h>

/* Is it an address that only this machine can reach? */
int origin_is_loopback(const struct sockaddr *at);

/* Does a header Host name this machine: HOST or HOST:PORT, with the host
 * localhost, a loopback address, or `own`? */
int origin_takes_host(const char *host, const char *own);
/* Does a header Origin, such as http://localhost:3000, name it? */
int origin_takes(const char *origin, const char *own);

#endif
