/*
 * Threads beside the main one.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Start f(arg) as a thread, which the caller joins.  It blocks all signals, so
 * that signals sent to the process interrupt waits in the other threads.
 * SIGBUS is not blocked: a thread gets it when a mapped file cannot be read,
 * and io_guard (io.h) reports that.  0; -1: no thread can be made. */
int thread_start(pthread_t *id, void *(*f)(void *), void *arg);

#endif
