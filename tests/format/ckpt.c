/* lib/format: checkpoint directories, and what is taken for one */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/ckpt.h"
#include "../lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN "run"

/* Write a checkpoint with one file, whose text depends on the step. */
static int
put(const char *run, uint64_t step, size_t keep, struct err *e)
{
    struct position p = { .seq = step };
    char *file;
    struct dir_new d;
    int r = ckpt_begin(&d, run, step, e);

    memset(p.chain, 'a', 32);
    if (r < 0)
        return -1;
    file = xasprintf("%s/model", d.tmp);
    r = io_put_file(file, &step, sizeof(step), e);
    free(file);
    if (r == 0)
        r = ckpt_commit(&d, run, step, &p, keep, e);
    dir_new_abort(&d);
    return r;
}

/* Returns the newest step; 0: there is none; -1: an error, in *e. */
static long
newest(const char *run, struct err *e)
{
    struct position p = { 0 };
    char *dir = NULL;
    uint64_t step = 0;
    const int r = ckpt_newest(run, &dir, &step, &p, e);

    position_release(&p);
    free(dir);
    return r < 0 ? -1 : r == 0 ? 0 : (long)step;
}

static void
test_keep(void)
{
    struct err e;

    for (uint64_t i = 1; i <= 4; i++)
        ok(put(RUN, i, 2, &e) == 0, "step %d is committed", (int)i);
    ok(!io_exists(RUN "/step-2") && io_exists(RUN "/step-3") &&
            newest(RUN, &e) == 4,
        "two are kept");
    ok(!io_exists(RUN "/step-4/" DIR_MARK), "without the mark of the making");
    ok(io_put_file(RUN "/step-4/" DIR_MARK, "", 0, &e) == 0 &&
            newest(RUN, &e) == 4 && unlink(RUN "/step-4/" DIR_MARK) == 0,
        "whole too where a kill has left the mark");
}

/* The newest checkpoint is damaged, so the run went on from an older one. */
static void
test_damaged(void)
{
    struct err e = { 0 };

    ok(put("gone/run", 3, 2, &e) == 0 && put("gone/run", 9, 2, &e) == 0 &&
            truncate("gone/run/step-9/model", 1) == 0 &&
            newest("gone/run", &e) == 3,
        "a damaged one is passed over");
    for (uint64_t i = 5; i <= 7; i++)
        ok(put("gone/run", i, 2, &e) == 0 && newest("gone/run", &e) == (long)i,
            "step %d below it: %s", (int)i, e.msg);
    ok(!io_exists("gone/run/step-5") && io_exists("gone/run/step-6") &&
            io_exists("gone/run/step-9"),
        "two are kept beside it");
    ok(put("gone/run", 9, 2, &e) == 0 && newest("gone/run", &e) == 9 &&
            !io_exists("gone/run/step-6"),
        "it is written again");
}

/* Only step-N without leading zeros is a checkpoint. */
static void
test_names(void)
{
    static const char *const not [] = { "step-0000004", "step-+5", "step- 5",
        "step-5.old", "step-", "step-00", "step-99999999999999999999",
        "step-0x7" };
    struct err e;
    char *path;

    for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++) {
        path = xasprintf(RUN "/%s", not [i]);
        io_mkdirs(path, &e);
        free(path);
    }
    ok(newest(RUN, &e) == 4 && put(RUN, 5, 2, &e) == 0 &&
            io_exists(RUN "/step-4") && !io_exists(RUN "/step-3") &&
            newest(RUN, &e) == 5,
        "other names do not count as checkpoints");
    for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++) {
        path = xasprintf(RUN "/%s", not [i]);
        ok(io_exists(path), "a folder %s stays", not [i]);
        rmdir(path);
        free(path);
    }
}

