/* lib/base: files */
#include "base/err.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/thread.h"
#include "../lib/tap.h"

#include <fcntl.h>
#include <signal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does the file hold exactly text? */
static int
holds(const char *path, const char *text)
{
    struct err e;
    char *p = NULL;
    size_t n = 0;
    int r;

    if (io_slurp(path, 1 << 20, &p, &n, &e) < 0)
        return 0;
    r = n == strlen(text) && memcmp(p, text, n) == 0 && p[n] == '\0';
    free(p);
    return r;
}

static void
test_atomic(void)
{
    struct io_out o;
    struct stat st;
    struct err e;
    char *tmp, b[1];
    int fd = -1;

    ok(io_put_file("a", "one", 3, &e) == 0 && holds("a", "one"),
        "io_put_file replaces a file");
    ok(io_out_begin(&o, "a", &e) == 0 && io_out_write(&o, "two!", 4, &e) == 0 &&
            o.n == 4,
        "io_out_write counts the bytes");
    tmp = xstrdup(o.tmp);
    ok(io_exists(tmp) && holds("a", "one"), "the old file stands meanwhile");
    ok(io_out_commit(&o, &e) == 0 && holds("a", "two!") && !io_exists(tmp),
        "io_out_commit replaces the old file");
    free(tmp);
    ok(io_out_begin(&o, "a", &e) == 0 && io_out_write(&o, "x", 1, &e) == 0,
        "a file is begun to be dropped");
    tmp = xstrdup(o.tmp);
    io_out_abort(&o);
    io_out_abort(&o);
    ok(holds("a", "two!") && !io_exists(tmp),
        "io_out_abort leaves the old file, even twice");
    free(tmp);
    ok(io_out_begin(&o, "no/such/file", &e) < 0 && e.code == EX_SYS &&
            strstr(e.msg, "no/such/file") != NULL,
        "a file in no folder is refused: %s", e.msg);
    ok(io_out_begin(&o, ".", &e) < 0, "a folder is not replaced: %s", e.msg);
    ok(symlink("a", "link") == 0 && io_put_file("link", "3", 1, &e) == 0 &&
            holds("a", "3"),
        "the file behind a link is replaced");
    /* A pipe stands for a device, which a failing test would destroy. */
    ok(mkfifo("pipe", 0666) == 0 &&
            (fd = open("pipe", O_RDONLY | O_NONBLOCK)) >= 0 &&
            io_out_begin(&o, "pipe", &e) == 0 && o.tmp == NULL,
        "a fifo is opened, not replaced");
    ok(io_out_write(&o, "x", 1, &e) == 0 && io_read(fd, b, 1) == 1 &&
            b[0] == 'x',
        "a fifo is written to");
    close(fd);
    ok(io_out_write(&o, "x", 1, &e) < 0 && strstr(e.msg, "pipe") != NULL,
        "a fifo whose reader has left is an error: %s", e.msg);
    io_out_abort(&o);
    ok(stat("pipe", &st) == 0 && S_ISFIFO(st.st_mode), "the fifo stays a fifo");
}

static void
test_read(void)
{
    struct io_map m;
    struct err e;
    char *p = NULL;
    size_t n = 0;
    char *big = xcalloc(300000, 1);

    memset(big, 'x', 300000);
    io_put_file("empty", "", 0, &e);
    io_put_file("big", big, 300000, &e);
    ok(io_map(&m, "big", &e) == 0 && m.n == 300000 &&
            memcmp(m.p, big, m.n) == 0,
        "io_map gives the bytes of a file");
    io_unmap(&m);
    io_unmap(&m);
    ok(io_map(&m, "empty", &e) == 0 && m.n == 0 && m.p != NULL,
        "an empty file maps");
    io_unmap(&m);
    ok(io_map(&m, "none", &e) < 0 && e.code == EX_SYS,
        "a missing file is an error: %s", e.msg);
    ok(io_map(&m, ".", &e) < 0, "a folder is not mapped: %s", e.msg);
    ok(io_slurp("big", 300000, &p, &n, &e) == 0 && n == 300000 &&
            memcmp(p, big, n) == 0,
        "io_slurp reads a file of exactly max bytes");
    free(p);
    ok(io_slurp("big", 299999, &p, &n, &e) < 0 && e.code == EX_INPUT,
        "a file of one byte more is refused: %s", e.msg);
    ok(io_slurp("empty", 0, &p, &n, &e) == 0 && n == 0 && p[0] == '\0',
        "an empty file is an empty text");
    free(p);
    ok(io_slurp("big", 0, &p, &n, &e) < 0, "a max of 0 refuses any byte");
    ok(io_slurp(".", 9, &p, &n, &e) < 0 && e.code == EX_SYS,
        "a folder is not read: %s", e.msg);
    free(big);
}

