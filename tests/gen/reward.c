/* Reward programs: their numbers, in order; programs that are wrong, dead or
 * too slow are named. */
#include "../lib/tap.h"
#include "gen/reward.h"
#include "base/clock.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { N = 5 };

static struct buf
five_lines(void)
{
    json_t *record = json_pack("{s:s, s:i}", "prompt", "2+2=", "answer", 4);
    struct buf lines = { 0 };
    char text[20];

    for (size_t i = 0; i < N; i++) {
        snprintf(text, sizeof text, "%zu", i);
        reward_line(&lines, record, text, strlen(text));
    }
    json_decref(record);
    return lines;
}

static void
test_line(void)
{
    json_t *record = json_pack("{s:s, s:i}", "prompt", "a\"b", "answer", 4);
    struct buf lines = { 0 };

    reward_line(&lines, record, "x\n\xff", 3);
    buf_addc(&lines, '\0');
    ok(strcmp(lines.p,
           "{\"prompt\":\"a\\\"b\",\"answer\":4,\"completion\":"
           "\"x\\n\xef\xbf\xbd\"}\n") == 0,
        "a line has the record and the text, repaired");
    buf_release(&lines);
    json_decref(record);
}

static void
test_numbers(const struct buf *lines)
{
    double got[N];
    struct err e;
    int good = 1;

    ok(reward_run("awk '{ print NR / 4 }'", lines, N, 20, got, &e) == 0,
        "a program that does not flush its output judges a batch");
    for (size_t i = 0; i < N; i++)
        good &= got[i] == (double)(i + 1) / 4.0;
    ok(good, "rewards come in the order of the texts");
    ok(reward_run("awk 'NR == 2 { print \"null\"; next } "
                  "{ printf \" -1e-3 \\r\\n\" }'",
           lines, N, 20, got, &e) == 0 &&
            isnan(got[1]) && got[0] == -1e-3 && got[4] == -1e-3,
        "null is no reward, and blanks around a number do not count");
    ok(reward_run("printf '1\\n2\\n3\\n4\\n5'", lines, N, 20, got, &e) == 0 &&
            got[4] == 5.0,
        "a program may leave its input unread, and its last newline out");
}

static void
test_many(void)
{
    static double got[20000];
    json_t *record = json_pack("{s:s}", "prompt", "a prompt of some length");
    struct buf lines = { 0 };
    struct err e;

    for (size_t i = 0; i < 20000; i++)
        reward_line(&lines, record, "a text of some length", 21);
    ok(reward_run("sed 's/.*/0.123456789/'", &lines, 20000, 60, got, &e) == 0 &&
            got[19999] == 0.123456789,
        "a megabyte of texts and answers does not block a pipe");
    buf_release(&lines);
    json_decref(record);
}

/* A program that must be refused with that code and those words. */
static void
test_bad(const struct buf *lines, const char *command, int code,
    const char *words, const char *behaviour)
{
    double got[N];
    struct err e = { 0, "" };
    const int r = reward_run(command, lines, N, 20, got, &e);

    if (!ok(r < 0 && e.code == code && strstr(e.msg, words) != NULL &&
                strstr(e.msg, "reward program '") == e.msg,
            "%s", behaviour))
        printf("# %d: %s\n", e.code, e.msg);
}

static void
test_slow(const struct buf *lines)
{
    const double start = clock_now();
    double got[N];
    struct err e = { 0, "" };

    ok(reward_run("echo 1; sleep 60", lines, N, 0.3, got, &e) < 0 &&
            e.code == EX_SYS && strstr(e.msg, "1 of 5") != NULL &&
            strstr(e.msg, "killed") != NULL,
        "a program that hangs is killed and named");
    ok(clock_now() - start < 20.0, "a program that hangs ends at its limit");
    ok(reward_run("exec >&-; sleep 60", lines, N, 0.3, got, &e) < 0 &&
            strstr(e.msg, "killed") != NULL,
        "a program that closes its output and stays is killed");
}

/* Run a program that ends with status 0 if the command judges all lines in
 * `seconds`. */
