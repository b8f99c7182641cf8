/* A tokenizer.json as metadata of a GGUF; see gguf_tok_write.h. */
#include "format/gguf_tok_write.h"

#include "base/note.h"
#include "base/utf8.h"
#include "format/json.h"
#include "format/patterns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define MARK "\xe2\x96\x81" /* stands for a space if symbols are characters */
enum {
    SPACES = 64,  /* most spaces in a token of spaces */
    LONGEST = 513 /* above the ranks of runs, below those of other tokens */
};

struct token {
    const char *p; /* n bytes in the JSON; NULL: no token has this id */
    size_t n;
    int kind;
    size_t rank; /* rank of the merges that make it, from 1; 0: no merge does */
};

/* A tokenizer.json, and its values for a GGUF. */
struct src {
    const json_t *tok, *model, *vocab, *merges;
    json_t *added;   /* ids of added tokens by their texts */
    struct token *t; /* [V] */
    size_t V;
    int chars;       /* symbols are characters, not bytes */
    int prefix;      /* a mark is put before a text */
    int add[2];      /* 1: a token is put before [0], after [1] a text */
    const char *pre; /* npre bytes: value of tokenizer.ggml.pre */
    size_t npre;
    struct gguf_ids id;
};

static int
flag(const json_t *j, const char *key, int otherwise)
{
    const json_t *v = json_object_get(j, key);

    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

/* Step i of a normalizer or pre-tokenizer, which lists them in member `list`;
 * NULL after the last one. */
static const json_t *
check_step(const json_t *j, const char *list, size_t i)
{
    if (strcmp(js_text_of(j, "type"), "Sequence") == 0)
        return json_array_get(json_object_get(j, list), i);
    return i == 0 && json_is_object(j) ? j : NULL;
}

/* Describe a pre-tokenizer of byte-level BPE in *b.  Two pre-tokenizers with
 * equal descriptions cut alike. */
static void
describe_pre(const json_t *j, struct buf *b)
{
    const json_t *s;

    buf_clear(b);
    for (size_t i = 0; (s = check_step(j, "pretokenizers", i)) != NULL; i++) {
        const char *rx = js_text_of(json_object_get(s, "pattern"), "Regex");

        buf_addf(b, "%s %s %s %d %d %d %d\n", js_text_of(s, "type"),
            strcmp(rx, RX_CL100K) == 0 ? RX_LLAMA3 : rx,
            js_text_of(s, "behavior"), flag(s, "invert", 0),
            flag(s, "individual_digits", 0), flag(s, "use_regex", 1),
            flag(s, "add_prefix_space", 1));
    }
}

/* Find the value of tokenizer.ggml.pre. */
static int
matching_pre(struct src *s, struct err *e)
{
    const json_t *norm = json_object_get(s->tok, "normalizer");
    const int whole = flag(s->model, "ignore_merges", 0);
    const int is_nfc = strcmp(js_text_of(norm, "type"), "NFC") == 0;
    struct buf want = { 0 }, have = { 0 };
    int nfc, w, found = 0;
    json_t *j;

    describe_pre(json_object_get(s->tok, "pre_tokenizer"), &want);
    for (size_t i = 0;
         !found && (j = gguf_pre_json(i, &s->pre, &s->npre, &nfc, &w)) != NULL;
         i++) {
        describe_pre(j, &have);
        json_decref(j);
        found = strcmp(want.p, have.p) == 0 && nfc == is_nfc && w == whole;
    }
    buf_release(&want);
    buf_release(&have);
    if (found && (is_nfc || check_step(norm, "normalizers", 0) == NULL))
        return 0;
    return err_set(e, EX_INPUT,
        "pre_tokenizer: llama.cpp has no name for this one with this "
        "normalizer and ignore_merges (it has those of GPT-2, SmolLM2, Llama "
        "3, Qwen 2 and 3.5, Tekken, GPT-4o, DeepSeek-V3)");
}

/* Read the steps around SentencePiece's BPE that turn spaces into marks. */
static int
read_marks(struct src *s, struct err *e)
{
    const json_t *norm = json_object_get(s->tok, "normalizer");
    const json_t *pre = json_object_get(s->tok, "pre_tokenizer"), *n;
    const char *scheme = js_text_of(pre, "prepend_scheme");
    const int meta = strcmp(js_text_of(pre, "type"), "Metaspace") == 0;
    size_t i = 0;

    n = check_step(norm, "normalizers", 0);
    if (strcmp(js_text_of(n, "type"), "Prepend") == 0 &&
        strcmp(js_text_of(n, "prepend"), MARK) == 0) {
        s->prefix = 1;
        n = check_step(norm, "normalizers", ++i);
    }
    if (meta && !n && flag(pre, "split", 1) == 0 &&
        strcmp(js_text_of(pre, "replacement"), MARK) == 0) {
        s->prefix = *scheme ? strcmp(scheme, "never") != 0
                            : flag(pre, "add_prefix_space", 1);
        if (s->prefix)
            warn("pre_tokenizer: Metaspace does not put U+2581 before a text "
                 "that begins with a space, or not behind special tokens; "
                 "readers of a GGUF always do");
        return 0;
    }
    if (strcmp(js_text_of(n, "type"), "Replace") != 0 ||
        strcmp(js_text_of(json_object_get(n, "pattern"), "String"), " ") != 0 ||
        strcmp(js_text_of(n, "content"), MARK) != 0 ||
        check_step(norm, "normalizers", i + 1))
        return err_set(e, EX_INPUT,
            "normalizer: a GGUF can only say that spaces become U+2581, with "
            "one before a text or not");
    /* splitting at spaces has no effect: the normalizer has replaced them */
    if (json_is_object(pre) &&
        strcmp(js_text_of(json_object_get(pre, "pattern"), "String"), " ") != 0)
        return err_set(e, EX_INPUT, "pre_tokenizer: %.40s is not supported",
            js_text_of(pre, "type"));
    return 0;
}

static int
read_kind(struct src *s, struct err *e)
{
    const char *type = js_text_of(s->model, "type");
    const json_t *pre = json_object_get(s->tok, "pre_tokenizer"), *p;
    static const char *const none[] = { "dropout", "continuing_subword_prefix",
        "end_of_word_suffix" };

    if ((*type && strcmp(type, "BPE") != 0) || !json_is_object(s->vocab) ||
        !json_is_array(s->merges))
        return err_set(e, EX_INPUT, "model.type: only BPE is supported");
    for (size_t i = 0; i < 3; i++) {
        const json_t *v = json_object_get(s->model, none[i]);

        if (v && !json_is_null(v) &&
            (!json_is_string(v) || json_string_length(v) > 0))
            return err_set(e, EX_INPUT, "model.%s: is not supported", none[i]);
    }
    s->chars = 1;
    for (size_t i = 0; (p = check_step(pre, "pretokenizers", i)) != NULL; i++)
        if (strcmp(js_text_of(p, "type"), "ByteLevel") == 0)
            s->chars = 0;
    if (!s->chars)
        return matching_pre(s, e);
    if (flag(s->model, "ignore_merges", 0))
        return err_set(e, EX_INPUT, "model.ignore_merges: is not supported");
    if (!*js_text_of(s->model, "unk_token"))
        return err_set(e, EX_INPUT, "model.unk_token: is missing");
    if (!flag(s->model, "byte_fallback", 0) && !flag(s->model, "fuse_unk", 0))
        return err_set(e, EX_INPUT, "model.fuse_unk: false is not supported");
    return read_marks(s, e);
}

/* Id of the token with this text; -1: there is none. */
static int64_t
find_step(const struct src *s, const char *text)
{
    const json_t *v = json_object_get(s->added, text);

    v = v ? v : json_object_get(s->vocab, text);
    return v ? json_integer_value(v) : -1;
}

static int
is_byte(const char *s, size_t n)
{
    return n == 6 && memcmp(s, "<0x", 3) == 0 && s[5] == '>' &&
        strspn(s + 3, "0123456789ABCDEF") == 2;
}

/* Set the text and kind of the token with this id.  Ids past the model's rows
 * are ignored.  -1: the token already has another text. */
static int
set_token(struct src *s, size_t id, const char *text, int kind)
{
    struct token *t = s->t + (id < s->V ? id : 0);

    if (id >= s->V)
        return 0;
    if (t->p && strcmp(t->p, text) != 0)
        return -1;
    t->p = text;
    t->n = strlen(text);
    t->kind = kind;
    return 0;
}

/* Read an added token.  As in the tokenizers library, the id in the file is
 * ignored: a token of the vocabulary has its id there, any other token gets the
 * id *next, which is then increased. */
static int
read_added(struct src *s, const json_t *a, size_t *next, struct err *e)
{
    static const char *const flags[] = { "lstrip", "rstrip", "single_word" };
    const char *text = js_text_of(a, "content");
    const int64_t have = find_step(s, text);
    size_t id;

    if (!*text)
        return 0;
    id = have < 0 ? (*next)++ : (size_t)have;
    json_object_set_new(s->added, text, json_integer((json_int_t)id));
    for (size_t i = 0; id < s->V && i < 3; i++)
        if (flag(a, flags[i], 0))
            return err_set(e, EX_INPUT,
                "added_tokens: \"%.60s\": a GGUF has no key for %s", text,
                flags[i]);
    if (set_token(s, id, text,
            flag(a, "special", 0) ? GGUF_CONTROL : GGUF_USER) < 0)
        return err_set(e, EX_INPUT,
            "added_tokens: \"%.60s\" is given the id %zu, which \"%.60s\" has: "
            "give the vocabulary's tokens ids without a gap",
            text, id, s->t[id].p);
    return 0;
}

static int
read_tokens(struct src *s, struct err *e)
{
    const json_t *list = json_object_get(s->tok, "added_tokens");
    size_t next = json_object_size(s->vocab);
    const char *text;
    json_t *v;

    json_object_foreach((json_t *)s->vocab, text, v)
    {
        const json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0)
            return err_set(e, EX_INPUT, "model.vocab: \"%.60s\" has no id",
                text);
        if (set_token(s, (size_t)id, text,
                s->chars && is_byte(text, strlen(text)) ? GGUF_BYTE
                                                        : GGUF_NORMAL) < 0)
            return err_set(e, EX_INPUT, "model.vocab: id %lld is there twice",
                (long long)id);
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_added(s, json_array_get(list, i), &next, e) < 0)
            return -1;
    if (s->chars) {
        const int64_t unk = find_step(s, js_text_of(s->model, "unk_token"));

        if (unk < 0 || (size_t)unk >= s->V)
            return err_set(e, EX_INPUT, "model.unk_token: is no token");
        s->t[unk].kind = GGUF_UNKNOWN;
        s->id.v[GGUF_UNK] = unk;
    }
    return 0;
}

