/* The tokenizer inside a GGUF; see gguf_tok.h. */
#include "format/gguf_tok.h"
#include "format/gguf_sampling.h"

#include "format/gguf_spm.h"
#include "format/names.h"
#include "format/patterns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* The vocabulary of a GGUF: its tokens, also sorted by text, and their
 * kinds. */
struct vocab {
    const struct gguf *g;
    struct str *tok;    /* [n] by id */
    struct str *sorted; /* [nsorted] tokens that a merge can name, by text */
    size_t n, nsorted;
    int chars;             /* symbols are characters, not bytes */
    const struct pre *pre; /* NULL if chars */
    const struct gguf_kv *kind, *merges, *score;
};

#define MARK "\xe2\x96\x81" /* stands for a space if symbols are characters */
#define MARKS MARK MARK MARK MARK MARK MARK MARK MARK
static const char marks[] = MARKS MARKS MARKS MARKS MARKS MARKS MARKS MARKS;

/* The pre-tokenizers of byte-level BPE, by the names of tokenizer.ggml.pre,
 * between spaces.  Names with the same pattern in llama.cpp share a line. */
static const struct pre {
    const char *regex; /* NULL: GPT-2's pattern */
    int digits;        /* each digit is a piece; the pattern cuts the rest */
    int nfc;           /* the family normalizes to NFC, which a GGUF does not
                        * say and llama.cpp does not do */
    int whole;         /* a piece that is a token needs no merges */
    int bos;           /* add_bos_token by default */
    const char *names;
} pres[] = { { NULL, 0, 0, 0, 0,
                 " gpt-2 phi-2 jais trillion granite-docling gigachat "
                 "a.x-4.0 mellum exaone4 " },
    { NULL, 0, 1, 0, 0, " mpt olmo " }, /* GPT-NeoX's */
    { NULL, 1, 0, 0, 0,
        " smollm starcoder refact codeshell exaone minerva-7b mellum2 " },
    { NULL, 1, 1, 0, 0, " command-r " },
    { RX_LLAMA3, 0, 0, 1, 1,
        " llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 " },
    { RX_LLAMA3, 0, 0, 0, 0, " dbrx smaug-bpe chatglm-bpe " },
    { RX_LLAMA3, 0, 0, 1, 0, " glm4 glm5 " },
    { RX_QWEN2, 0, 1, 0, 0, " qwen2 " },
    { RX_QWEN2, 0, 0, 0, 0,
        " deepseek-r1-qwen stablelm2 hunyuan megrez kormo solar-open grok-2 " },
    { RX_QWEN35, 0, 1, 0, 0, " qwen35 " },
    { RX_TEKKEN, 0, 0, 1, 1, " tekken " },
    { RX_O200K, 0, 0, 0, 0, " gpt-4o llama4 kanana2 talkie minimax-m2 " },
    { RX_DEEPSEEK, 0, 0, 0, 0,
        " deepseek-v3 hunyuan-dense joyai-llm hy_v4 " } };

static int
by_token_text(const void *a, const void *b)
{
    const struct str *x = a, *y = b;
    const size_t n = x->n < y->n ? x->n : y->n;
    const int r = memcmp(x->p, y->p, n);

    return r ? r : (x->n > y->n) - (x->n < y->n);
}

static int
kind_of_token(const struct vocab *v, size_t id)
{
    return v->kind ? (int)gguf_int(v->kind, id) : GGUF_NORMAL;
}

static const struct gguf_kv *
array(const struct gguf *g, const char *key, enum gguf_type elem, struct err *e)
{
    const struct gguf_kv *a = gguf_kv(g, key);

    if (!a || a->type != GGUF_ARRAY || a->elem != elem) {
        err_set(e, EX_INPUT, "%s: %s", key,
            a ? "is no such list" : "is missing");
        return NULL;
    }
    return a;
}