static pid_t
judge_apart(const struct buf *lines, const char *command, double seconds)
{
    const pid_t pid = fork();
    double got[N];
    struct err e;

    if (pid == 0)
        _exit(reward_run(command, lines, N, seconds, got, &e) < 0);
    return pid;
}

static void
nap(double seconds)
{
    const struct timespec t = { (time_t)seconds,
        (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

static void
test_stopped(const struct buf *lines)
{
    const pid_t pid = judge_apart(lines, "sleep 1; sed 's/.*/1/'", 3);
    int status = -1;

    nap(0.3);
    kill(pid, SIGSTOP);
    nap(3.5);
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    ok(status == 0, "time in which the run is stopped does not count");
}

/* Do all processes that hold the other end of a pipe end? */
static int
all_end(int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };
    char c;

    return poll(&p, 1, 20000) == 1 && read(fd, &c, 1) == 0;
}

/* Processes that a program leaves behind hold its output and a pipe of this
 * test. */
static void
test_children(const struct buf *lines)
{
    static const char leaves[] =
        "sleep 300 & (sleep 300 & sleep 300) & sed 's/.*/2/'";
    const double start = clock_now();
    double got[N];
    struct err e;
    int end[2], status;
    pid_t pid;

    ok(pipe(end) == 0, "a pipe is made");
    ok(reward_run(leaves, lines, N, 60, got, &e) == 0 && got[4] == 2.0 &&
            clock_now() - start < 30.0,
        "a program with children that hold its output ends by itself");
    ok(reward_run("sleep 300 & printf '1\\n2\\n3\\n4\\n5'", lines, N, 60, got,
           &e) == 0 &&
            got[4] == 5.0,
        "its last newline may be missing then");
    ok(reward_run("(sleep 1; yes 3 | head -n 5) &", lines, N, 60, got, &e) ==
                0 &&
            got[4] == 3.0,
        "lines that a child writes are waited for");
    ok(reward_run("sleep 300 & echo 1; exit 7", lines, N, 60, got, &e) < 0 &&
            strstr(e.msg, "status 7 after 1 of 5") != NULL,
        "a program with children that fails is named at once");
    close(end[1]);
    ok(all_end(end[0]), "the children of a program end with it");
    close(end[0]);

    ok(pipe(end) == 0, "a pipe is made again");
    pid = judge_apart(lines, "sleep 300 & (trap '' TERM; sleep 300); :", 300);
    close(end[1]);
    nap(0.5);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    ok(all_end(end[0]),
        "a program ends with its children when the run is "
        "killed");
    close(end[0]);
}

int
main(void)
{
    struct buf lines = five_lines();

    signal(SIGPIPE, SIG_IGN); /* as opt_parse does */
    test_line();
    test_numbers(&lines);
    test_many();
    test_bad(&lines, "awk '{ print \"good\" }'", EX_INPUT, "line 1: 'good'",
        "a line that is no number is named");
    test_bad(&lines, "head -n 3 | sed 's/.*/1/'", EX_INPUT, "3 of 5",
        "a program that writes too few lines is named");
    test_bad(&lines, "sed 's/.*/1/;p'", EX_INPUT, "more lines",
        "a program that writes too many lines is named");
    test_bad(&lines, "echo 1; exit 7", EX_SYS, "status 7 after 1 of 5",
        "a program that fails is named with its status");
    test_bad(&lines, "kill -9 $$", EX_SYS, "signal 9",
        "a program that dies of a signal is named with it");
    test_bad(&lines, "no-such-judge 2>/dev/null", EX_SYS, "status 127",
        "a program that is not there is named");
    test_bad(&lines, "yes | tr -d '\\n'", EX_INPUT, "too long",
        "a line without an end is not collected");
    test_bad(&lines, "echo 1; echo 1e155", EX_INPUT, "line 2: '1e155'",
        "a number whose square is none is named");
    test_slow(&lines);
    test_stopped(&lines);
    test_children(&lines);
    buf_release(&lines);
    return done_testing();
}
