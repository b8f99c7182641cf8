/* A log of collectives; see log.h.  It uses nothing else of lib/, since it is
 * also part of libretort-pmpi.so, which other programs load. */
#include "dist/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row's means are over its first TIMES messages. */
enum { TIMES = 1 << 16, LOG2 = 64, PATH = 4096 };

struct row {
    struct comm_event is; /* the first message; but seconds, exposed and wait
                           * are sums */
    size_t count, ntimes;
    double hidden; /* seconds that were not exposed */
    double *ms;    /* [ntimes] duration of each message, milliseconds */
    size_t size;   /* message size that the log prints, bytes */
};

struct comm_log {
    char prefix[PATH];
    size_t ranks;
    int how;
    int bad; /* errno of the last write that failed, or 0 */
    FILE *f;
    struct row *row;
    size_t nrow;
};

static FILE *
open_part(const struct comm_log *l, const char *end)
{
    char path[PATH + 20];

    snprintf(path, sizeof path, "%s%s", l->prefix, end);
    return fopen(path, "w");
}

struct comm_log *
comm_log_open(const char *prefix, size_t ranks, int how)
{
    struct comm_log *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->ranks = ranks;
    l->how = how;
    if (snprintf(l->prefix, sizeof l->prefix, "%s", prefix) >= PATH)
        errno = ENAMETOOLONG;
    else
        l->f = open_part(l, ".log");
    if (l->f == NULL) {
        free(l);
        return NULL;
    }
    return l;
}

/* Format a number of bytes as DeepSpeed's convert_size does: "0B", "4.0 KB",
 * "7.81 MB". */
static void
show_size(char *out, size_t n, size_t bytes)
{
    static const char *const unit[] = { "B", "KB", "MB", "GB", "TB", "PB",
        "EB" };
    double x = (double)bytes;
    size_t i = 0, len;

    for (; x >= 1024.0 && i < 6; i++)
        x /= 1024.0;
    if (bytes == 0) {
        snprintf(out, n, "0B");
        return;
    }
    snprintf(out, n, "%.2f", x);
    len = strlen(out);
    if (out[len - 1] == '0')
        out[--len] = '\0';
    snprintf(out + len, n - len, " %s", unit[i]);
}

/* The message size that the log prints, bytes. */
static size_t
shown_size(const struct comm_log *l, const struct comm_event *e)
{
    return (l->how & COMM_DEEPSPEED) && e->kind == COMM_ALL_GATHER ? e->shard
                                                                   : e->whole;
}

/* Compute the bandwidths, in Gbit/s, of a message that took ms milliseconds. */
static void
bandwidth(const struct comm_log *l, const struct comm_event *e, double ms,
    double *algbw, double *busbw)
{
    const int old = l->how & COMM_DEEPSPEED;
    const double n = (double)(old ? l->ranks : e->n);
    double size = (double)shown_size(l, e), factor = 1.0;

    if (e->kind != COMM_OTHER)
        factor = (n - 1.0) / n;
    if (old && (e->kind == COMM_ALL_GATHER || e->kind == COMM_REDUCE_SCATTER))
        size *= n;
    *algbw = size / ms * 8.0 / 1e6;
    *busbw = *algbw * factor;
    if (e->kind == COMM_ALL_REDUCE)
        *(old ? algbw : busbw) *= 2.0;
    if (e->kind == COMM_ALL_REDUCE && old)
        *busbw *= 2.0;
}

/* Find or add the row of messages with this op, size and group (with
 * COMM_DEEPSPEED, any group).  NULL: no memory. */
static struct row *
find_row(struct comm_log *l, const struct comm_event *e)
{
    const size_t size = shown_size(l, e);
    struct row *r;

    for (size_t i = 0; i < l->nrow; i++) {
        r = &l->row[i];
        if (r->size == size && strcmp(r->is.op, e->op) == 0 &&
            ((l->how & COMM_DEEPSPEED) ||
                (r->is.n == e->n && strcmp(r->is.group, e->group) == 0)))
            return r;
    }
    r = realloc(l->row, (l->nrow + 1) * sizeof *r);
    if (r == NULL)
        return NULL;
    l->row = r;
    r += l->nrow++;
    *r = (struct row){ .is = *e, .size = size };
    r->is.seconds = r->is.exposed = r->is.wait = 0.0;
    return r;
}

