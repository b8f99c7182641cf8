/* shard repair - keep what is intact of a directory; see
 * shard-repair(1) */
#include "repair.h"
#include "set_repair.h"
#include "store.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/text.h"
#include "cli/die.h"
#include "cli/out.h"
#include "shard/dir.h"
#include "tok/tok.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct store_args a = STORE_DEFAULT;
static const char *tokenizer;

static const struct opt options[] = { STORE_OPTIONS(a),
    OPT_TOKENIZER(&tokenizer, ""), OPT_END };

static void
warn_of_loss(void *ctx, const char *line)
{
    (void)ctx;
    warn("%s", line);
}

static void
report_loss(const char *dir, const char *out, const struct shard_loss *l)
{
    if (l->lost == 0 && l->messages == 0 && l->docs == 0)
        printf("%s: nothing is lost of %zu frames\n", SHOWN(dir), l->frames);
    else if (!l->counted)
        printf("%s: %zu of %zu frames are lost, and %" PRIu64 " messages\n",
            SHOWN(dir), l->lost, l->frames, l->messages);
    else
        printf("%s: %zu of %zu frames are lost, %" PRIu64 " messages, %" PRIu64
               " documents, %" PRIu64 " tokens\n",
            SHOWN(dir), l->lost, l->frames, l->messages, l->docs, l->tokens);
    for (size_t i = 0; i < l->nsource; i++)
        if (l->source[i].docs)
            printf("%-24s %12" PRIu64 " %14" PRIu64 "\n",
                SHOWN(l->source[i].name), l->source[i].docs,
                l->source[i].tokens);
    printf("%s: the rest is there\n", SHOWN(out));
}

static void
describe_stream(struct stream_info *i, char hash[33])
{
    struct err e;
    struct tokenizer *t = tok_open(tokenizer, &e);

    if (!t)
        die_err(&e);
    tok_hash(t, hash);
    i->tokenizer = hash;
    i->vocab = tok_vocab(t);
    i->bos = tok_bos(t);
    i->eos = tok_eos(t);
    tok_free(t);
}

static void
repair_directory(const char *dir, const char *out, const struct shard_opts *o)
{
    struct stream_info head = { 0 };
    struct shard_opts opts = *o;
    struct shard_loss l;
    char hash[33], *new = xasprintf("%s.repair", dir);
    char *old = xasprintf("%s.damaged", dir);
    struct err e;
    int lock = -1;

    if (tokenizer)
        describe_stream(&head, hash);
    if (!out) {
        if (io_exists(old))
            die(EX_USAGE,
                "%s: is there already; the damaged directory would get that "
                "name",
                old);
        if ((lock = shard_dir_lock(dir, &e)) < 0)
            die_err(&e);
        opts.force = 1; /* replace what an earlier repair that died has left */
    }
    if (set_repair(dir, out ? out : new, &opts, tokenizer ? &head : NULL,
            warn_of_loss, NULL, &l, &e) < 0)
        die_err(&e);
    if (!out) {
        store_exchange(dir, new, old);
        note("%s: the damaged directory", old);
    }
    report_loss(dir, out ? out : dir, &l);
    shard_loss_release(&l);
    if (lock >= 0)
        close(lock);
    free(new);
    free(old);
}

int
repair_main(int argc, char **argv)
{
    char **dir = opt_parse(argc, argv, options,
        "store what is intact of a damaged directory, in -o or in its place",
        "dir", 1, 1, NULL);

    store_check(&a);
    repair_directory(*dir, a.out, &a.o);
    out_done();
    return EX_OK;
}