/* Find the lists beside the n tokens: their kinds, and merges or scores. */
static int
read_lists(struct vocab *v, const struct gguf *g, size_t n, struct err *e)
{
    v->g = g;
    v->chars = !gguf_is(g, "tokenizer.ggml.model", "gpt2");
    v->kind = gguf_kv(g, "tokenizer.ggml.token_type");
    if ((v->chars && !v->kind) ||
        (v->kind &&
            (v->kind->type != GGUF_ARRAY || v->kind->elem != GGUF_I32 ||
                v->kind->n != n)))
        return err_set(e, EX_INPUT,
            "tokenizer.ggml.token_type: is no list of %zu kinds", n);
    if (!gguf_is(g, "tokenizer.ggml.model", "llama")) {
        v->merges = array(g, "tokenizer.ggml.merges", GGUF_STR, e);
        return v->merges ? 0 : -1;
    }
    v->score = array(g, "tokenizer.ggml.scores", GGUF_F32, e);
    if (!v->score)
        return -1;
    return v->score->n == n
        ? 0
        : err_set(e, EX_INPUT,
              "tokenizer.ggml.scores: has %zu numbers, not %zu", v->score->n,
              n);
}

static int
has_token(const struct vocab *v, const char *p, size_t n)
{
    const struct str s = { p, n };

    return bsearch(&s, v->sorted, v->nsorted, sizeof s, by_token_text) != NULL;
}

/* Turn user-defined tokens of several spaces into as many marks (U+2581).
 * SentencePiece's model and the published tokenizer.json have marks in these
 * tokens; llama.cpp's converter writes spaces.  A token stays as it is if
 * another token has those marks already. */
static void
mark_runs(struct vocab *v)
{
    for (size_t i = 0; has_token(v, MARK, strlen(MARK)) && i < v->n; i++) {
        const struct str s = v->tok[i];
        const size_t n = s.n * strlen(MARK);

        if (kind_of_token(v, i) == GGUF_USER && n < sizeof marks &&
            s.p[0] == ' ' && memcmp(s.p, s.p + 1, s.n - 1) == 0 &&
            !has_token(v, marks, n))
            v->tok[i] = (struct str){ marks, n };
    }
}

static int
read_vocab(struct vocab *v, const struct gguf *g, struct err *e)
{
    const struct gguf_kv *a = array(g, "tokenizer.ggml.tokens", GGUF_STR, e);
    struct gguf_walk w;

    if (!a || read_lists(v, g, a->n, e) < 0)
        return -1;
    v->n = a->n;
    v->tok = xreallocarray(NULL, v->n + 1, sizeof *v->tok);
    v->sorted = xreallocarray(NULL, v->n + 1, sizeof *v->sorted);
    w = gguf_walk(a);
    for (size_t i = 0; gguf_next(&w, &v->tok[i].p, &v->tok[i].n); i++) {
        const int k = kind_of_token(v, i);

        if (k < GGUF_NORMAL || k > GGUF_BYTE)
            return err_set(e, EX_INPUT,
                "tokenizer.ggml.token_type: token %zu is of kind %d", i, k);
        if (!utf8_text(v->tok[i].p, v->tok[i].n) || v->tok[i].n == 0)
            return err_set(e, EX_INPUT,
                "tokenizer.ggml.tokens: token %zu is no text", i);
        if (k != GGUF_UNUSED)
            v->sorted[v->nsorted++] = v->tok[i];
    }
    qsort(v->sorted, v->nsorted, sizeof *v->sorted, by_token_text);
    for (size_t i = 1; i < v->nsorted; i++)
        if (by_token_text(&v->sorted[i - 1], &v->sorted[i]) == 0)
            return err_set(e, EX_INPUT,
                "tokenizer.ggml.tokens: \"%.*s\" is there twice",
                (int)(v->sorted[i].n < 80 ? v->sorted[i].n : 80),
                v->sorted[i].p);
    if (v->score)
        mark_runs(v);
    return 0;
}

static void
release_vocab(struct vocab *v)
{
    free(v->tok);
    free(v->sorted);
}

static json_t *
token_text(struct str s)
{
    return json_stringn(s.p, s.n);
}

/* Set member `key` of j (jansson before 2.14 takes no length). */
static void
set_member(json_t *j, struct str key, json_t *value)
{
    char small[256];
    char *s = key.n < sizeof small ? small : xmalloc(key.n + 1);

    memcpy(s, key.p, key.n);
    s[key.n] = '\0';
    json_object_set_new(j, s, value);
    if (s != small)
        free(s);
}

