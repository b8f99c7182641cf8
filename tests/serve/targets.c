/* serve: /v1/targets against teacher(1). */
#include "client.h"
#include "base/bytes.h"
#include "base/io.h"
#include "format/safetensors.h"

/* Make a stream of two batches in the file `taught`: each row is a piece of one
 * long text, with the teacher's tensors. */
static void
make_stream(void)
{
    static const char *const command =
        "PATH=\"${BUILD:-build}/bin:$PATH\" && "
        "m=" SMALL_MODEL " && "
        "seq 1 300 | tr '\\n' ' ' >text.txt && "
        "tokenize -q -t $m text.txt -o docs && "
        "shard write -q -o data docs && "
        "stream -q -B 2 -T 24 --batches 2 -o batches data && "
        "teacher -q -m $m --top 5 --temperature 3 --dtype f32 -o taught "
        "batches";

    ok(system(command) == 0, "a stream is taught");
}

/* Size of the message at p, by its header. */
static size_t
message_size(const char *p)
{
    const size_t head = (size_t)le_get(p, 8);
    json_t *j = json_loadb(p + 8, head, 0, NULL), *v;
    const char *name;
    json_int_t end = 0;

    json_object_foreach(j, name, v)
    {
        const json_t *to = member(v, "data_offsets.1");

        if (json_integer_value(to) > end)
            end = json_integer_value(to);
    }
    json_decref(j);
    return 8 + head + (size_t)end;
}

static int
same_tensor(const struct st *a, const struct st *b, const char *name)
{
    const struct st_tensor *x = st_find(a, name), *y = st_find(b, name);

    return x && y && x->dtype == y->dtype && x->n == y->n &&
        x->nbytes == y->nbytes && memcmp(x->data, y->data, x->nbytes) == 0;
}

/* Ask for the rows of a batch, each of which is one piece here, and compare. */
static void
compare_batch(int port, const struct st *taught, size_t number)
{
    static const char *const names[] = { "ids", "piece_row", "piece_len",
        "teacher.top.ids", "teacher.top.logp", "teacher.lse" };
    const struct st_tensor *ids = st_find(taught, "ids");
    struct buf body = { 0 };
    struct answer a;
    struct st st;
    struct err e;

    buf_adds(&body, "{\"top\": 5, \"temperature\": 3, \"ids\": [");
    for (size_t i = 0; i < ids->n; i++) {
        uint16_t id;

        memcpy(&id, (const char *)ids->data + 2 * i, 2);
        buf_addf(&body, "%s%u",
            i == 0       ? "["
                : i % 24 ? ","
                         : "],[",
            (unsigned)id);
    }
    buf_adds(&body, "]]}");
    ask(port, "/v1/targets", body.p, &a);
    ok(a.status == 200 &&
            strcmp(header_of(&a, "Content-Type"), "application/octet-stream") ==
                0 &&
            st_parse(&st, a.body.p, a.body.n, &e) == 0,
        "/v1/targets answers batch %zu with a message", number);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ok(same_tensor(taught, &st, names[i]),
            "%s of batch %zu has the teacher's bits", names[i], number);
    ok(strcmp(st_meta(&st, "kind"), "batch") == 0 &&
            strcmp(st_meta(&st, "vocab"), "300") == 0,
        "the message of batch %zu says what it is", number);
    st_release(&st);
    answer_release(&a);
    buf_release(&body);
}

static void
refusals(int port)
{
    static const struct {
        const char *body, *param;
    } bad[] = { { "{\"ids\": []}", "ids" }, { "{\"ids\": [[1], []]}", "ids" },
        { "{\"ids\": [[1, 300]]}", "ids" }, { "{\"ids\": [1]}", "ids" },
        { "{\"ids\": [[1]], \"top\": 0}", "top" },
        { "{\"ids\": [[1]], \"top\": 301}", "top" },
        { "{\"ids\": [[1]], \"temperature\": 0}", "temperature" },
        { "{\"ids\": [[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"
          "]}",
            "ids" } };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct answer a;

        ask(port, "/v1/targets", bad[i].body, &a);
        ok(a.status == 400 &&
                strcmp(text_of(a.json, "error.param"), bad[i].param) == 0,
            "targets for %s are refused", bad[i].body);
        answer_release(&a);
    }
}

int
main(void)
{
    static const char *const args[] = { "--targets", "24", NULL };
    struct server s;
    struct io_map map;
    struct err e;
    size_t batches = 0;

    tap_scratch();
    make_stream();
    server_start(&s, args);
    if (io_map(&map, "taught", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        return 1;
    }
    for (size_t at = 0, n; at < map.n; at += n) {
        struct st st;

        n = message_size((const char *)map.p + at);
        if (st_parse(&st, map.p + at, n, &e) < 0)
            break;
        if (strcmp(st_meta(&st, "kind"), "batch") == 0)
            compare_batch(s.port, &st, batches++);
        st_release(&st);
    }
    ok(batches == 2, "both batches are compared");
    io_unmap(&map);
    refusals(s.port);
    ok(server_end(&s, SIGTERM) == 0, "a server of targets ends with status 0");
    return done_testing();
}
