/* Streams that student refuses when it opens them, and why. */
#include "../lib/small_config.h"
#include "../lib/streams.h"
#include "../lib/tap.h"
#include "base/io.h"
#include "student/feed.h"

#include <fcntl.h>
#include <sys/wait.h>

enum { V = 40, D = 8, ROWS = 2, T = 8 };

/* ---- a stream of one batch ---- */

struct made {
    const char *what;
    const char *config; /* of the teacher message; NULL: none */
    int ndim;           /* of ids */
    size_t shape[3];
    const char *why; /* key words of the message; NULL: it is taken */
};

static void
add_teacher(struct msg_out *w, const struct made *m)
{
    static const float head[V * D], norm[D];
    const size_t hd[2] = { V, D }, d[1] = { D };
    struct st_out *o = msg_begin(w, MSG_TEACHER);

    if (m->config != NULL)
        st_out_meta(o, "config", m->config);
    st_out_meta(o, "final", "post-norm");
    st_out_tensor(o, "head", DT_F32, 2, hd, head);
    st_out_tensor(o, "norm", DT_F32, 1, d, norm);
}

static void
add_batch(struct msg_out *w, const struct made *m)
{
    static const uint16_t ids[ROWS * T], source[ROWS];
    static const uint32_t row[ROWS] = { 0, 1 }, len[ROWS] = { T, T }, off[ROWS];
    static const uint64_t key[ROWS];
    static const float final[ROWS * T * D];
    const size_t n[1] = { m->shape[0] == 0 ? 0 : ROWS };
    const size_t f[3] = { ROWS, T, D };
    struct st_out *o = msg_begin(w, MSG_BATCH);

    st_out_tensor(o, "ids", DT_U16, m->ndim, m->shape, ids);
    st_out_tensor(o, "piece_row", DT_U32, 1, n, row);
    st_out_tensor(o, "piece_len", DT_U32, 1, n, len);
    st_out_tensor(o, "piece_source", DT_U16, 1, n, source);
    st_out_tensor(o, "piece_key", DT_U64, 1, n, key);
    st_out_tensor(o, "piece_off", DT_U32, 1, n, off);
    st_out_tensor(o, "teacher.final", DT_F32, 3, f, final);
    msg_out_tokens(w, n[0] * T);
}

static void
write_stream(const char *path, const struct made *m)
{
    static const char *const names[] = { "en" };
    const struct stream_info i = { .content = "batch",
        .tokenizer = HASH,
        .vocab = V,
        .bos = -1,
        .eos = 2,
        .nsource = 1,
        .source = (const char **)(uintptr_t)names,
        .T = T,
        .algorithm = "sample-1" };
    struct err e;
    struct msg_out *w = msg_out_open(path, &e);

    if (w == NULL)
        abort();
    stream_info_put(msg_begin(w, MSG_STREAM), &i);
    if (msg_send(w, &e) != 0)
        abort();
    add_teacher(w, m);
    if (msg_send(w, &e) != 0)
        abort();
    add_batch(w, m);
    if (msg_send(w, &e) != 0 || msg_end(w, &e) != 0)
        abort();
    msg_out_close(w);
}

/* ---- how a student of 2 blocks takes it ---- */

/* The exit status of a process that opens the stream; errors go to the file
 * `err`.  7: the student's blocks are matched with the teacher's. */
static int
open_stream(const char *path)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct model student = { .c = small_config("llama", V, D, 2, 4) };
        struct feed f;

        student.block = xcalloc(2, sizeof *student.block);
        if (dup2(open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666), 2) < 0)
            _exit(99);
        feed_open(&f, path, NULL, 0, 0, &student);
        _exit(f.map != NULL ? 7 : 0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status)
        ? WEXITSTATUS(status)
        : -1;
}

static void
check_stream(const struct made *m)
{
    char *said = NULL;
    size_t n;
    struct err e;
    int status;

    write_stream("made", m);
    status = open_stream("made");
    if (io_slurp("err", 1 << 16, &said, &n, &e) < 0)
        abort();
    said[strcspn(said, "\n")] = '\0';
    if (m->why == NULL)
        ok(status == (m->config != NULL ? 7 : 0), "%s is taken", m->what);
    else
        ok(status == EX_INPUT && strstr(said, m->why) != NULL,
            "%s is refused with status 3, which names %s: %s", m->what, m->why,
            said);
    free(said);
}

int
main(void)
{
    const struct config c = small_config("llama", V, D, 3, 4);
    json_t *j = config_to_json(&c, NULL);
    char *config = json_dumps(j, JSON_COMPACT);
    const struct made streams[] = {
        { "a teacher with a configuration", config, 2, { ROWS, T }, NULL },
        { "a teacher without a configuration", NULL, 2, { ROWS, T }, NULL },
        { "a configuration that is no JSON", "{", 2, { ROWS, T }, "config" },
        { "a configuration that has a key twice", "{\"a\":1,\"a\":2}", 2,
            { ROWS, T }, "config" },
        { "a configuration of an unknown family", "{\"model_type\":\"x\"}", 2,
            { ROWS, T }, "config" },
        { "a batch whose ids are a list", config, 1, { ROWS * T }, "ids" },
        { "a batch whose ids have 3 dimensions", config, 3, { ROWS, T, 1 },
            "ids" },
        { "a batch without rows", config, 2, { 0, T }, "batch of 0 rows" },
        { "a batch of rows without tokens", config, 2, { ROWS, 0 },
            "rows of 0" },
    };

    tap_scratch();
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        check_stream(&streams[i]);
    json_decref(j);
    free(config);
    return done_testing();
}