/* The vocabulary {"text": id} without unused tokens, whose ids no text gets. */
static json_t *
tokens_json(const struct vocab *v)
{
    json_t *j = json_object();

    for (size_t i = 0; i < v->n; i++)
        if (kind_of_token(v, i) != GGUF_UNUSED)
            set_member(j, v->tok[i], json_integer((json_int_t)i));
    return j;
}

static json_t *
added_json(const struct vocab *v)
{
    json_t *j = json_array();

    for (size_t i = 0; i < v->n; i++) {
        const int k = kind_of_token(v, i);

        if (k == GGUF_CONTROL || k == GGUF_USER || k == GGUF_UNKNOWN)
            json_array_append_new(j,
                json_pack("{s:I, s:o, s:b, s:b, s:b, s:b, s:b}", "id",
                    (json_int_t)i, "content", token_text(v->tok[i]),
                    "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                    "special", k != GGUF_USER));
    }
    return j;
}

/* The list of merges "a b"; a, b and ab must all be tokens. */
static json_t *
merges_json(const struct vocab *v, struct err *e)
{
    json_t *j = json_array();
    struct gguf_walk w = gguf_walk(v->merges);
    struct buf both = { 0 };
    struct str m;

    for (size_t i = 0; gguf_next(&w, &m.p, &m.n); i++) {
        const char *gap = m.n ? memchr(m.p, ' ', m.n) : NULL, *b;
        size_t na, nb;

        if (gap) {
            b = gap + 1;
            na = (size_t)(gap - m.p);
            nb = m.n - na - 1;
            buf_clear(&both);
            buf_add(&both, m.p, na);
            buf_add(&both, b, nb);
            if (has_token(v, m.p, na) && has_token(v, b, nb) &&
                has_token(v, both.p, both.n)) {
                json_array_append_new(j,
                    json_pack("[o,o]", json_stringn(m.p, na),
                        json_stringn(b, nb)));
                continue;
            }
        }
        err_set(e, EX_INPUT,
            "tokenizer.ggml.merges: number %zu does not "
            "join two tokens to a third",
            i);
        json_decref(j);
        j = NULL;
        break;
    }
    buf_release(&both);
    return j;
}

static int
holds(struct str s, const char *what)
{
    const size_t n = strlen(what);

    for (; s.n >= n; s.p++, s.n--)
        if (memcmp(s.p, what, n) == 0)
            return 1;
    return 0;
}

/* The list of merges that SentencePiece's scores mean.  Merges never make a
 * control token or a byte token: such a name in a text stays text.  Merges make
 * a user-defined token only if it contains a mark; other user-defined tokens
 * are found in the text before it is merged.  Runs of marks merge first,
 * whatever score the converter wrote for them. */
static json_t *
scores_json(const struct vocab *v, json_t **ties, struct err *e)
{
    struct spm_token *tok = xcalloc(v->n + 1, sizeof *tok);
    json_t *j = NULL;

    for (size_t i = 0; i < v->n; i++) {
        struct spm_token *t = &tok[i];
        const int k = kind_of_token(v, i);

        t->p = v->tok[i].p;
        t->n = v->tok[i].n;
        t->score = v->tok[i].p == marks ? INFINITY : gguf_f32(v->score, i);
        t->used = k != GGUF_UNUSED;
        t->made = !holds(v->tok[i], " ") &&
            (k == GGUF_NORMAL || (k == GGUF_USER && holds(v->tok[i], MARK)));
        if (isnan(t->score)) {
            err_set(e, EX_INPUT, "tokenizer.ggml.scores: number %zu is none",
                i);
            goto done;
        }
    }
    j = spm_merges(tok, v->n, ties, e);
done:
    free(tok);
    return j;
}

static json_t *
byte_level_json(int prefix, int regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
        "add_prefix_space", prefix, "trim_offsets", 1, "use_regex", regex);
}

/* The pre-tokenizer that tokenizer.ggml.pre names; NULL and *e. */
static const struct pre *
named_pre(const struct gguf *g, struct err *e)
{
    static const char key[] = "tokenizer.ggml.pre";
    const char *s = NULL;
    size_t n = 0;
    int r = gguf_str(g, key, &s, &n, e);
    struct buf all = { 0 };

    if (r == 0)
        err_set(e, EX_INPUT, "%s: is missing", key);
    if (r <= 0)
        return NULL;
    for (size_t i = 0; i < sizeof pres / sizeof *pres; i++) {
        const char *at = pres[i].names;

        buf_adds(&all, at + 1);
        for (; at[1]; at = strchr(at + 1, ' '))
            if (strcspn(at + 1, " ") == n && memcmp(at + 1, s, n) == 0) {
                buf_release(&all);
                return &pres[i];
            }
    }
    all.p[all.n - 1] = '\0';
    err_set(e, EX_INPUT, "%s: \"%.*s\" is not supported (%s)", key,
        (int)(n < 80 ? n : 80), s, all.p);
    buf_release(&all);
    return NULL;
}

static json_t *
split_json(const char *regex)
{
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern",
        "Regex", regex, "behavior", "Isolated", "invert", 0);
}

