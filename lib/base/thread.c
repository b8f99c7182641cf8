/* Threads: see thread.h */
#include "base/thread.h"

#include <signal.h>

int
thread_start(pthread_t *id, void *(*f)(void *), void *arg)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    r = pthread_create(id, NULL, f, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r == 0 ? 0 : -1;
}
