/*
 * Shard directories (retort-shard(5)): a saved pipe.  The content of all
 * shard files, decompressed and in order, is the stream: `stream`, perhaps
 * `teacher`, then docs or batches, then `end` in the last file.
 *
 *   DIR/manifest.json     what is committed; replaced as a whole
 *   DIR/00000.shard.zst   frames, then a seek table (or .shard.lz4)
 *   DIR/00000.index       mapped: frames, messages, documents of that shard
 *
 * To read documents in any order: set_open, then for every shard set_frames;
 * index.part says which frames hold documents of a source, how many and how
 * many tokens; set_peek gives their messages.  To replay rows: index.msg gives
 * rows by message, set_msg decodes one.  To read everything in order:
 * set_in_open (source.h).  Everything that is read is checked against a hash
 * before it is used.
 *
 * The functions are in manifest.c, set.c (reading), write.c, make.c, check.c,
 * repair.c, and dir.c.
 */
#ifndef SHARD_SET_H
#define SHARD_SET_H

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "msg/msg.h"
#include "format/frame.h"

#include <stddef.h>
#include <stdint.h>

#define SHARD_MANIFEST "manifest.json"

/*
 * The index of one shard, as it lies in the file (little-endian; a file is a
 * 128-byte header and the four arrays, see retort-shard(5)).  Offsets `raw`
 * count decompressed bytes from the start of this shard.
 */
struct shard_frame {
    uint64_t at;           /* offset of the frame in the shard file */
    uint64_t raw;          /* offset of its content */
    uint64_t hash;         /* XXH3-64 of the compressed frame */
    uint32_t csize, dsize; /* bytes, compressed and not */
    uint32_t msg, nmsg;    /* messages that begin in this frame */
};
struct shard_msg {
    uint64_t raw, len; /* offset and bytes */
    uint64_t seq;
    uint64_t tokens; /* without padding; 0 unless docs or batch */
    uint64_t first;  /* documents (rows) of this shard before it */
    uint32_t n;      /* documents of docs, rows of a batch, else 0 */
    uint32_t frame;  /* where it begins */
    uint32_t kind;   /* enum msg_kind */
    uint32_t zero;
};
struct shard_doc {     /* docs shards: every document, in order */
    uint32_t msg;      /* index into msg */
    uint32_t off, len; /* tokens in that message */
    uint16_t source, zero;
};
struct shard_part { /* docs shards: by frame, then by source */
    uint64_t tokens;
    uint32_t frame, ndoc;
    uint16_t source, zero[3];
};
struct shard_index {
    const struct shard_frame *frame;
    const struct shard_msg *msg;
    const struct shard_doc *doc;
    const struct shard_part *part;
    size_t nframe, nmsg, ndoc, npart;
    uint64_t bytes, raw; /* of the shard: file, decompressed */
    uint64_t raw_at;     /* content of the shards before it */
    uint64_t first_seq;
    struct chain before, file;     /* chain before its first message; XXH3-128
                                     * of the shard file */
    uint64_t table_at, table_hash; /* the seek table and its XXH3-64 */
};

/* The manifest.  Strings and arrays are owned by the struct. */
struct shard_source {
    char *name;
    uint64_t docs, tokens; /* documents (pieces of batches), tokens */
};
struct shard_file {
    char *name; /* "00000.shard.zst"; its index "00000.index" */
    uint64_t bytes, raw, frames, messages;
    uint64_t docs, tokens; /* documents (rows), tokens without padding */
    struct chain hash;     /* XXH3-128 of the file */
    uint64_t index_bytes;
    struct chain index_hash;
    struct chain frames_hash; /* of the index without its documents */
};
struct manifest {
    int complete;    /* state: complete, else open */
    char *content;   /* "docs" or "batch"; "" with no message yet */
    char *tokenizer; /* hash, as in the stream message */
    size_t vocab, T;
    enum codec codec;
    int level;
    uint64_t frame_size, shard_size;
    int teacher;                          /* a teacher message is there */
    uint64_t messages, docs, tokens, raw; /* sums over the shards */
    /* The last committed message (meaningless when nfile is 0). */
    uint64_t seq;
    struct chain chain; /* H(seq) */
    char *cursor;       /* its metadata `cursor`, or NULL */
    struct shard_source *source;
    size_t nsource;
    struct shard_file *file;
    size_t nfile;
    struct chain hash; /* of the manifest itself, its last line */
};
/* Read and check DIR/manifest.json.  EX_SYS when it cannot be read. */
int manifest_read(struct manifest *m, const char *dir, struct err *e);
/* Does DIR hold a manifest.json that is a shard directory's, be it damaged: 1;
 * 0: none, or that of something else; -1: it cannot be read. */