static void
test_dirs(void)
{
    struct err e;

    ok(io_mkdirs("d/e/f", &e) == 0 && io_is_dir("d/e/f"),
        "io_mkdirs makes folders in folders");
    ok(io_mkdirs("d/e/f/", &e) == 0, "io_mkdirs takes a slash at the end");
    ok(io_mkdirs("a/b", &e) < 0, "a folder below a file is refused: %s", e.msg);
    ok(io_mkdirs("", &e) < 0, "a folder without a name is refused: %s", e.msg);
    ok(dir_remove("d", &e) < 0, "two levels are not removed: %s", e.msg);
    ok(rmdir("d/e/f") == 0 && io_put_file("d/e/x", "", 0, &e) == 0 &&
            io_put_file("d/y", "", 0, &e) == 0,
        "a folder of one level is made");
    ok(dir_remove("d", &e) == 0 && !io_exists("d"),
        "dir_remove removes one level");
    ok(io_fsync_dir(".", &e) == 0 && io_fsync_dir("none", &e) < 0,
        "io_fsync_dir");
}

static void
test_links(void)
{
    char *tmp = xasprintf("link.tmp.%ld", (long)getpid());
    struct stat st;
    struct io_out o;
    struct err e;

    ok(io_mkdirs("precious", &e) == 0 &&
            io_put_file("precious/file", "x", 1, &e) == 0 &&
            symlink("precious", "alias") == 0 && io_mkdirs("holder", &e) == 0 &&
            symlink("../precious", "holder/alias") == 0,
        "links to a folder are made");
    ok(dir_remove("alias", &e) == 0 && lstat("alias", &st) < 0 &&
            dir_remove("holder", &e) == 0 && !io_exists("holder") &&
            holds("precious/file", "x"),
        "dir_remove removes links, not their targets");
    ok(symlink("precious/file", tmp) == 0 &&
            io_out_begin(&o, "link", &e) == 0 && strcmp(o.tmp, tmp) != 0 &&
            io_out_write(&o, "y", 1, &e) == 0 && io_out_commit(&o, &e) == 0 &&
            holds("link", "y") && holds("precious/file", "x") &&
            lstat(tmp, &st) == 0,
        "a temporary file is new, whatever has its name");
    free(tmp);
}

