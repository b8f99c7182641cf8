/*
 * Requests that a browser sends on behalf of a foreign web page.  A server that
 * listens at a loopback address, without keys, is for programs of this machine
 * only.  A foreign page can reach it in two ways: by a domain of its own that
 * resolves to 127.0.0.1 (DNS rebinding), which the header Host shows; or by the
 * loopback address, and then the header Origin names the page's own site.
 *
 * Pages of the origins that --origin lists may ask, and read the answers: the
 * headers of CORS (fetch.spec.whatwg.org) tell their browsers so.
 */
#ifndef SERVE_ORIGIN_H
#define SERVE_ORIGIN_H

#include <stddef.h>
#include <sys/socket.h>

/* Is `at` an address that only this machine can reach? */
int origin_is_loopback(const struct sockaddr *at);

/* Does a header Host name this machine: HOST or HOST:PORT, with the host
 * localhost, a loopback address, or `own`? */
int origin_takes_host(const char *host, const char *own);
/* Does a header Origin, such as http://localhost:3000, name this machine in the
 * same sense? */
int origin_takes(const char *origin, const char *own);

/* Is it the text of an origin: SCHEME://HOST or SCHEME://HOST:PORT, without a
 * path? */
int origin_is_one(const char *text);
/* The one of list [n] that is this origin, or NULL. */
const char *origin_listed(const char *origin, char *const *list, size_t n);

#endif