int manifest_is_ours(const char *dir, struct err *e);
/* Sources and counts of a manifest from the `stream` message. */
void manifest_begin(struct manifest *m, const struct stream_info *i);
/* Replace DIR/manifest.json. */
int manifest_write(struct manifest *m, const char *dir, struct err *e);
void manifest_release(struct manifest *m);

/* Lock a directory against other writers: a descriptor, whose lock the kernel
 * releases when the process dies; -1. */
int shard_dir_lock(const char *dir, struct err *e);

/* Remove a shard directory (EX_USAGE: it is none) and the shards in it; EX_SYS
 * when other things are in it, which stay. */
int shard_dir_remove(const char *dir, struct err *e);

/* Reading: nothing is built, indexes map on demand.  One thread at a time, but
 * frames and messages of shards whose index has been looked at may be read by
 * several, each with a shard_buf of its own. */
struct shard_set;
/* An `open` directory is refused (EX_INPUT) unless partial. */
struct shard_set *set_open(const char *dir, int partial, struct err *e);
void set_close(struct shard_set *s);
const char *set_dir(const struct shard_set *s);
/* Tell the system not to read ahead in the files: frames will be read out of
 * order, or threads read ahead.  Before any frame is read. */
void set_scatter(struct shard_set *s);
const struct manifest *set_manifest(const struct shard_set *s);
/* The `stream` message, and the `teacher` message; owned by s.  NULL with
 * e->code EX_OK: there is no teacher; else NULL is an error. */
const struct msg *set_head(struct shard_set *s, struct err *e);
const struct msg *set_teacher(struct shard_set *s, struct err *e);
/* Index of shard i < manifest->nfile: mapped and checked on the first call;
 * NULL and *e on damage.  Owned by s. */
const struct shard_index *set_index(struct shard_set *s, size_t i,
    struct err *e);
/* The same, but `doc` must not be read: it is not checked, and where the
 * manifest allows it most of the file is not read either. */
const struct shard_index *set_frames(struct shard_set *s, size_t i,
    struct err *e);
/* Open a shard and compare its size and seek table with the index; -1. */
int shard_open_file(struct shard_set *s, size_t i, struct err *e);

/* Memory for reading; { 0 } is empty; keep one and pass it again. */
struct shard_buf {
    unsigned char *raw; /* the frame decoded last */
    size_t raw_cap, nraw;
    unsigned char *msg; /* one message, its data 64-byte aligned */
    size_t msg_cap;
    unsigned char *comp;
    size_t comp_cap;
    struct frame_dec *dec;
    enum codec codec; /* of dec */
    struct st st;
    int valid;       /* raw holds that frame of the directory whose */
    struct chain of; /* manifest has this hash */
    size_t shard, frame;
};
void shard_buf_release(struct shard_buf *b);
/* Decode a frame into b->raw; checks its hash, checksum and size. */
int set_frame(struct shard_set *s, size_t shard, size_t frame,
    struct shard_buf *b, struct err *e);
/* Decode message `msg` of a shard (frames already in b are not decoded
 * again).  *m points into b until the next call with b. */
int set_msg(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);
/* The same without a copy where that goes: m may lie at any address. */
int set_peek(struct shard_set *s, size_t shard, size_t msg, struct shard_buf *b,
    struct msg *m, struct err *e);

/*
 * Writing.  shardw_open makes DIR (or continues an `open` one: see
 * shardw_put); shardw_put takes every message of a stream in order, `end`
 * included; shard files are committed as they fill.  The first message
 * decides: a `stream` message with next_seq continues an open directory whose
 * last committed message is next_seq - 1 with that chain, and its preamble is
 * compared with the stored one, not stored again; one without next_seq needs
 * a directory that is new or has nothing committed, or opt.force, which
 * removes the shards that were there; another folder is refused even then
 * (EX_USAGE).  After an error only shardw_close is allowed.
 */
