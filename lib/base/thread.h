/*
 * Threads beside the main one.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Start f(arg) as a thread that the caller joins.  Signals sent to the process
 * stay with the threads there are, whose waits they interrupt: the new one
 * blocks all but SIGBUS, which its own reading of a mapped file can raise and
 * which io_guard (io.h) has a word for.  0, or -1: no thread can be made. */
int thread_start(pthread_t *id, void *(*f)(void *), void *arg);

#endif