static json_t *
pre_json(const struct pre *p)
{
    if (p->digits)
        return json_pack("{s:s, s:[{s:s, s:b}, o]}", "type", "Sequence",
            "pretokenizers", "type", "Digits", "individual_digits", 1,
            byte_level_json(0, 1));
    if (!p->regex)
        return byte_level_json(0, 1);
    if (strcmp(p->regex, RX_DEEPSEEK) == 0)
        return json_pack("{s:s, s:[o, o, o, o]}", "type", "Sequence",
            "pretokenizers", split_json(RX_DEEPSEEK_NUMBERS),
            split_json(RX_DEEPSEEK_HAN), split_json(p->regex),
            byte_level_json(0, 0));
    return json_pack("{s:s, s:[o, o]}", "type", "Sequence", "pretokenizers",
        split_json(p->regex), byte_level_json(0, 0));
}

json_t *
gguf_pre_json(size_t i, const char **name, size_t *n, int *nfc, int *whole)
{
    if (i == sizeof pres / sizeof *pres)
        return NULL;
    *name = pres[i].names + 1;
    *n = strcspn(*name, " ");
    *nfc = pres[i].nfc;
    *whole = pres[i].whole;
    return pre_json(&pres[i]);
}

/* Read the token id under `key` into *id, and the token's text into *s.
 * Without the key, <unk>, <s> and </s> of a SentencePiece model are 0, 1 and 2.
 * 1: read; 0: there is none; -1 and *e. */
static int
special_token(const struct vocab *v, const char *key, size_t *id, struct str *s,
    struct err *e)
{
    static const char *const usual[] = { "tokenizer.ggml.unknown_token_id",
        "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id" };
    int r = gguf_size(v->g, key, 0, v->n ? v->n - 1 : 0, id, e);

    if (r > 0 && v->n == 0)
        return err_set(e, EX_INPUT, "%s: there are no tokens", key);
    for (size_t i = 0; r == 0 && v->score && i < 3 && i < v->n; i++)
        if (strcmp(key, usual[i]) == 0 &&
            (kind_of_token(v, i) == GGUF_CONTROL ||
                kind_of_token(v, i) == GGUF_UNKNOWN)) {
            *id = i;
            r = 1;
        }
    if (r > 0)
        *s = v->tok[*id];
    return r;
}

static void
special_add(json_t *a, struct str s, int type)
{
    json_array_append_new(a,
        json_pack("{s:{s:o, s:i}}", "SpecialToken", "id", token_text(s),
            "type_id", type));
}

static void
sequence_add(json_t *a, const char *id, int type)
{
    json_array_append_new(a,
        json_pack("{s:{s:s, s:i}}", "Sequence", "id", id, "type_id", type));
}

static json_t *
token_json(struct str s, size_t id)
{
    return json_pack("{s:o, s:[I], s:[o]}", "id", token_text(s), "ids",
        (json_int_t)id, "tokens", token_text(s));
}