/* Write to *b the two parts of merge i, "a b" or ["a", "b"], with `between`
 * between them. */
static int
join_merge(const struct src *s, size_t i, const char *between, struct buf *b,
    struct err *e)
{
    const json_t *m = json_array_get(s->merges, i);
    const char *p = json_string_value(m), *gap = p ? strchr(p, ' ') : NULL;
    const char *left = json_string_value(json_array_get(m, 0));
    const char *right = json_string_value(json_array_get(m, 1));

    buf_clear(b);
    if (gap)
        buf_add(b, p, (size_t)(gap - p));
    else
        buf_adds(b, left ? left : "");
    buf_adds(b, between);
    buf_adds(b, gap ? gap + 1 : right ? right : "");
    return gap || (left && right)
        ? 0
        : err_set(e, EX_INPUT, "model.merges: number %zu is no pair", i);
}

/* The length in characters of a run of one character, else 0; *k: bytes of the
 * character. */
static size_t
repeats(const char *p, size_t n, size_t *k)
{
    *k = n > 0 ? utf8_len((const unsigned char *)p, n) : 1;
    return n > 0 && n % *k == 0 && memcmp(p, p + *k, n - *k) == 0 ? n / *k : 0;
}

/* The token that merge i makes; *b: its text. */
static struct token *
made_by(const struct src *s, size_t i, struct buf *b, struct err *e)
{
    const json_t *v;

    if (join_merge(s, i, "", b, e) < 0)
        return NULL;
    v = json_object_get(s->vocab, b->p);
    if (v && (size_t)json_integer_value(v) < s->V)
        return &s->t[json_integer_value(v)];
    err_set(e, EX_INPUT, "model.merges: number %zu makes no token", i);
    return NULL;
}

