/*
 * The student's tokenizer, where it is not the teacher's: see
 * student_tokenizer.h.  In a piece's byte counts a special token is one byte,
 * the teacher's BOS none.
 */
#include "student_tokenizer.h"
#include "shared_vocab.h"
#include "base/mem.h"
#include "cli/die.h"
#include "tok/tok.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct student_tokenizer {
    struct tokenizer *student, *teacher;
    struct tok_scratch *scratch; /* work space of `teacher` */
    struct shared_vocab shared;
    char hash[33], teacher_hash[33];
    size_t V; /* ids of the teacher's model */
    const struct batch *from;
    /* the teacher's tokens of the current batch, piece by piece: ids, and the
     * byte of its piece at which each token ends */
    struct tok_ids ids, end;
    size_t *row;          /* [B+1] index in ids where each row begins */
    size_t cap_row;       /* room in row */
    uint32_t *end_s;      /* [T] bytes of the piece up to the end of each token
                           * of the student */
    size_t cap_T;         /* room in end_s */
    struct buf text, own; /* a part of a piece; the bytes that some tokens
                           * decode to */
    struct align_target *target; /* [B,T] */
    size_t cap;                  /* room in target */
};

struct student_tokenizer *
student_tokenizer_new(const char *path, const char *model, size_t V)
{
    struct student_tokenizer *s = xcalloc(1, sizeof *s);
    struct err e;

    if ((s->student = tok_open(path, &e)) == NULL ||
        (s->teacher = tok_open(model, &e)) == NULL)
        die_err(&e);
    tok_hash(s->student, s->hash);
    tok_hash(s->teacher, s->teacher_hash);
    if (strcmp(s->hash, s->teacher_hash) == 0) {
        student_tokenizer_free(s);
        return NULL;
    }
    if (tok_fit(s->teacher, model, V, NULL, &e) < 0)
        die_err(&e);
    s->V = V;
    s->scratch = tok_scratch_new(s->teacher);
    shared_vocab_make(&s->shared, s->student, s->teacher, V);
    return s;
}

void
student_tokenizer_free(struct student_tokenizer *s)
{
    if (s == NULL)
        return;
    tok_scratch_free(s->scratch);
    tok_free(s->student);
    tok_free(s->teacher);
    shared_vocab_release(&s->shared);
    tok_ids_release(&s->ids);
    tok_ids_release(&s->end);
    buf_release(&s->text);
    buf_release(&s->own);
    free(s->row);
    free(s->end_s);
    free(s->target);
    free(s);
}

const char *
student_tokenizer_hash(const struct student_tokenizer *s)
{
    return s->hash;
}

const char *
student_tokenizer_teacher_hash(const struct student_tokenizer *s)
{
    return s->teacher_hash;
}

size_t
student_tokenizer_vocab(const struct student_tokenizer *s)
{
    return tok_vocab(s->student);
}

void
student_tokenizer_shared(const struct student_tokenizer *s,
    const uint32_t **teacher, const uint32_t **student, size_t *n)
{
    *teacher = s->shared.teacher;
    *student = s->shared.student;
    *n = s->shared.n;
}

const struct batch *
student_tokenizer_from(const struct student_tokenizer *s)
{
    return s->from;
}

const struct align_target *
student_tokenizer_targets(const struct student_tokenizer *s)
{
    return s->target;
}

/* Append the bytes of ids [n] to *out. */
static void
add_bytes(const struct tokenizer *t, const uint32_t *ids, size_t n, int flags,
    struct buf *out)
{
    struct err e;
    const int r = tok_decode(t, ids, n, flags, out, &e);

    assert(r == 0); /* ids come from a checked stream or from tok_encode */
    (void)r;
}

static void
push_teacher_token(struct student_tokenizer *s, uint32_t id, size_t end)
{
    tok_ids_push(&s->ids, id);
    tok_ids_push(&s->end, (uint32_t)end);
}