/* The post-processor that puts BOS and EOS around a text; JSON's null if
 * neither is put.  NULL and *e. */
static json_t *
processor_json(const struct vocab *v, struct err *e)
{
    int bos = v->pre ? v->pre->bos : 1, eos = 0;
    json_t *single, *pair, *tokens;
    struct str sb, se;
    size_t ib, ie;

    if (gguf_bool(v->g, "tokenizer.ggml.add_bos_token", &bos, e) < 0 ||
        gguf_bool(v->g, "tokenizer.ggml.add_eos_token", &eos, e) < 0)
        return NULL;
    if ((bos &&
            special_token(v, "tokenizer.ggml.bos_token_id", &ib, &sb, e) <=
                0) ||
        (eos &&
            special_token(v, "tokenizer.ggml.eos_token_id", &ie, &se, e) <=
                0)) {
        err_set(e, EX_INPUT,
            "tokenizer.ggml.add_bos_token or "
            "add_eos_token: the token's id is missing or wrong");
        return NULL;
    }
    if (!bos && !eos)
        return json_null();
    single = json_array();
    pair = json_array();
    tokens = json_object();
    for (int k = 0; k < 3; k++) { /* 0: single; 1, 2: A and B of the pair */
        json_t *a = k == 0 ? single : pair;

        if (bos)
            special_add(a, sb, k == 2);
        sequence_add(a, k == 2 ? "B" : "A", k == 2);
        if (eos)
            special_add(a, se, k == 2);
    }
    if (bos)
        set_member(tokens, sb, token_json(sb, ib));
    if (eos)
        set_member(tokens, se, token_json(se, ie));
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing",
        "single", single, "pair", pair, "special_tokens", tokens);
}

/* Refuse unknown settings.  Sets *prefix: is a space put before each text? */
static int
check_token_kind(const struct gguf *g, int *prefix, struct err *e)
{
    static const char *const off[] = {
        "tokenizer.ggml.remove_extra_whitespaces",
        "tokenizer.ggml.treat_whitespace_as_suffix"
    };
    const int bytes = gguf_is(g, "tokenizer.ggml.model", "gpt2");

    *prefix = gguf_is(g, "tokenizer.ggml.model", "llama");
    if (!*prefix && !bytes && !gguf_is(g, "tokenizer.ggml.model", "gemma4"))
        return err_set(e, EX_INPUT,
            "tokenizer.ggml.model: only \"gpt2\" (byte-level BPE), \"llama\" "
            "(SentencePiece) and \"gemma4\" are supported");
    if (gguf_bool(g, "tokenizer.ggml.add_space_prefix", prefix, e) < 0)
        return -1;
    if (*prefix && bytes)
        return err_set(e, EX_INPUT,
            "tokenizer.ggml.add_space_prefix: is not supported");
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        int on = 0;

        if (gguf_bool(g, off[i], &on, e) < 0)
            return -1;
        if (on)
            return err_set(e, EX_INPUT, "%s: is not supported", off[i]);
    }
    if (gguf_kv(g, "tokenizer.ggml.precompiled_charsmap"))
        return err_set(e, EX_INPUT,
            "tokenizer.ggml.precompiled_charsmap: is not supported");
    return 0;
}

static json_t *
replace_json(const char *from, const char *to)
{
    return json_pack("{s:s, s:{s:s}, s:s}", "type", "Replace", "pattern",
        "String", from, "content", to);
}

/* The normalizer and, below, the decoder for symbols that are characters. */
static json_t *
char_normalizer(int prefix)
{
    return prefix ? json_pack("{s:s, s:[{s:s, s:s}, o]}", "type", "Sequence",
                        "normalizers", "type", "Prepend", "prepend", MARK,
                        replace_json(" ", MARK))
                  : replace_json(" ", MARK);
}

static json_t *
char_decoder(int prefix)
{
    json_t *j =
        json_pack("{s:s, s:[o, {s:s}, {s:s}]}", "type", "Sequence", "decoders",
            replace_json(MARK, " "), "type", "ByteFallback", "type", "Fuse");

    if (prefix)
        json_array_append_new(json_object_get(j, "decoders"),
            json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ",
                "start", 1, "stop", 0));
    return j;
}