/*
 * Rank the merges that make runs of one character (spaces, newlines).  Gemma's
 * list begins with them.  For each character, the merge that makes a run of two
 * comes after the merges that make longer runs.  So a run grows from its left
 * end until it is the longest token; higher scores for longer runs have the
 * same effect.  Returns the number of these merges; 0: there are none, or they
 * are in another order.
 */
static size_t
score_runs(struct src *s)
{
    struct buf b = { 0 };
    char ended[16][4] = { "" };
    size_t n = 0, nended = 0, len, k;
    struct token *t;
    int good = 1;

    while (n < json_array_size(s->merges) &&
        (t = made_by(s, n, &b, NULL)) != NULL &&
        (len = repeats(b.p, b.n, &k)) > 1 && len < LONGEST) {
        for (size_t i = 0; i < nended; i++)
            good &= memcmp(ended[i], b.p, k) != 0;
        if (len == 2 && nended < 16)
            memcpy(ended[nended++], b.p, k);
        n++;
    }
    for (size_t i = 0; good && i < n; i++) {
        t = made_by(s, i, &b, NULL);
        t->rank = LONGEST - repeats(b.p, b.n, &k);
    }
    buf_release(&b);
    return good ? n : 0;
}

/*
 * Rank tokens by their merges.  All merges that make one token must be
 * adjacent; the position of this group is the token's rank.  If the tokenizer
 * came from a GGUF, "retort_ties" lists merges of equal rank.
 */
