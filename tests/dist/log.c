/* The communication log's lines and tables against DeepSpeed 0.16.1's own, and
 * against the rule of nccl-tests: scripts/oracle/comms.py. */
#include "dist/log.h"

#include "../lib/tap.h"

#include <jansson.h>
#include <string.h>

enum { MOST = 1 << 16 };

static char got[MOST], want[MOST];

static size_t
slurp(const char *path, char *to)
{
    FILE *f = fopen(path, "r");
    const size_t n = f != NULL ? fread(to, 1, MOST - 1, f) : 0;

    to[n] = '\0';
    if (f != NULL)
        fclose(f);
    return n;
}

/* Log the messages of comms.tsv.  With COMM_DEEPSPEED, a quarter of the time of
 * the first, third, ... message is logged as waiting for other ranks. */
static void
log_all(const char *prefix, int how)
{
    static char op[200][60];
    FILE *f = fopen("tests/golden/dist/comms.tsv", "r");
    struct comm_log *l = comm_log_open(prefix, 4, how);
    struct comm_event e = { .group = "world" };
    double ms;
    size_t n = 0;

    while (f != NULL && n < 200 &&
        fscanf(f, "%59s %u %zu %zu %zu %lf", op[n], &e.kind, &e.n, &e.whole,
            &e.shard, &ms) == 6) {
        e.op = op[n];
        e.wire = e.whole - e.shard;
        e.wait = n % 2 == 0 && (how & COMM_DEEPSPEED) ? 0.25e-3 * ms : 0.0;
        e.seconds = e.exposed = 1e-3 * ms - e.wait;
        comm_log_add(l, &e);
        n++;
    }
    if (f != NULL)
        fclose(f);
    ok(n == 150, "%s: %zu messages", prefix, n);
    ok(comm_log_close(l) == 0, "the log %s is written", prefix);
}

static void
compare(const char *file, const char *golden)
{
    const size_t n = slurp(file, got), m = slurp(golden, want);
    size_t i = 0, line = 1;

    for (; i < n && i < m && got[i] == want[i]; i++)
        line += got[i] == '\n';
    if (!ok(n == m && n > 10000 && i == n, "%s: as the oracle has it", file))
        printf("# line %zu: %.100s\n# not: %.100s\n", line, got + i, want + i);
}

/* Sums over the columns of a table agree with the messages. */
static void
sums(void)
{
    double ms = 0.0, bytes = 0.0, all = 0.0, all_bytes = 0.0, x, y;
    size_t count = 0, n;
    char *line;
    FILE *f = fopen("tests/golden/dist/comms.tsv", "r");

    while (f != NULL && fscanf(f, "%*s %*u %*u %lf %*u %lf", &y, &x) == 2) {
        all += x;
        all_bytes += y;
    }
    if (f != NULL)
        fclose(f);
    slurp("new.tsv", got);
    for (line = strchr(got, '\n'); line != NULL && line[1] != '\0';
         line = strchr(line + 1, '\n')) {
        if (sscanf(line + 1, "%*s %*s %*u %zu %lf %*u %*u %lf", &n, &y, &x) !=
            3)
            break;
        count += n;
        ms += x;
        bytes += y * (double)n;
    }
    ok(count == 150 && near(ms, all, 1e-3, 0.0) && near(bytes, all_bytes, 0, 0),
        "new.tsv: count, time, bytes");
    slurp("new-log2.tsv", got);
    ms = bytes = 0.0;
    count = 0;
    for (line = strchr(got, '\n'); line != NULL && line[1] != '\0';
         line = strchr(line + 1, '\n')) {
        if (sscanf(line + 1, "%*s %*u %zu %lf %lf", &n, &y, &x) != 3)
            break;
        count += n;
        ms += x;
        bytes += y;
    }
    ok(count == 150 && near(ms, all, 1e-3, 0.0) && near(bytes, all_bytes, 0, 0),
        "new-log2.tsv: count, time, bytes");
    ok(strstr(got, "\nreduce_scatter_tensor\t134217728\t") != NULL,
        "250 MB are between 128 and 256");
}

/* The sum of the members `count` of an array's objects. */
static json_int_t
counted(const json_t *all, const char *array)
{
    json_int_t n = 0;
    size_t i;
    json_t *v;

    json_array_foreach(json_object_get(all, array), i, v) n +=
        json_integer_value(json_object_get(v, "count"));
    return n;
}

static void
json(void)
{
    json_error_t bad;
    json_t *all = json_load_file("new.json", JSON_REJECT_DUPLICATES, &bad);
    const json_t *first = json_array_get(json_object_get(all, "messages"), 0);

    ok(all != NULL, "new.json is %s", all != NULL ? "JSON" : bad.text);
    ok(counted(all, "messages") == 150 && counted(all, "log2") == 150,
        "new.json counts the messages");
    ok(json_object_size(first) == 14 &&
            json_is_real(json_object_get(first, "wait_ms")),
        "new.json: as many members as columns");
    json_decref(all);
}

int
main(void)
{
    tap_scratch();
    log_all("old", COMM_DEEPSPEED);
    log_all("new", 0);
    compare("old.log", "tests/golden/dist/comms-deepspeed.log");
    compare("new.log", "tests/golden/dist/comms.log");
    sums();
    json();
    ok(comm_log_open("/nowhere/at/all", 4, 0) == NULL, "no such folder");
    return done_testing();
}
