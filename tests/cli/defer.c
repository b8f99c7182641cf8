/* Signals to stop that come while work in hand is finished. */
#include "../lib/tap.h"
#include "base/stop.h"
#include "cli/prog.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Run a test in a process of its own, since a first signal comes once. */
static void
apart(int (*test)(void), const char *what)
{
    int status = -1;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) == 0) {
        prog_catch_stop();
        _exit(test() ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", what);
}

static int
test_at_once(void)
{
    raise(SIGTERM);
    return stop_asked == SIGTERM && prog_stop_deferred() == 0;
}

static int
test_end(void)
{
    int waits;

    prog_defer_stop(1);
    raise(SIGUSR2);
    waits = stop_asked == 0 && prog_stop_deferred() == SIGUSR2;
    prog_defer_stop(0);
    return waits && stop_asked == SIGUSR2 && alarm(0) == 0;
}

static int
test_before(void)
{
    int waits;

    raise(SIGTERM);
    prog_defer_stop(1);
    waits = stop_asked == 0 && prog_stop_deferred() == SIGTERM;
    prog_defer_stop(0);
    return waits && stop_asked == SIGTERM && alarm(0) == 0;
}

static int
test_twice(void)
{
    prog_defer_stop(1);
    raise(SIGTERM);
    raise(SIGTERM); /* as mpirun and timeout(1) send it */
    return stop_asked == 0 && alarm(0) > PROG_DEFER - 2;
}

static int
test_again(void)
{
    prog_defer_stop(1);
    raise(SIGTERM);
    /* prog.c ignores a second signal for 2 seconds (PATIENCE) */
    for (unsigned left = 3; left > 0;)
        left = sleep(left);
    raise(SIGTERM);
    return stop_asked == SIGTERM;
}

static int
test_over(void)
{
    prog_defer_stop(1);
    raise(SIGTERM);
    raise(SIGALRM);
    return stop_asked == SIGTERM;
}

static int
test_none(void)
{
    prog_defer_stop(1);
    prog_defer_stop(0);
    if (stop_asked != 0 || prog_stop_deferred() != 0)
        return 0;
    raise(SIGTERM);
    return stop_asked == SIGTERM;
}

int
main(void)
{
    apart(test_at_once, "a signal sets stop_asked");
    apart(test_end, "a deferred signal sets stop_asked at the end");
    apart(test_before, "a signal before the deferral is deferred");
    apart(test_twice, "a signal that comes twice at once stays deferred");
    apart(test_again,
        "a signal that comes again after seconds sets stop_asked");
    apart(test_over, "a deferred signal sets stop_asked when the time is over");
    apart(test_none, "a signal after the deferral sets stop_asked at once");
    return done_testing();
}