static int
score_tokens(struct src *s, struct err *e)
{
    const json_t *ties = json_object_get(s->model, "retort_ties");
    size_t rank = LONGEST, ntie = 0;
    const struct token *last = NULL;
    struct buf b = { 0 };
    int r = 0;

    for (size_t i = score_runs(s); r == 0 && i < json_array_size(s->merges);
         i++) {
        const json_t *tie = json_array_get(ties, ntie);
        const size_t from = (size_t)json_integer_value(json_array_get(tie, 0));
        const size_t end =
            from + (size_t)json_integer_value(json_array_get(tie, 1));
        struct token *t = made_by(s, i, &b, e);

        if (!t) {
            r = -1;
            break;
        }
        rank += t != last && !(tie && i > from && i < end);
        ntie += tie && i + 1 >= end;
        if (t->rank > 0 && t->rank != rank)
            r = err_set(e, EX_INPUT,
                "model.merges: number %zu makes a token that others above "
                "make too, and not beside it: a GGUF has one score for it",
                i);
        t->rank = rank;
        last = t;
    }
    buf_release(&b);
    for (size_t i = 0; i < s->V; i++)
        if (s->t[i].rank == 0)
            s->t[i].rank = rank + 1;
    return r;
}

/* Read the template: at most one token before each text, and one after it. */
static int
read_template(struct src *s, const json_t *post, struct err *e)
{
    const json_t *list = json_object_get(post, "single"), *p;
    const json_t *all = json_object_get(post, "special_tokens");
    const char *type = js_text_of(post, "type");
    int behind = 0;

    if (!post || json_is_null(post) || strcmp(type, "ByteLevel") == 0)
        return 0;
    if (strcmp(type, "Sequence") == 0) {
        list = json_object_get(post, "processors");
        for (size_t i = 0; i < json_array_size(list); i++)
            if (read_template(s, json_array_get(list, i), e) < 0)
                return -1;
        return 0;
    }
    if (strcmp(type, "TemplateProcessing") != 0)
        return err_set(e, EX_INPUT, "post_processor: %.40s is not supported",
            type);
    for (size_t i = 0; (p = json_array_get(list, i)) != NULL; i++) {
        const json_t *sp = json_object_get(p, "SpecialToken");
        const char *name = js_text_of(sp, "id");
        const json_t *ids = json_object_get(json_object_get(all, name), "ids");
        const json_t *id = json_array_get(ids, 0);

        if (!sp) {
            behind = 1;
            continue;
        }
        if (s->add[behind]++ || json_array_size(ids) != 1)
            return err_set(e, EX_INPUT,
                "post_processor: a GGUF can only say one token before a text "
                "and one behind it");
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            (size_t)json_integer_value(id) >= s->V ||
            !s->t[json_integer_value(id)].p)
            return err_set(e, EX_INPUT,
                "post_processor: %.60s is no token of the model", name);
        s->id.v[behind ? GGUF_EOS : GGUF_BOS] = json_integer_value(id);
    }
    return 0;
}