static void
test_new_folder(void)
{
    struct dir_new d, other;
    struct dir_list l;
    struct err e;
    struct stat st;
    int status = -1;
    pid_t pid;

    ok(dir_new_begin(&d, "n/model", &e) == 0 &&
            strcmp(d.tmp, "n/model.tmp") == 0 &&
            io_put_file("n/model.tmp/a", "1", 1, &e) == 0,
        "dir_new_begin makes a temporary folder");
    ok(dir_new_begin(&other, "n/model", &e) < 0 && e.code == EX_SYS &&
            holds("n/model.tmp/a", "1"),
        "a second writer of the folder is refused: %s", e.msg);
    ok(dir_new_commit(&d, &e) == 0 && dir_list("n/model", &l, &e) == 0 &&
            l.n == 1 && !io_exists("n/model.tmp"),
        "dir_new_commit gives the folder its name");
    dir_list_release(&l);
    ok(dir_new_begin(&d, "n/other", &e) == 0 &&
            io_put_file("n/other.tmp/a", "1", 1, &e) == 0,
        "another folder is begun");
    dir_new_abort(&d);
    dir_new_abort(&d);
    ok(!io_exists("n/other.tmp") && !io_exists("n/other"),
        "dir_new_abort leaves no folder");
    io_mkdirs("n/mine.tmp", &e);
    io_put_file("n/mine.tmp/thesis", "x", 1, &e);
    ok(dir_new_check("n/mine", &e) < 0 && e.code == EX_USAGE,
        "a folder without our mark is refused: %s", e.msg);
    ok(dir_new_begin(&d, "n/mine", &e) < 0 && holds("n/mine.tmp/thesis", "x"),
        "a folder without our mark stays");
    ok(symlink("mine.tmp", "n/alias.tmp") == 0 &&
            dir_new_begin(&d, "n/alias", &e) < 0 &&
            holds("n/mine.tmp/thesis", "x"),
        "a link to such a folder is refused: %s", e.msg);
    ok(io_put_file("n/mine.tmp/" DIR_MARK, "", 0, &e) == 0 &&
            dir_new_check("n/mine", &e) == 0 &&
            dir_new_begin(&d, "n/mine", &e) == 0 &&
            !io_exists("n/mine.tmp/thesis"),
        "a folder with our mark is emptied");
    dir_new_abort(&d);
    ok(io_mkdirs("n/empty.tmp", &e) == 0 && dir_new_check("n/empty", &e) == 0 &&
            io_is_dir("n/empty.tmp") && dir_new_begin(&d, "n/empty", &e) == 0,
        "an empty folder, left before its mark was made, is used");
    dir_new_abort(&d);
    for (int i = 0; i < 2; i++) {
        fflush(stdout);
        if ((pid = fork()) == 0) {
            struct io_out o;

            if (dir_new_begin(&d, "n/left", &e) < 0 ||
                io_put_file("n/left.tmp/a", "1", 1, &e) < 0 ||
                io_out_begin(&o, "n/left.tmp/b", &e) < 0)
                _exit(9);
            if (i == 0)
                raise(SIGTERM);
            exit(7);
        }
        waitpid(pid, &status, 0);
        ok((i == 0 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM
                   : WIFEXITED(status) && WEXITSTATUS(status) == 7) &&
                lstat("n/left.tmp", &st) < 0,
            "nothing is left of one that ends by %s", i ? "exit" : "SIGTERM");
    }
}

static void *
write_on(void *unused)
{
    struct err e;

    for (;;)
        for (int i = 0; i < 20; i++) {
            char name[40];

            snprintf(name, sizeof name, "n/busy.tmp/%d", i);
            io_put_file(name, "1", 1, &e);
        }
    return unused;
}

/* A folder of 100 files is removed though the table of temporary files (live[]
 * in io.c) has 64 entries. */
static void
test_full_folder(void)
{
    struct dir_new d;
    struct err e;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) == 0) {
        if (dir_new_begin(&d, "n/full", &e) < 0)
            _exit(9);
        for (int i = 0; i < 100; i++) {
            char name[40];

            snprintf(name, sizeof name, "n/full.tmp/%d", i);
            if (io_put_file(name, "1", 1, &e) < 0)
                _exit(9);
        }
        raise(SIGTERM);
    }
    waitpid(pid, NULL, 0);
    ok(!io_exists("n/full.tmp"), "a folder of 100 files goes");
}

/* A process that is ended at any moment, while another thread of it writes
 * files, leaves no temporary folder. */
static void
test_busy_folder(void)
{
    const struct timespec moment = { .tv_nsec = 20000 };
    struct dir_new d;
    struct err e;
    int left = 0;

    for (int i = 0; i < 300; i++) {
        pthread_t id;
        pid_t pid;

        fflush(stdout);
        if ((pid = fork()) == 0) {
            if (dir_new_begin(&d, "n/busy", &e) < 0 ||
                pthread_create(&id, NULL, write_on, NULL) != 0)
                _exit(9);
            for (;;)
                pause();
        }
        while (!io_exists("n/busy.tmp"))
            ;
        for (int k = 0; k < i % 30; k++)
            nanosleep(&moment, NULL);
        kill(pid, SIGTERM);
        waitpid(pid, NULL, 0);
        if (io_exists("n/busy.tmp") && dir_remove("n/busy.tmp", &e) == 0)
            left++;
    }
    ok(left == 0, "%d folders are left of 300 that are written to", left);
}

/* A folder that cannot be read is an error, not an empty folder, and a name
 * that cannot be resolved counts as existing. */
static void
test_unreadable(void)
{
    struct rlimit old, none;
    struct dir_list l;
    struct err e;

    ok(dir_list("nowhere", &l, &e) < 0 && errno == ENOENT && l.n == 0,
        "a missing folder is not listed: %s", e.msg);
    getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    ok(dir_list(".", &l, &e) < 0 && errno == EMFILE,
        "a folder is not listed without a descriptor: %s", e.msg);
    setrlimit(RLIMIT_NOFILE, &old);
    ok(symlink("loop", "loop") == 0 && io_exists("loop") && !io_exists("a/b") &&
            !io_exists("none"),
        "only what is certainly not there does not exist");
}

