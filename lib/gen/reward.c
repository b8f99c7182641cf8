/* Reward programs; see reward.h. */
#include "reward.h"
#include "base/deadline.h"
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
#include <unistd.h>

enum { LINE_MOST = 400 }; /* most bytes of a line of an answer */
#define MOST 1e30         /* sums of squares of weighted rewards stay finite */

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
    pid_t pid;     /* leader of a process group */
    pid_t watcher; /* a member of that group, which kills it when this process
                     * has ended */
    int to, from;  /* pipes; -1: closed */
    int life;      /* pipe to the watcher; nothing is written to it */
    int ended;     /* 1: the program has ended, with `status` of waitpid */
    int status;
    struct deadline time;
    const struct buf *lines;
    size_t given;      /* bytes of `lines` that have been written */
    struct buf answer; /* bytes read after the last newline */
    double *reward;    /* [n] */
    size_t n, got;
};

/* ---- starting and ending ---- */

/* The watcher's script.  Its input ends when this process does, even by
 * SIGKILL.  It ignores signals that the program sends to the process group. */
static const char watch[] =
    "trap '' HUP INT QUIT TERM; read -r none; kill -KILL 0";

/* Start `sh -c script` in a process group (0: one of its own) with `in` as
 * standard input, and `out` as standard output; out -1: what it writes, to
 * standard error too, is dropped.  Returns 0 or an errno. */
static int
spawn_shell(pid_t *pid, const char *script, pid_t group, int in, int out)
{
    char *const argv[] = { (char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
        (char *)(uintptr_t)script, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t set;
    int r;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, 1);
    for (int fd = 1; out < 0 && fd < 3; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how,
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, group);
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

/* Kill the program, the watcher, and all that is left of their process
 * group, and close the pipes. */
static void
end_judging(struct judging *j)
{
    close_end(&j->to);
    close_end(&j->from);
    if (j->pid > 0) {
        /* while the watcher lives, no other group has this number */
        kill(-j->pid, SIGKILL);
        while (!j->ended && waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    while (j->watcher > 0 && waitpid(j->watcher, NULL, 0) < 0 && errno == EINTR)
        ;
    close_end(&j->life);
}

static int
start_judging(struct judging *j, const char *command, struct err *e)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, life[2] = { -1, -1 }, r;

    if (open_pipe(in) < 0 || open_pipe(out) < 0 || open_pipe(life) < 0)
        r = errno;
    else if ((r = spawn_shell(&j->pid, command, 0, in[0], out[1])) != 0)
        j->pid = 0;
    else if ((r = spawn_shell(&j->watcher, watch, j->pid, life[0], -1)) != 0)
        j->watcher = 0;
    close_end(&in[0]);
    close_end(&out[1]);
    close_end(&life[0]);
    j->to = in[1];
    j->from = out[0];
    j->life = life[1];
    if (r != 0) {
        errno = r;
        return err_set(e, EX_SYS, "cannot be started:");
    }
    fcntl(j->to, F_SETFL, O_NONBLOCK);
    fcntl(j->from, F_SETFL, O_NONBLOCK);
    return 0;
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
        number_real(line, -MOST, MOST, &j->reward[j->got]) < 0)
        return err_set(e, EX_INPUT,
            "line %zu: '%.40s' is neither null nor a number from -1e30 to 1e30",
            j->got + 1, line);
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
    buf_drop(b, at);
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
        return errno == EINTR || errno == EAGAIN
            ? 0
            : err_set(e, EX_SYS, "cannot be read:");
    buf_add(&j->answer, block, (size_t)k);
    if (k == 0)
        close_end(&j->from);
    return take_rewards(j, k == 0, e);
}

/* ---- a batch ---- */

/* Call it when the program has ended, its pipe is empty, and a child still
 * holds the output open.  Has the program failed, or written all rewards? */
static int
is_answered(const struct judging *j)
{
    return j->status != 0 || j->got + (j->answer.n > 0) >= j->n;
}

/* Exchange lines until the program has ended and its answer is complete, or its
 * time is over. */
static int
talk_to(struct judging *j, struct err *e)
{
    while (j->from >= 0 || !j->ended) {
        struct pollfd p[] = { { j->from, POLLIN, 0 }, { j->to, POLLOUT, 0 } };

        if (!(deadline_left(&j->time) > 0.0))
            return 0;
        /* first: once the program has ended, all its output is in the pipe */
        if (!j->ended)
            j->ended = waitpid(j->pid, &j->status, WNOHANG) == j->pid;
        if (poll(p, 2, j->from < 0 || j->ended ? 2 : 20) < 0) {
            if (errno == EINTR)
                continue;
            return err_set(e, EX_SYS, "poll:");
        }
        if (j->to >= 0 && p[1].revents != 0)
            give_lines(j);
        if (p[0].revents != 0 && hear_answer(j, e) < 0)
            return -1;
        if (p[0].revents == 0 && j->ended && is_answered(j))
            return take_rewards(j, 1, e);
    }
    return 0;
}

/* Check that the program ended in time, with status 0, after n lines. */
static int
check_end(const struct judging *j, double seconds, struct err *e)
{
    const int status = j->status;

    if (!j->ended)
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
    struct judging j = { .lines = lines, .reward = reward, .n = n };
    int r;

    deadline_begin(&j.time, seconds);
    if ((r = start_judging(&j, command, e)) == 0 && (r = talk_to(&j, e)) == 0)
        r = check_end(&j, seconds, e);
    end_judging(&j);
    buf_release(&j.answer);
    return r < 0 ? err_prefix(e, "reward program '%.100s'", command) : 0;
}