struct shard_opts {
    enum codec codec;
    int level;           /* 0: the codec's default */
    uint64_t shard_size; /* a file is closed when it has reached this */
    uint64_t frame_size; /* content of a frame, unless a message is larger */
    uint64_t frame_max;  /* a larger message is cut; 0: 1 GiB */
    int force;
    size_t threads; /* that compress; 0: one a processor.  The bytes
                             * written do not depend on them. */
};
struct shard_writer;
struct shard_writer *shardw_open(const char *dir, const struct shard_opts *o,
    struct err *e);
/* Open a complete directory to add messages: of a stream whose first message
 * is the stored one, which is not put again; `end` completes it.  The last
 * file is written anew, without its `end`, under the next number.  Nothing
 * that the manifest names is touched before the new manifest is there: a
 * writer that dies leaves the directory as it was.  *r (begun by
 * msg_rules_init) knows then what has to follow.  Of *o threads are used. */
struct msg_rules;
struct shard_writer *shardw_append(const char *dir, const struct shard_opts *o,
    struct msg_rules *r, struct err *e);
int shardw_put(struct shard_writer *w, const struct msg *m, struct err *e);
const struct manifest *shardw_manifest(const struct shard_writer *w);
/* Write what waits to be compressed with others: full shards are committed.
 * shardw_close does it too, but cannot say how it went. */
int shardw_settle(struct shard_writer *w, struct err *e);
/* Without `end` the unfinished shard is dropped; what is committed stays, the
 * directory stays open. */
void shardw_close(struct shard_writer *w);

/*
 * A stream made in place and stored: what is imported, merged or repaired.
 * begin starts a message (kind, seq and, where it belongs, chain are set) and
 * copy one with the metadata and tensors of m, without those keys and without
 * `cursor` unless it is asked for, and with `instead` (or NULL) for the tensor
 * of that name; more may be added to the st_out; send
 * checks the message as any reader would and stores it.  Data is borrowed
 * until send.  After an error only shardmk_close is allowed.
 */
struct shard_make;
struct shard_make *shardmk_open(const char *dir, const struct shard_opts *o,
    struct err *e);
struct shard_make *shardmk_append(const char *dir, const struct shard_opts *o,
    struct err *e); /* see shardw_append */
struct st_out *shardmk_begin(struct shard_make *k, enum msg_kind kind);
struct st_out *shardmk_copy(struct shard_make *k, const struct msg *m,
    int cursor, const struct st_tensor *instead);
int shardmk_send(struct shard_make *k, struct err *e);
int shardmk_end(struct shard_make *k, struct err *e);
const struct manifest *shardmk_manifest(const struct shard_make *k);
void shardmk_close(struct shard_make *k);

/*
 * Check everything: manifest, sizes, hashes, seek tables, frames, every
 * message, index against messages, chain, sums.  -1 and EX_INPUT with shard,
 * frame and byte offset of the first damage.  tick (may be NULL) is called
 * with the compressed bytes done so far.
 */
int set_check(const char *dir, int partial,
    void (*tick)(void *ctx, uint64_t done), void *ctx, struct err *e);

/*
 * Store what is intact of a damaged directory in another one, `out`, which
 * must be new (or o->force): every frame that still has its content, found by
 * the index, else by the seek table, else by looking for frames.  Codec, level
 * and sizes stay; those of o are used if the manifest is damaged.  head (may
 * be NULL) describes the stream if its first message is lost: tokenizer,
 * vocab, bos, eos; sources are the manifest's; EX_INPUT without it.  say (may
 * be NULL) is called with a line for everything that is lost.  A manifest or
 * shard that cannot be read now is EX_SYS, not damage.  *l tells how much;
 * shard_loss_release frees what is in it.  The result is a complete directory;
 * 0, or -1.
 */
struct shard_loss {
    size_t frames, lost; /* found; without their content */
    uint64_t messages;   /* missing between others */
    int counted;         /* the manifest was good: the rest is known */
    uint64_t docs, tokens;
    struct shard_source *source; /* [nsource] what is lost of each */
    size_t nsource;
};
int set_repair(const char *dir, const char *out, const struct shard_opts *o,
    const struct stream_info *head, void (*say)(void *ctx, const char *line),
    void *ctx, struct shard_loss *l, struct err *e);
void shard_loss_release(struct shard_loss *l);

#endif