/* Number of bytes that a[na] and b[nb] have in common at their beginning. */
static size_t
common_bytes(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = 0;

    while (n < na && n < nb && a[n] == b[n])
        n++;
    return n;
}

/*
 * Append the teacher's tokens of s->text, which begins at byte `at` of the
 * piece.  A space that the tokenizer puts before every text counts as no byte.
 * If a token does not give the text's bytes back, or the model lacks it, this
 * token and all after it are left out.  Returns 1; 0: some were left out.
 */
static int
add_teacher_text(struct student_tokenizer *s, size_t at)
{
    const size_t from = s->ids.n;
    size_t same, lead = 0, n = 0, keep, all;

    tok_encode(s->teacher, s->scratch, s->text.p, s->text.n, 0, &s->ids);
    all = s->ids.n;
    buf_clear(&s->own);
    add_bytes(s->teacher, s->ids.v + from, s->ids.n - from, TOK_MIDDLE,
        &s->own);
    same = common_bytes(s->text.p, s->text.n, s->own.p, s->own.n);
    if (same < s->text.n && s->own.n > s->text.n && s->own.p[0] == ' ') {
        const size_t moved =
            common_bytes(s->text.p, s->text.n, s->own.p + 1, s->own.n - 1);

        lead = moved > same;
        same = lead ? moved : same;
    }
    for (keep = from; keep < s->ids.n; keep++) {
        buf_clear(&s->own);
        add_bytes(s->teacher, s->ids.v + keep, 1, TOK_MIDDLE, &s->own);
        n += s->own.n;
        if (n > same + lead || s->ids.v[keep] >= s->V)
            break;
        tok_ids_push(&s->end, (uint32_t)(at + (n > lead ? n - lead : 0)));
    }
    s->ids.n = keep;
    return same == s->text.n && n == same + lead && keep == all;
}

/* Set s->text to the text of n tokens of the student, and `end` [n] to the byte
 * of the piece at which each ends; the first begins at byte `at`.  flags: 0, or
 * TOK_MIDDLE if they do not begin a document. */
static void
read_student_text(struct student_tokenizer *s, const uint32_t *ids, size_t n,
    size_t at, int flags, uint32_t *end)
{
    size_t sum = 0, lead;

    buf_clear(&s->text);
    add_bytes(s->student, ids, n, TOK_MIDDLE, &s->text);
    lead = s->text.n;
    buf_clear(&s->text);
    add_bytes(s->student, ids, n, flags, &s->text);
    lead -= s->text.n; /* a space that the tokenizer puts before a text */
    for (size_t i = 0; i < n; i++) {
        buf_clear(&s->own);
        add_bytes(s->student, ids + i, 1, TOK_MIDDLE, &s->own);
        sum += s->own.n;
        end[i] = (uint32_t)(at + (sum > lead ? sum - lead : 0));
    }
}

/* Set s->end_s for the n tokens of a piece, and append the teacher's tokens for
 * the same text.  begins: the piece is the beginning of its document. */
static void
encode_piece(struct student_tokenizer *s, const uint32_t *ids, size_t n,
    int begins)
{
    const int64_t bos = tok_template_bos(s->teacher);
    size_t at = 0, i = 0, to;
    int whole = 1; /* 0: a part of the piece has no tokens of the teacher */

    if (bos >= 0)
        push_teacher_token(s, (uint32_t)bos, 0);
    if (begins && (int64_t)ids[0] == tok_bos(s->student))
        s->end_s[i++] = 0;
    for (; i < n; i = to) {
        for (to = i; to < n && !tok_is_special(s->student, ids[to]);)
            to++;
        if (to > i) {
            const int first = begins && at == 0;

            read_student_text(s, ids + i, to - i, at, first ? 0 : TOK_MIDDLE,
                s->end_s + i);
            whole = whole && add_teacher_text(s, at);
            at += s->text.n;
            continue;
        }
        s->end_s[to++] = (uint32_t)++at;
        if (s->shared.twin[ids[i]] == SHARED_NONE)
            whole = 0;
        if (whole)
            push_teacher_token(s, s->shared.twin[ids[i]], at);
    }
}

