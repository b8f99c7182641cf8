/* lib/cli: the end of standard output */
#include "base/err.h"
#include "cli/out.h"
#include "../lib/tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit status of out_done() after a write to fd that failed at once, so that
 * nothing is left to flush. */
static int
done_after(int fd)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        if (dup2(fd, STDOUT_FILENO) < 0 ||
            freopen("/dev/null", "w", stderr) == NULL ||
            setvbuf(stdout, NULL, _IONBF, 0) != 0)
            _exit(99);
        printf("lost");
        out_done();
        _exit(EX_OK);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 98;
    return WEXITSTATUS(status);
}

static void
test_done(void)
{
    int end[2], full = open("/dev/full", O_WRONLY);

    ok(pipe(end) == 0 && full >= 0, "a pipe and a full disk");
    close(end[0]);
    ok(done_after(end[1]) == EX_OK, "a reader that left long before");
    ok(done_after(full) == EX_SYS, "a disk that was full long before");
    close(end[1]);
    close(full);
}

int
main(void)
{
    test_done();
    return done_testing();
}