/* Find how unknown characters are encoded: as bytes if there are byte tokens
 * (*bytes is 1), else as the token *unk (null if symbols are bytes). */
static int
unknown(const struct vocab *v, int *bytes, json_t **unk, struct err *e)
{
    static const char key[] = "tokenizer.ggml.unknown_token_id";
    struct str s = { NULL, 0 };
    size_t id;
    int r = v->chars ? special_token(v, key, &id, &s, e) : 1;

    *bytes = 0;
    if (r <= 0)
        return r < 0 ? -1 : err_set(e, EX_INPUT, "%s: is missing", key);
    for (size_t i = 0; v->chars && i < v->n && !*bytes; i++)
        *bytes = kind_of_token(v, i) == GGUF_BYTE;
    *unk = v->chars ? token_text(s) : json_null();
    return 0;
}

json_t *
gguf_tokenizer_json(const struct gguf *g, struct err *e)
{
    struct vocab v = { 0 };
    json_t *post = NULL, *merges = NULL, *unk = NULL, *ties = NULL, *j = NULL;
    json_t *norm, *pre, *decoder;
    int prefix, bytes;

    if (check_token_kind(g, &prefix, e) < 0 || read_vocab(&v, g, e) < 0 ||
        (!v.chars && (v.pre = named_pre(g, e)) == NULL) ||
        (post = processor_json(&v, e)) == NULL ||
        unknown(&v, &bytes, &unk, e) < 0 ||
        (merges = v.score ? scores_json(&v, &ties, e) : merges_json(&v, e)) ==
            NULL)
        goto done;
    norm = v.chars   ? char_normalizer(prefix)
        : v.pre->nfc ? json_pack("{s:s}", "type", "NFC")
                     : json_null();
    pre = v.chars ? json_null() : pre_json(v.pre);
    decoder = v.chars ? char_decoder(prefix) : byte_level_json(1, 1);
    j = json_pack("{s:s, s:n, s:n, s:o, s:o, s:o, s:O, s:o, s:{s:s, s:n, s:O,"
                  " s:n, s:n, s:b, s:b, s:b, s:o, s:O}}",
        "version", "1.0", "truncation", "padding", "added_tokens",
        added_json(&v), "normalizer", norm, "pre_tokenizer", pre,
        "post_processor", post, "decoder", decoder, "model", "type", "BPE",
        "dropout", "unk_token", unk, "continuing_subword_prefix",
        "end_of_word_suffix", "fuse_unk", v.chars, "byte_fallback", bytes,
        "ignore_merges", v.pre && v.pre->whole, "vocab", tokens_json(&v),
        "merges", merges);
    if (ties)
        json_object_set(json_object_get(j, "model"), "retort_ties", ties);
done:
    json_decref(post);
    json_decref(merges);
    json_decref(ties);
    json_decref(unk);
    release_vocab(&v);
    return j;
}

const char *const gguf_special[GGUF_SPECIALS][2] = {
    [GGUF_BOS] = { "bos_token", "tokenizer.ggml.bos_token_id" },
    [GGUF_EOS] = { "eos_token", "tokenizer.ggml.eos_token_id" },
    [GGUF_UNK] = { "unk_token", "tokenizer.ggml.unknown_token_id" },
    [GGUF_PAD] = { "pad_token", "tokenizer.ggml.padding_token_id" },
};

const char *const gguf_ends[GGUF_ENDS] = { "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id" };

/* Add the special tokens to j: each one's text as member NAME, or, if `ids` is
 * 1, its id as member NAME_id. */
static int
add_specials(json_t *j, const struct gguf *g, int ids, struct err *e)
{
    struct vocab v = { 0 };
    int r = read_vocab(&v, g, e);

    for (size_t i = 0; r == 0 && i < GGUF_SPECIALS; i++) {
        char name[32];
        struct str s;
        size_t id;
        int k = special_token(&v, gguf_special[i][1], &id, &s, e);

        snprintf(name, sizeof name, "%s%s", gguf_special[i][0],
            ids ? "_id" : "");
        if (k > 0)
            json_object_set_new(j, name,
                ids ? json_integer((json_int_t)id) : token_text(s));
        r = k < 0 ? -1 : 0;
    }
    release_vocab(&v);
    return r;
}