static void
put_tokens(struct gguf_out *o, const struct src *s)
{
    static const char key[] = "tokenizer.ggml.tokens";
    char text[SPACES];
    size_t run, k;

    gguf_out_array(o, key, GGUF_STR, s->V);
    for (size_t i = 0; i < s->V; i++) {
        const struct token *t = &s->t[i];

        if (!t->p) {
            snprintf(text, sizeof text, "[PAD%zu]", i);
            gguf_out_text(o, text, strlen(text));
        } else if (s->chars && t->kind == GGUF_USER &&
            strncmp(t->p, MARK, strlen(MARK)) == 0 &&
            (run = repeats(t->p, t->n, &k)) > 0 && run <= SPACES) {
            memset(text, ' ', sizeof text); /* a GGUF has spaces, not marks */
            gguf_out_text(o, text, run);
        } else {
            gguf_out_text(o, t->p, t->n);
        }
    }
    gguf_out_array(o, "tokenizer.ggml.token_type", GGUF_I32, s->V);
    for (size_t i = 0; i < s->V; i++)
        gguf_out_num(o, (uint64_t)(s->t[i].p ? s->t[i].kind : GGUF_UNUSED), 4);
}

static int
write_merges(struct gguf_out *o, const struct src *s, struct err *e)
{
    const size_t n = json_array_size(s->merges);
    struct buf b = { 0 };
    int r = 0;

    if (s->chars) {
        gguf_out_array(o, "tokenizer.ggml.scores", GGUF_F32, s->V);
        for (size_t i = 0; i < s->V; i++) {
            const float f = -(float)s->t[i].rank;
            uint32_t u;

            memcpy(&u, &f, sizeof u);
            gguf_out_num(o, u, sizeof u);
        }
        return 0;
    }
    gguf_out_array(o, "tokenizer.ggml.merges", GGUF_STR, n);
    for (size_t i = 0; r == 0 && i < n; i++)
        if ((r = join_merge(s, i, " ", &b, e)) == 0)
            gguf_out_text(o, b.p, b.n);
    buf_release(&b);
    return r;
}

/* Set the ids of special tokens that tokenizer_config.json names.  As in
 * tokenize, BOS and EOS are replaced unless the template has set them.  The
 * other ids are set if they are missing or no token has them. */
