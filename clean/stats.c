/* The table of --stats; see stats.h. */
#include "stats.h"

#include "base/text.h"

#include <inttypes.h>
#include <jansson.h>

const char *const stats_formats[] = { "tsv", "json", NULL };

static void
print_counts(FILE *f, const char *name, const struct source_counts *c)
{
    fprintf(f,
        "%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
        SHOWN(name), c->docs, c->bytes, c->chars, c->words, c->dropped);
}

static json_t *
counts_json(const char *name, const struct source_counts *c)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "source", name,
        "documents", (json_int_t)c->docs, "bytes", (json_int_t)c->bytes,
        "characters", (json_int_t)c->chars, "words", (json_int_t)c->words,
        "dropped", (json_int_t)c->dropped);
}

static void
print_counts_json(const struct stats *s, json_t *rows,
    const struct source_counts *all, FILE *f)
{
    json_t *j = json_object(), *dropped = json_object();

    for (enum reason r = 0; r < R_NONE; r++)
        if (s->reason[r] > 0)
            json_object_set_new(dropped, reason_name(r),
                json_integer((json_int_t)s->reason[r]));
    json_object_set_new(j, "sources", rows);
    json_object_set_new(j, "all", counts_json("all", all));
    json_object_set_new(j, "dropped", dropped);
    json_object_set_new(j, "boilerplate-lines",
        json_integer((json_int_t)s->lines));
    json_dumpf(j, f, JSON_INDENT(1));
    putc('\n', f);
    json_decref(j);
}

void
stats_print(const struct stats *s, const struct inputs *in, FILE *f,
    enum stats_format format)
{
    struct source_counts all = { 0 };
    json_t *rows = json_array();
    size_t n = 0;

    if (format == STATS_TSV)
        fprintf(f, "source\tdocuments\tbytes\tcharacters\twords\tdropped\n");
    for (size_t i = 0; i < in->nsource; i++) {
        const struct source_counts *c = &s->source[i];

        if (c->docs + c->dropped == 0)
            continue;
        n++;
        all.docs += c->docs;
        all.bytes += c->bytes;
        all.chars += c->chars;
        all.words += c->words;
        all.dropped += c->dropped;
        if (format == STATS_TSV)
            print_counts(f, in->source[i], c);
        else
            json_array_append_new(rows, counts_json(in->source[i], c));
    }
    if (format == STATS_JSON) {
        print_counts_json(s, rows, &all, f);
        return;
    }
    if (n > 1)
        print_counts(f, "all", &all);
    json_decref(rows);
}