static void
add_row_time(struct row *r, double ms)
{
    double *p;

    if (r->ntimes == TIMES)
        return;
    if ((r->ntimes & (r->ntimes - 1)) == 0) {
        p = realloc(r->ms, (r->ntimes > 0 ? 2 * r->ntimes : 1) * sizeof *p);
        if (p == NULL)
            return;
        r->ms = p;
    }
    r->ms[r->ntimes++] = ms;
}

void
comm_log_add(struct comm_log *l, const struct comm_event *e)
{
    const double ms =
        1e3 * (e->seconds + (l->how & COMM_DEEPSPEED ? e->wait : 0.0));
    struct row *r = find_row(l, e);
    double algbw, busbw;
    char size[40];

    if (r == NULL)
        return;
    r->count++;
    r->is.seconds += ms / 1e3;
    r->is.exposed += e->exposed;
    r->is.wait += e->wait;
    r->hidden += e->seconds - e->exposed;
    add_row_time(r, ms);
    bandwidth(l, e, ms, &algbw, &busbw);
    show_size(size, sizeof size, r->size);
    if (fprintf(l->f,
            "comm op: %s | time (ms): %.2f | msg size: %s | algbw (Gbps): %.2f "
            "| busbw (Gbps): %.2f\n",
            e->op, ms, size, algbw, busbw) < 0)
        l->bad = errno;
}

static int
by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Compute means over a row: milliseconds, algbw, busbw.  The fastest and the
 * slowest tenth are left out. */
static void
mean_times(const struct comm_log *l, struct row *r, double mean[3])
{
    const size_t cut = (size_t)rint((double)r->ntimes * 0.1);

    mean[0] = mean[1] = mean[2] = 0.0;
    qsort(r->ms, r->ntimes, sizeof *r->ms, by_time);
    for (size_t i = cut; i < r->ntimes - cut; i++) {
        double algbw, busbw;

        bandwidth(l, &r->is, r->ms[i], &algbw, &busbw);
        mean[0] += r->ms[i];
        mean[1] += algbw;
        mean[2] += busbw;
    }
    for (int k = 0; k < 3; k++)
        mean[k] /= (double)(r->ntimes - 2 * cut);
}

/* Compare rows of one op by size.  (sort_rows keeps the ops in the order of
 * their first messages.) */
static int
by_size(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->size > y->size) - (x->size < y->size);
}

static void
sort_rows(struct comm_log *l)
{
    for (size_t i = 0; i < l->nrow;) {
        size_t k = i + 1;

        for (size_t j = k; j < l->nrow; j++) {
            if (strcmp(l->row[j].is.op, l->row[i].is.op) == 0) {
                const struct row r = l->row[j];

                memmove(&l->row[k + 1], &l->row[k], (j - k) * sizeof r);
                l->row[k++] = r;
            }
        }
        qsort(&l->row[i], k - i, sizeof *l->row, by_size);
        i = k;
    }
}

static void
print_table(struct comm_log *l)
{
    fprintf(l->f, "%-20s%-20s%-20s%-20s%-20s%-20s%-20s\n", "Comm. Op",
        "Message Size", "Count", "Total Latency(ms)", "Avg Latency(ms)",
        "tput_avg (Gbps)", "busbw_avg (Gbps)");
    for (size_t i = 0; i < l->nrow; i++) {
        struct row *r = &l->row[i];
        double mean[3];
        char size[40];

        if (i == 0 || strcmp(r->is.op, r[-1].is.op) != 0)
            fprintf(l->f, "%s\n", r->is.op);
        mean_times(l, r, mean);
        show_size(size, sizeof size, r->size);
        fprintf(l->f, "%-20s%-20s%-20zu%-20.2f%-20.2f%-20.2f%-20.2f\n", " ",
            size, r->count, 1e3 * r->is.seconds, mean[0], mean[1], mean[2]);
    }
}

/* Print a line for each row, as TSV or JSON; names of ops and groups need no
 * escapes in JSON. */