static void
test_irregular(void)
{
    struct io_map m;
    struct err e;
    uint64_t size;
    char *p = NULL;
    size_t n;
    int fd;

    alarm(10);
    ok(mkfifo("fifo", 0666) == 0 && io_slurp("fifo", 9, &p, &n, &e) < 0,
        "a fifo is not waited for: %s", e.msg);
    ok(io_map(&m, "fifo", &e) < 0, "a fifo is not mapped: %s", e.msg);
    ok(io_open_file("/dev/zero", &size, &e) < 0,
        "a device is not opened as a file: %s", e.msg);
    ok(symlink("big", "to-big") == 0 &&
            (fd = io_open_file("to-big", &size, &e)) >= 0 && size == 300000 &&
            close(fd) == 0,
        "a link to a file is one");
    alarm(0);
}

static void *
touch(void *p)
{
    return *(volatile const unsigned char *)p == 'x' ? NULL : p;
}

/* Reading behind the end of a mapped file that has shrunk ends the process with
 * 3 and a message, in any thread.  Leaves the file "big" short. */
static void
test_shrinks(int in_thread)
{
    const char *who = in_thread ? "a thread" : "the process itself";
    pthread_t id;
    char *text = NULL;
    struct io_map m, gone;
    struct err e;
    size_t n;
    int status = -1;
    pid_t pid;

    fflush(stdout);
    if ((pid = fork()) == 0) {
        const int fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0666);

        if (dup2(fd, STDERR_FILENO) < 0 || io_map(&gone, "a", &e) < 0)
            _exit(9);
        io_unmap(&gone); /* its place in the list is used again */
        if (io_map(&gone, "a", &e) < 0 || io_map(&m, "big", &e) < 0 ||
            truncate("big", 100000) < 0)
            _exit(9);
        if (!in_thread)
            _exit(m.p[200000] == 'x' ? 8 : 7);
        if (thread_start(&id, touch, (char *)m.p + 200000) < 0)
            _exit(6);
        pthread_join(id, NULL);
        _exit(5);
    }
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == EX_INPUT,
        "%s: a mapped file that shrinks ends the process with 3: %d", who,
        status);
    ok(io_slurp("said", 1000, &text, &n, &e) == 0 &&
            strstr(text, ": big: offset 200000: ") != NULL,
        "%s: the message tells file and offset: %.*s", who,
        text ? (int)strcspn(text, "\n") : 9, text ? text : "no message");
    free(text);
}

static void
test_pipe(void)
{
    int fd[2];
    char b[8];

    ok(pipe(fd) == 0 && io_write(fd[1], "abc", 3) == 0 && close(fd[1]) == 0 &&
            io_read(fd[0], b, sizeof b) == 3,
        "a short read is the end");
    close(fd[0]);
    errno = 0;
    ok(pipe(fd) == 0 && close(fd[0]) == 0 && io_write(fd[1], "abc", 3) < 0 &&
            errno == EPIPE,
        "a pipe whose reader has left is an error");
    close(fd[1]);
    ok(io_read(-1, b, 1) < 0 && io_write(-1, b, 1) < 0,
        "bad descriptors are errors");
    ok(strcmp(io_in_name(NULL), "<stdin>") == 0 &&
            strcmp(io_in_name("-"), "<stdin>") == 0 &&
            strcmp(io_out_name("-"), "<stdout>") == 0 &&
            strcmp(io_in_name("x"), "x") == 0,
        "io_in_name names standard input");
    ok(io_open("-", NULL) == 0 && io_open("none", NULL) == -1,
        "io_open gives a descriptor or -1");
}

int
main(void)
{
    tap_scratch();
    signal(SIGPIPE, SIG_IGN);
    test_atomic();
    test_read();
    test_dirs();
    test_links();
    test_new_folder();
    test_busy_folder();
    test_full_folder();
    test_unreadable();
    test_irregular();
    test_shrinks(0);
    ok(truncate("big", 300000) == 0, "the file is as long as before");
    test_shrinks(1);
    test_pipe();
    return done_testing();
}