static void
reserve_targets(struct student_tokenizer *s, size_t B, size_t T)
{
    if (B * T > s->cap) {
        free(s->target);
        s->target = xreallocarray(NULL, B * T, sizeof *s->target);
        s->cap = B * T;
    }
    if (B + 1 > s->cap_row) {
        s->row = xreallocarray(s->row, B + 1, sizeof *s->row);
        s->cap_row = B + 1;
    }
    if (T > s->cap_T) {
        s->end_s = xreallocarray(s->end_s, T, sizeof *s->end_s);
        s->cap_T = T;
    }
    memset(s->target, 0, B * T * sizeof *s->target); /* ALIGN_NONE */
}

/* Make room for the teacher's rows, and fill them with padding. */
static void
reserve_rows(struct batch *b, size_t B, size_t T)
{
    b->B = B;
    b->T = T;
    if (B * T > b->cap_bt) {
        free(b->ids);
        free(b->first);
        b->ids = xreallocarray(NULL, B * T, sizeof *b->ids);
        b->first = xreallocarray(NULL, B * T, sizeof *b->first);
        b->cap_bt = B * T;
    }
    memset(b->ids, 0, B * T * sizeof *b->ids);
    memset(b->first, 0xff, B * T * sizeof *b->first); /* BATCH_PAD */
}

/* Encode and align piece p, whose first token is number `at` of the batch.
 * Targets count the teacher's tokens from the beginning of the row. */
static void
align_batch_piece(struct student_tokenizer *s, const struct batch *b, size_t p,
    size_t at)
{
    const size_t from = s->ids.n, n = b->piece_len[p];
    struct align_side student = { b->ids + at, s->end_s, n }, teacher;
    const size_t begin = from - s->row[b->piece_row[p]];

    encode_piece(s, b->ids + at, n, b->piece_off[p] == 0);
    teacher = (struct align_side){ s->ids.v + from, s->end.v + from,
        s->ids.n - from };
    align_piece(&student, &teacher, s->shared.twin, s->target + at);
    for (size_t i = at; i < at + n; i++)
        s->target[i].at += (uint32_t)begin;
    /* from here on `end` holds the first token of the piece, within its row */
    for (size_t j = from; j < s->ids.n; j++)
        s->end.v[j] = (uint32_t)begin;
}

void
student_tokenizer_batch(struct student_tokenizer *s, const struct batch *from,
    struct batch *to)
{
    size_t T = 1, row = 0, at = 0;

    s->from = from;
    reserve_targets(s, from->B, from->T);
    s->ids.n = s->end.n = 0;
    s->row[0] = 0;
    for (size_t p = 0; p < from->P; p++) {
        for (; row < from->piece_row[p]; at = 0)
            s->row[++row] = s->ids.n;
        align_batch_piece(s, from, p, row * from->T + at);
        at += from->piece_len[p];
    }
    while (row < from->B)
        s->row[++row] = s->ids.n;
    for (size_t b = 0; b < from->B; b++)
        T = s->row[b + 1] - s->row[b] > T ? s->row[b + 1] - s->row[b] : T;
    reserve_rows(to, from->B, T);
    to->ntok = s->ids.n;
    for (size_t b = 0; b < from->B; b++) {
        const size_t n = s->row[b + 1] - s->row[b];

        memcpy(to->ids + b * T, s->ids.v + s->row[b], n * sizeof *to->ids);
        memcpy(to->first + b * T, s->end.v + s->row[b], n * sizeof *to->first);
    }
    for (size_t i = 0; i < from->B * from->T; i++)
        s->target[i].at += (uint32_t)(i / from->T * T);
}