static void
print_rows(const struct comm_log *l, FILE *f, int json)
{
    const char *form = json
        ? "%s{\"op\":\"%s\",\"group\":\"%s\",\"ranks\":%zu,\"count\":%zu,"
          "\"whole\":%zu,\"shard\":%zu,\"wire\":%zu,\"ms\":%.6f,"
          "\"ms_mean\":%.6f,\"algbw_gbps\":%.6f,\"busbw_gbps\":%.6f,"
          "\"exposed_ms\":%.6f,\"hidden_ms\":%.6f,\"wait_ms\":%.6f}"
        : "%s%s\t%s\t%zu\t%zu\t%zu\t%zu\t%zu\t%.6f\t%.6f\t%.6f\t%.6f\t%.6f\t"
          "%.6f\t%.6f";

    for (size_t i = 0; i < l->nrow; i++) {
        struct row *r = &l->row[i];
        double mean[3];

        mean_times(l, r, mean);
        fprintf(f, form, json && i > 0 ? ",\n" : "\n", r->is.op, r->is.group,
            r->is.n, r->count, r->is.whole, r->is.shard, r->is.wire,
            1e3 * r->is.seconds, mean[0], mean[1], mean[2], 1e3 * r->is.exposed,
            1e3 * r->hidden, 1e3 * r->is.wait);
    }
}

static void
print_histogram(const struct comm_log *l, FILE *f, int json)
{
    const char *form = json ? "%s{\"op\":\"%s\",\"from\":%zu,\"count\":%zu,"
                              "\"bytes\":%zu,\"ms\":%.6f}"
                            : "%s%s\t%zu\t%zu\t%zu\t%.6f";
    int any = 0;

    for (size_t i = 0, end; i < l->nrow; i = end) {
        struct {
            size_t count, bytes;
            double ms;
        } bin[LOG2] = { { 0, 0, 0.0 } };

        for (end = i;
             end < l->nrow && strcmp(l->row[end].is.op, l->row[i].is.op) == 0;
             end++) {
            const struct row *r = &l->row[end];
            size_t k = 0;

            while (k + 1 < LOG2 && r->size >> (k + 1) > 0)
                k++;
            bin[k].count += r->count;
            bin[k].bytes += r->count * r->size;
            bin[k].ms += 1e3 * r->is.seconds;
        }
        for (size_t k = 0; k < LOG2; k++) {
            if (bin[k].count == 0)
                continue;
            fprintf(f, form, json && any ? ",\n" : "\n", l->row[i].is.op,
                (size_t)1 << k, bin[k].count, bin[k].bytes, bin[k].ms);
            any = 1;
        }
    }
}

static void
write_rows(const struct comm_log *l, FILE *f)
{
    fputs("op\tgroup\tranks\tcount\twhole\tshard\twire\tms\tms_mean\t"
          "algbw_gbps\tbusbw_gbps\texposed_ms\thidden_ms\twait_ms",
        f);
    print_rows(l, f, 0);
    putc('\n', f);
}

static void
write_histogram(const struct comm_log *l, FILE *f)
{
    fputs("op\tfrom\tcount\tbytes\tms", f);
    print_histogram(l, f, 0);
    putc('\n', f);
}

static void
write_json(const struct comm_log *l, FILE *f)
{
    fprintf(f, "{\"ranks\":%zu,\"messages\":[", l->ranks);
    print_rows(l, f, 1);
    fputs("],\n\"log2\":[", f);
    print_histogram(l, f, 1);
    fputs("]}\n", f);
}

/* Close f; record an error in l->bad. */
static void
close_file(struct comm_log *l, FILE *f)
{
    const int failed = ferror(f);

    if (fclose(f) != 0)
        l->bad = errno;
    else if (failed)
        l->bad = EIO;
}

/* Write a table to the file whose name is PREFIX and `end`. */
static void
write_table(struct comm_log *l, const char *end,
    void (*what)(const struct comm_log *, FILE *))
{
    FILE *f = open_part(l, end);

    if (f == NULL) {
        l->bad = errno;
        return;
    }
    what(l, f);
    close_file(l, f);
}

int
comm_log_close(struct comm_log *l)
{
    int bad;

    if (l == NULL)
        return 0;
    sort_rows(l);
    print_table(l);
    write_table(l, ".tsv", write_rows);
    write_table(l, "-log2.tsv", write_histogram);
    write_table(l, ".json", write_json);
    close_file(l, l->f);
    bad = l->bad;
    for (size_t i = 0; i < l->nrow; i++)
        free(l->row[i].ms);
    free(l->row);
    free(l);
    errno = bad;
    return bad != 0 ? -1 : 0;
}