static void
name_specials(struct src *s, const json_t *config)
{
    for (int i = 0; i < GGUF_SPECIALS; i++) {
        const json_t *v = json_object_get(config, gguf_special[i][0]);
        const char *text =
            json_is_object(v) ? js_text_of(v, "content") : json_string_value(v);
        const int64_t named = text ? find_step(s, text) : -1;
        const int first = i == GGUF_BOS ? !s->add[0]
            : i == GGUF_EOS             ? !s->add[1]
                                        : 0;
        int64_t *id = &s->id.v[i];

        if (*id >= 0 && (size_t)*id < s->V && !s->t[*id].p)
            *id = -1;
        if (named >= 0 && (first || *id < 0))
            *id = named;
    }
}

/* Is ends[i] EOS, or equal to an earlier id of the list? */
static int
is_repeated(const json_t *ends, size_t i, int64_t eos)
{
    const json_int_t id = json_integer_value(json_array_get(ends, i));
    int same = id == eos;

    while (!same && i-- > 0)
        same = id == json_integer_value(json_array_get(ends, i));
    return same;
}

static void
put_ends(struct gguf_out *o, const struct gguf_ids *id, size_t V)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(id->ends); i++) {
        const json_int_t end = json_integer_value(json_array_get(id->ends, i));

        if (end < 0 || (size_t)end >= V ||
            is_repeated(id->ends, i, id->v[GGUF_EOS]))
            continue;
        if (n < GGUF_ENDS)
            gguf_out_u32(o, gguf_ends[n], (size_t)end);
        n++;
    }
    if (n > GGUF_ENDS)
        warn("eos_token_id: a GGUF names three ids that end a text; %zu more "
             "are left out",
            n - GGUF_ENDS);
}

void
gguf_out_ids(struct gguf_out *o, const struct gguf_ids *id, size_t V)
{
    for (int i = 0; i < GGUF_SPECIALS; i++)
        if (id->v[i] >= 0 && (size_t)id->v[i] < V)
            gguf_out_u32(o, gguf_special[i][1], (size_t)id->v[i]);
    put_ends(o, id, V);
}

/* A chat template's name for use in a key: ASCII letters and digits, "_" for
 * any other character.  The caller frees it. */
static char *
chat_name(const char *s)
{
    char *name = xstrdup(s), *to = name;

    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;

        if ((c & 0xc0) != 0x80) /* the first byte of a character */
            *to++ = c < 128 && isalnum(c) ? *s : '_';
    }
    *to = '\0';
    return name;
}

/* Write chat templates, a text or a list of {name, template}, as the gguf
 * package does; of two with the same name the later is written. */
static void
put_chats(struct gguf_out *o, const json_t *chat)
{
    json_t *named = json_object(), *text;
    const char *name;

    if (json_is_string(chat))
        json_object_set(named, "default", (json_t *)(uintptr_t)chat);
    for (size_t i = 0; i < json_array_size(chat); i++) {
        const json_t *one = json_array_get(chat, i);
        char *key = chat_name(js_text_of(one, "name"));

        text = json_object_get(one, "template");
        if (*key && json_is_string(text))
            json_object_set(named, key, text);
        free(key);
    }
    text = json_object_get(named, "default");
    if (text)
        gguf_out_str(o, GGUF_CHAT, json_string_value(text),
            json_string_length(text));
    json_object_del(named, "default");
    json_object_foreach(named, name, text)
    {
        char *key = xasprintf("%s.%s", GGUF_CHAT, name);

        gguf_out_str(o, key, json_string_value(text), json_string_length(text));
        free(key);
    }
    if (json_object_size(named) > 0)
        gguf_out_array(o, GGUF_CHAT "s", GGUF_STR, json_object_size(named));
    json_object_foreach(named, name, text) gguf_out_text(o, name, strlen(name));
    json_decref(named);
}