static void
test_links(void)
{
    struct stat st;
    struct err e;

    io_mkdirs("precious", &e);
    io_put_file("precious/thesis", "x", 1, &e);
    ok(symlink("../precious", RUN "/step-1") == 0 && put(RUN, 6, 2, &e) == 0 &&
            io_exists("precious/thesis"),
        "a link's target is not emptied");
    ok(lstat(RUN "/step-1", &st) < 0, "the link goes");
    ok(symlink("../precious", RUN "/step-7") == 0 && put(RUN, 7, 2, &e) == 0 &&
            io_exists("precious/thesis") && newest(RUN, &e) == 7,
        "a link in the way is not followed");
    io_mkdirs(RUN "/step-8.tmp", &e);
    io_put_file(RUN "/step-8.tmp/thesis", "x", 1, &e);
    ok(put(RUN, 8, 2, &e) < 0 && io_exists(RUN "/step-8.tmp/thesis"),
        "step-8.tmp of another stays: %s", e.msg);
    dir_remove(RUN "/step-8.tmp", &e);
}

/* A checkpoint that cannot be read now is an error: it does not count as
 * damaged, nor as absent. */
static void
test_unreadable(void)
{
    struct rlimit old, none;
    struct err e;
    int n = 0;

    getrlimit(RLIMIT_NOFILE, &old);
    for (none = old, none.rlim_cur = 3; none.rlim_cur < 20; none.rlim_cur++) {
        long r;

        setrlimit(RLIMIT_NOFILE, &none);
        r = newest(RUN, &e);
        setrlimit(RLIMIT_NOFILE, &old);
        if (r < 0 && e.code == EX_SYS)
            n++;
        else if (r != 7)
            ok(0, "%d descriptors: %ld", (int)none.rlim_cur, r);
    }
    ok(n > 0, "without descriptors it fails, %d times: %s", n, e.msg);
    ok(newest(RUN, &e) == 7, "with descriptors it is found");
    ok(newest("nowhere", &e) == 0 && ckpt_any("nowhere", &e) == 0,
        "no folder is no checkpoint");
    ok(newest("precious/thesis", &e) < 0 && e.code == EX_SYS &&
            ckpt_any("precious/thesis", &e) < 0,
        "a file is an error: %s", e.msg);
}

/* A checkpoint with a device or a FIFO in the place of a file is damaged; a
 * link to the file counts as the file. */
static void
test_irregular(void)
{
    struct err e;

    alarm(20);
    unlink(RUN "/step-7/model");
    ok(symlink("/dev/zero", RUN "/step-7/model") == 0 && newest(RUN, &e) == 6,
        "/dev/zero is damage");
    unlink(RUN "/step-7/model");
    ok(mkfifo(RUN "/step-7/model", 0666) == 0 && newest(RUN, &e) == 6,
        "a fifo is damage");
    ok(ckpt_verify(RUN "/step-7", NULL, NULL, &e) < 0 && e.code == EX_INPUT,
        "%s", e.msg);
    ok(rename(RUN "/step-6/model", "elsewhere") == 0 &&
            symlink("../../elsewhere", RUN "/step-6/model") == 0 &&
            newest(RUN, &e) == 6,
        "a link to the file is the file");
    ok(truncate("elsewhere", 4) == 0 && newest(RUN, &e) < 0 &&
            e.code == EX_INPUT,
        "a link to a file that has shrunk is damage: %s", e.msg);
    alarm(0);
}

/* The hash of a folder has the content of each file that makes the model or
 * adapter, and of no other. */
static void
test_hash(void)
{
    static const struct {
        const char *name;
        int counts;
    } file[] = { { "config.json", 1 }, { "model.safetensors", 1 },
        { "adapter_config.json", 1 }, { "README.md", 0 } };
    char was[33], is[33];
    struct err e = { 0 };

    io_mkdirs("hashed", &e);
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char *path = xasprintf("hashed/%s", file[i].name);

        ok(io_put_file(path, "x", 1, &e) == 0 &&
                ckpt_hash_model("hashed", was, &e) == 0 &&
                io_put_file(path, "y", 1, &e) == 0 &&
                ckpt_hash_model("hashed", is, &e) == 0 &&
                (strcmp(was, is) != 0) == file[i].counts,
            "another %s %s the hash of the folder", file[i].name,
            file[i].counts ? "changes" : "leaves");
        free(path);
    }
    dir_remove("hashed", NULL);
}

int
main(void)
{
    tap_scratch();
    test_keep();
    test_damaged();
    test_names();
    test_links();
    test_unreadable();
    test_irregular();
    test_hash();
    return done_testing();
}