json_t *
gguf_special_tokens(const struct gguf *g, struct err *e)
{
    json_t *j = json_object();

    if (add_specials(j, g, 0, e) < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* Make eos_token_id a list if other tokens end a turn or a message. */
static int
add_template_ends(json_t *j, const struct gguf *g, struct err *e)
{
    const struct gguf_kv *tok = gguf_kv(g, "tokenizer.ggml.tokens");
    json_t *eos = json_object_get(j, "eos_token_id"), *all = json_array();
    int r = 0;

    if (eos)
        json_array_append(all, eos);
    for (size_t i = 0; r >= 0 && i < GGUF_ENDS; i++) {
        size_t id;

        if ((r = gguf_size(g, gguf_ends[i], 0, tok->n ? tok->n - 1 : 0, &id,
                 e)) <= 0)
            continue;
        for (size_t k = 0; k < json_array_size(all); k++)
            if (json_integer_value(json_array_get(all, k)) == (json_int_t)id)
                r = 0;
        if (r > 0)
            json_array_append_new(all, json_integer((json_int_t)id));
    }
    if (r >= 0 && json_array_size(all) > (eos != NULL))
        json_object_set(j, "eos_token_id", all);
    json_decref(all);
    return r < 0 ? -1 : 0;
}

json_t *
gguf_generation_config(const struct gguf *g, struct err *e)
{
    json_t *j = json_pack("{s:b}", "_from_model_config", 1);

    if (add_specials(j, g, 1, e) < 0 || add_template_ends(j, g, e) < 0 ||
        gguf_sampling(j, g, e) < 0) {
        json_decref(j);
        return NULL;
    }
    json_object_del(j, "unk_token_id");
    return j;
}

/* Add "chat_template": a text or, if the GGUF has named templates, a list of
 * {name, template}. */
static int
add_chats(json_t *j, const struct gguf *g, struct err *e)
{
    static const char prefix[] = GGUF_CHAT ".";
    json_t *list = json_array();
    const char *s;
    size_t n;
    int r = gguf_str(g, GGUF_CHAT, &s, &n, e);

    if (r > 0)
        json_object_set_new(j, "chat_template", json_stringn(s, n));
    if (r > 0)
        json_array_append_new(list,
            json_pack("{s:s, s:s%}", "name", "default", "template", s, n));
    for (size_t i = 0; r >= 0 && i < g->nkv; i++) {
        const char *key = g->kv[i].key;

        if (strncmp(key, prefix, sizeof prefix - 1) == 0 &&
            (r = gguf_str(g, key, &s, &n, e)) > 0)
            json_array_append_new(list,
                json_pack("{s:s, s:s%}", "name", key + sizeof prefix - 1,
                    "template", s, n));
    }
    if (json_array_size(list) > (json_object_get(j, "chat_template") != NULL))
        json_object_set(j, "chat_template", list);
    json_decref(list);
    return r < 0 ? -1 : 0;
}

json_t *
gguf_tokenizer_config(const struct gguf *g, struct err *e)
{
    json_t *j = json_pack("{s:s, s:b}", "tokenizer_class",
        "PreTrainedTokenizerFast", "clean_up_tokenization_spaces", 0);
    const char *s = "";
    size_t n = 0, len;
    char key[80];
    int r = add_specials(j, g, 0, e);

    if (r == 0)
        r = gguf_str(g, "general.architecture", &s, &n, e);
    snprintf(key, sizeof key, "%.*s.context_length", n < 60 ? (int)n : 0, s);
    if (r >= 0 && (r = gguf_size(g, key, 1, (size_t)1 << 31, &len, e)) > 0)
        json_object_set_new(j, "model_max_length",
            json_integer((json_int_t)len));
    if (r < 0 || add_chats(j, g, e) < 0) {
        json_decref(j);
        return NULL;
    }
    return j;
}
