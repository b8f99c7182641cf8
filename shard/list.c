/* shard list - print the tables of directories; see shard-list(1) */
#include "list.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "shard/manifest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
list_sources(const struct manifest *m, const char *docs)
{
    const double all = m->tokens ? (double)m->tokens : 1.0;

    printf("%-24s %12s %14s %7s\n", "source", docs, "tokens", "share");
    for (size_t i = 0; i < m->nsource; i++)
        printf("%-24s %12" PRIu64 " %14" PRIu64 " %6.2f%%\n",
            SHOWN(m->source[i].name), m->source[i].docs, m->source[i].tokens,
            100.0 * (double)m->source[i].tokens / all);
}

static void
list_dir(const char *dir)
{
    struct manifest m;
    struct err e;
    int batch;

    if (manifest_read(&m, dir, &e) < 0)
        die_err(&e);
    batch = strcmp(m.content, "batch") == 0;
    printf("%s: %s, %s%s, %s -%d, vocabulary %zu, tokenizer %s", SHOWN(dir),
        m.complete ? "complete" : "open", *m.content ? m.content : "empty",
        m.teacher ? " with a teacher" : "", codec_names[m.codec], m.level,
        m.vocab, SHOWN(m.tokenizer));
    if (batch)
        printf(", T %zu", m.T);
    printf("\n%-16s %12s %14s %7s %9s %12s %14s\n", "shard", "bytes", "content",
        "frames", "messages", batch ? "rows" : "documents", "tokens");
    for (size_t i = 0; i < m.nfile; i++) {
        const struct shard_file *f = &m.file[i];

        printf("%-16s %12" PRIu64 " %14" PRIu64 " %7" PRIu64 " %9" PRIu64
               " %12" PRIu64 " %14" PRIu64 "\n",
            SHOWN(f->name), f->bytes, f->raw, f->frames, f->messages, f->docs,
            f->tokens);
    }
    list_sources(&m, batch ? "pieces" : "documents");
    if (m.nfile && !m.complete)
        printf("committed up to message %" PRIu64 "\n", m.seq);
    manifest_release(&m);
}

int
list_main(int argc, char **argv)
{
    const struct opt none[] = { OPT_END };
    char **dir = opt_parse(argc, argv, none,
        "print the shards and sources of directories", "dir ...", 1, -1, NULL);

    for (; *dir != NULL; dir++)
        list_dir(*dir);
    out_done();
    return EX_OK;
}
