/* Reward programs; see reward.h. */
#include "reward.h"
#include "base/clock.h"
#include "base/number.h"
#include "text/unicode.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MOST = 400 }; /* most bytes of a line of an answer */

extern char **environ;

void
reward_line(struct buf *lines, const json_t *record, const char *completion,
    size_t n)
{
    json_t *all = json_copy((json_t *)(uintptr_t)record);
    struct buf text = { 0 };
    char *line;

    uni_repair(completion, n, &text);
    json_object_set_new(all, "completion",
        json_stringn(text.p != NULL ? text.p : "", text.n));
    line = json_dumps(all, JSON_COMPACT);
    buf_adds(lines, line);
    buf_addc(lines, '\n');
    free(line);
    json_decref(all);
    buf_release(&text);
}

/* A running program, its input and its answer. */
struct judging {
    pid_t pid;    /* leader of a process group */
    int to, from; /* pipes; -1: closed */
    const struct buf *lines;
    size_t given;      /* bytes of `lines` that have been written */
    struct buf answer; /* bytes read after the last newline */
    double *reward;    /* [n] */
    size_t n, got;
};

/* ---- starting and ending ---- */

/* Start `sh -c command` with pipes in[0] as standard input and out[1] as
 * standard output, in a process group of its own.  Returns 0 or an errno. */
