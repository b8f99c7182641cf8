/*
 * Threads beside the main one.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Start f(arg) as a thread that the caller joins.  It blocks all signals, so
 * that those sent to the process interrupt the waits of the other threads; all
 * but SIGBUS, which reading a mapped file raises in the thread itself and which
 * io_guard (io.h) reports.  0, or -1: no thread can be made. */
int thread_start(pthread_t *id, void *(*f)(void *), void *arg);

#endif