static void
put_rest(struct gguf_out *o, const struct src *s, const json_t *config)
{
    gguf_out_ids(o, &s->id, s->V);
    gguf_out_bool(o, "tokenizer.ggml.add_bos_token", s->add[0]);
    gguf_out_bool(o, "tokenizer.ggml.add_eos_token", s->add[1]);
    if (s->chars)
        gguf_out_bool(o, "tokenizer.ggml.add_space_prefix", s->prefix);
    put_chats(o, json_object_get(config, "chat_template"));
}

static int
by_id_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/*
 * Read the scores back: every merge that they mean must be one of the
 * original's, in the order of the groups.  Then ids are the same: each token
 * has only one last merge (gguf_spm.h says why), and that merge is the same in
 * both lists.
 */
static int
read_back(const struct src *s, const struct gguf_out *o, struct err *e)
{
    const size_t n = json_array_size(s->merges);
    uint64_t *all = xreallocarray(NULL, n + 1, sizeof *all);
    struct src back = *s;
    size_t rank = 0;
    struct buf b = { 0 };
    struct gguf g;
    json_t *j = NULL;
    int r = -1;

    gguf_out_head(o, &b);
    if (gguf_parse_metadata(&g, b.p, b.n, e) < 0)
        goto done;
    j = gguf_tokenizer_json(&g, e);
    gguf_release(&g);
    if (!j)
        goto done;
    r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        if ((r = join_merge(s, i, " ", &b, e)) == 0)
            all[i] = XXH3_64bits(b.p, b.n);
    qsort(all, n, sizeof *all, by_id_value);
    back.merges = json_object_get(json_object_get(j, "model"), "merges");
    for (size_t i = 0; r == 0 && i < json_array_size(back.merges); i++) {
        const struct token *t = made_by(&back, i, &b, e);
        uint64_t h;

        if (!t || join_merge(&back, i, " ", &b, e) < 0) {
            r = -1;
            break;
        }
        h = XXH3_64bits(b.p, b.n);
        if (!bsearch(&h, all, n, sizeof *all, by_id_value) || t->rank < rank)
            r = err_set(e, EX_INPUT,
                "model.merges: scores would also merge \"%.60s\", or in "
                "another order",
                b.p);
        rank = t->rank;
    }
done:
    json_decref(j);
    buf_release(&b);
    free(all);
    return r;
}

int
gguf_out_tokenizer(struct gguf_out *o, const json_t *tok, const json_t *config,
    size_t V, const struct gguf_ids *id, struct err *e)
{
    const json_t *model = json_object_get(tok, "model");
    struct src s = { .tok = tok,
        .model = model,
        .vocab = json_object_get(model, "vocab"),
        .merges = json_object_get(model, "merges"),
        .V = V,
        .pre = "default",
        .npre = strlen("default"),
        .id = *id };
    struct gguf_out own = { 0 };
    int r = -1;

    s.t = xcalloc(V, sizeof *s.t);
    s.added = json_object();
    if (read_kind(&s, e) < 0 || read_tokens(&s, e) < 0 ||
        read_template(&s, json_object_get(tok, "post_processor"), e) < 0 ||
        (s.chars && score_tokens(&s, e) < 0))
        goto done;
    name_specials(&s, config);
    gguf_out_str(&own, "tokenizer.ggml.model", s.chars ? "llama" : "gpt2",
        s.chars ? 5 : 4);
    gguf_out_str(&own, "tokenizer.ggml.pre", s.pre, s.npre);
    put_tokens(&own, &s);
    if (write_merges(&own, &s, e) < 0)
        goto done;
    put_rest(&own, &s, config);
    if ((r = read_back(&s, &own, e)) == 0) {
        buf_add(&o->kv, own.kv.p, own.kv.n);
        o->nkv += own.nkv;
    }
done:
    gguf_out_release(&own);
    json_decref(s.added);
    free(s.t);
    return r;
}