static int
spawn_program(pid_t *pid, const char *command, const int in[2],
    const int out[2])
{
    char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
        (char *)(uintptr_t)command, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t set;
    int r;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how,
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&how, &set);
    sigaddset(&set, SIGPIPE);
    posix_spawnattr_setsigdefault(&how, &set);
    r = posix_spawnp(pid, "sh", &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

static void
close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int
open_pipe(int fd[2])
{
    if (pipe(fd) < 0)
        return -1;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int
start_judging(struct judging *j, const char *command, struct err *e)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, r;

    if (open_pipe(in) < 0 || open_pipe(out) < 0)
        r = errno;
    else
        r = spawn_program(&j->pid, command, in, out);
    close_end(&in[0]);
    close_end(&out[1]);
    if (r != 0) {
        close_end(&in[1]);
        close_end(&out[0]);
        errno = r;
        return err_set(e, EX_SYS, "cannot be started:");
    }
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    j->to = in[1];
    j->from = out[0];
    return 0;
}

/* Wait until the program ends, at most until `deadline`.  Returns its status as
 * waitpid stores it; -1: the program has not ended. */
static int
await_program(const struct judging *j, double deadline)
{
    const struct timespec pause = { 0, 2000000 };
    int status = 0;

    while (waitpid(j->pid, &status, WNOHANG) == 0) {
        if (clock_now() >= deadline)
            return -1;
        nanosleep(&pause, NULL);
    }
    return status;
}

static void
kill_program(struct judging *j)
{
    kill(-j->pid, SIGKILL);
    waitpid(j->pid, NULL, 0);
}

/* ---- lines ---- */

static int
take_reward(struct judging *j, char *line, struct err *e)
{
    size_t n = strlen(line);

    while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
        line[--n] = '\0';
    line += strspn(line, " \t");
    if (j->got == j->n)
        return err_set(e, EX_INPUT,
            "writes more lines than the %zu that it was given: write one for "
            "each text",
            j->n);
    j->reward[j->got] = NAN;
    if (strcmp(line, "null") != 0 &&
        number_real(line, -1e300, 1e300, &j->reward[j->got]) < 0)
        return err_set(e, EX_INPUT,
            "line %zu: '%.40s' is neither a number nor null", j->got + 1, line);
    j->got++;
    return 0;
}

/* Read the numbers on complete lines; all: also on a last line without
 * newline. */
static int
take_rewards(struct judging *j, int all, struct err *e)
{
    struct buf *b = &j->answer;
    size_t at = 0;
    int r = 0;

    buf_addc(b, '\0'); /* ends a line that is not complete */
    b->n--;
    while (r == 0 && at < b->n) {
        char *line = b->p + at, *end = memchr(line, '\n', b->n - at);

        if (end == NULL && (!all || b->n - at > LINE_MOST))
            break;
        if (end != NULL)
            *end = '\0';
        r = take_reward(j, line, e);
        at = end != NULL ? (size_t)(end - b->p) + 1 : b->n;
    }
    memmove(b->p, b->p + at, b->n - at);
    b->n -= at;
    if (r == 0 && b->n > LINE_MOST)
        r = err_set(e, EX_INPUT, "line %zu is too long for a number",
            j->got + 1);
    return r;
}

/* Write more lines to the program; close its input after the last one. */
static void
give_lines(struct judging *j)
{
    const ptrdiff_t k =
        write(j->to, j->lines->p + j->given, j->lines->n - j->given);

    if (k > 0)
        j->given += (size_t)k;
    /* no error: a program that stops reading may have answered already */
    if (j->given == j->lines->n || (k < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&j->to);
}

static int
hear_answer(struct judging *j, struct err *e)
{
    char block[4096];
    const ptrdiff_t k = read(j->from, block, sizeof block);

    if (k < 0)
        return errno == EINTR ? 0 : err_set(e, EX_SYS, "cannot be read:");
    buf_add(&j->answer, block, (size_t)k);
    if (k == 0)
        close_end(&j->from);
    return take_rewards(j, k == 0, e);
}

/* ---- a batch ---- */

static int
talk_to(struct judging *j, double deadline, struct err *e)
{
    while (j->from >= 0) {
        struct pollfd p[] = { { j->from, POLLIN, 0 }, { j->to, POLLOUT, 0 } };
        const double left = deadline - clock_now();

        if (!(left > 0.0))
            return 0;
        if (poll(p, 2, left < 1.0 ? (int)(left * 1e3) + 1 : 1000) < 0 &&
            errno != EINTR)
            return err_set(e, EX_SYS, "poll:");
        if (j->to >= 0 && p[1].revents != 0)
            give_lines(j);
        if (p[0].revents != 0 && hear_answer(j, e) < 0)
            return -1;
    }
    return 0;
}

/* Judge the end of a program.  status: as await_program returns it. */
static int
check_end(const struct judging *j, int status, double seconds, struct err *e)
{
    if (status == -1)
        return err_set(e, EX_SYS,
            "has written %zu of %zu lines after %g s and was killed: give it "
            "more time by --reward-time",
            j->got, j->n, seconds);
    if (WIFSIGNALED(status))
        return err_set(e, EX_SYS, "died of signal %d after %zu of %zu lines",
            WTERMSIG(status), j->got, j->n);
    if (WEXITSTATUS(status) != 0)
        return err_set(e, EX_SYS,
            "ended with status %d after %zu of %zu lines: its own messages say "
            "why",
            WEXITSTATUS(status), j->got, j->n);
    if (j->got < j->n)
        return err_set(e, EX_INPUT,
            "ended after %zu of %zu lines: it must write one for each text",
            j->got, j->n);
    return 0;
}

int
reward_run(const char *command, const struct buf *lines, size_t n,
    double seconds, double *reward, struct err *e)
{
    const double deadline = clock_now() + seconds;
    struct judging j = { .lines = lines, .reward = reward, .n = n };
    int status = -1, r;

    if ((r = start_judging(&j, command, e)) == 0) {
        r = talk_to(&j, deadline, e);
        close_end(&j.to);
        if (r == 0 && j.from < 0)
            status = await_program(&j, deadline);
        close_end(&j.from);
        if (status == -1)
            kill_program(&j);
        if (r == 0)
            r = check_end(&j, status, seconds, e);
    }
    buf_release(&j.answer);
    return r < 0 ? err_prefix(e, "reward program '%.100s'", command) : 0;
}
