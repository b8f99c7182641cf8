/* The tokens that may follow a text with a schema: those that are found one by
 * one; vocabularies that lack tokens. */
#include "base/rng.h"
#include "format/json.h"
#include "gen/mask.h"
#include "../lib/tap.h"
#include "../lib/tok_open.h"

#include <string.h>

static struct mask_room room;

/* May the token follow the state, by its bytes alone? */
static int
follows(const struct schema *s, const struct json_state *state,
    const struct buf *bytes)
{
    json_room_load(&room.json, s, state);
    for (size_t i = 0; i < bytes->n; i++)
        if (json_room_byte(&room.json, i, (unsigned char)bytes->p[i]) == 0)
            return 0;
    return bytes->n > 0;
}

/* Count the tokens about which the mask is wrong. */
static size_t
wrong_tokens(const struct tokenizer *tok, const struct mask_vocab *v,
    const struct schema *s, const struct json_state *state, uint64_t *found)
{
    const size_t V = tok_vocab(tok), words = (V + 63) / 64;
    uint64_t *bits = xmalloc(words * sizeof *bits);
    size_t wrong = 0;

    *found = (uint64_t)mask_next(v, s, state, NULL, 0, NULL, 0, &room);
    memcpy(bits, room.bits, words * sizeof *bits);
    for (uint32_t id = 0; id < V; id++) {
        struct buf b = { 0 };
        int is;

        tok_decode(tok, &id, 1, TOK_MIDDLE, &b, NULL);
        is = !tok_is_special(tok, id) && !tok_is_end(tok, id) &&
            b.n <= JSON_TOKEN && follows(s, state, &b);
        wrong += is != (int)(bits[id >> 6] >> (id & 63) & 1);
        buf_release(&b);
    }
    free(bits);
    return wrong;
}

static const char schema_text[] =
    "{\"properties\": {\"name\": {\"type\": \"string\", \"minLength\": 2,"
    "\"maxLength\": 7}, \"\xc3\xa9\": {\"type\": [\"number\", \"null\"]},"
    "\"list\": {\"items\": {\"anyOf\": [{\"enum\": [\"the\", \"then\", 12]},"
    "{\"type\": \"string\"}, {\"type\": \"integer\"}]}}, \"any\": {}},"
    "\"required\": [\"name\", \"list\"]}";

static struct schema *
test_schema(void)
{
    json_t *j = js_parse(schema_text, sizeof schema_text - 1, NULL);
    struct schema *s = schema_read(j, NULL);

    json_decref(j);
    return s;
}

/* Draw one of the tokens of room.bits. */
static uint32_t
draw_token(size_t V, uint64_t draw)
{
    for (size_t i = 0; i < V; i++) {
        const uint32_t id = (uint32_t)rng_perm(draw, V, i);

        if (room.bits[id >> 6] >> (id & 63) & 1)
            return id;
    }
    return UINT32_MAX;
}

/* Write texts of random tokens, and look at the mask after each. */
static void
compare_masks(const char *name)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/%s", top, name);
    struct tokenizer *tok = must_tok(path);
    const size_t V = tok_vocab(tok);
    const struct config c = { .V = V };
    struct schema *s = test_schema();
    size_t wrong = 0, none = 0, states = 0, ended = 0;
    struct err e;
    struct mask_vocab *v = mask_vocab_new(tok, &c, &e);

    if (v == NULL) {
        ok(0, "%s: %s", name, e.msg);
        return;
    }
    mask_room_init(&room, v);
    for (uint64_t k = 0; k < 12; k++) {
        struct json_state state;
        int goes_on = 1;

        json_state_begin(&state, s);
        for (size_t n = 0; goes_on && n < 40; n++, states++) {
            uint64_t found;
            uint32_t id;

            wrong += wrong_tokens(tok, v, s, &state, &found);
            json_room_load(&room.json, s, &state);
            goes_on = (int)found;
            if (!found && json_room_complete(&room.json, 0)) {
                ended++;
                break;
            }
            none += !found;
            mask_next(v, s, &state, NULL, 0, NULL, 0, &room);
            id = draw_token(V, rng_u64(k, n));
            if (found && mask_follow(v, s, &state, id, &room) < 0)
                wrong++;
        }
        json_state_release(&state);
    }
    ok(states > 100 && wrong == 0 && none == 0,
        "%s: the mask has the tokens that may follow, in %zu states", name,
        states);
    mask_room_release(&room);
    mask_vocab_free(v);
    schema_free(s);
    tok_free(tok);
    free(path);
}

/* ---- guesses, ends ---- */

static void
follow_guesses(void)
{
    struct tokenizer *tok = must_tok("tests/golden/gguf/f32-hf");
    const struct config c = { .V = tok_vocab(tok) };
    struct mask_vocab *v = mask_vocab_new(tok, &c, NULL);
    json_t *j = json_pack("{s:s}", "type", "integer");
    struct schema *s = schema_read(j, NULL);
    const uint32_t end = (uint32_t)tok_eos(tok);
    const uint32_t one = (uint32_t)tok_id(tok, "1", 1);
    const uint32_t text[] = { one, one, (uint32_t)tok_id(tok, "-", 1) };
    struct json_state state;

    mask_room_init(&room, v);
    json_state_begin(&state, s);
    ok(mask_next(v, s, &state, text, 0, &end, 1, &room) &&
            !(room.bits[end >> 6] >> (end & 63) & 1),
        "a text that has not begun cannot end");
    ok(mask_next(v, s, &state, text, 2, &end, 1, &room) &&
            (room.bits[end >> 6] >> (end & 63) & 1) &&
            (room.bits[one >> 6] >> (one & 63) & 1),
        "after two guessed digits it can end or go on");
    ok(!mask_next(v, s, &state, text, 3, &end, 1, &room),
        "after a wrong guess nothing may follow");
    json_state_release(&state);
    mask_room_release(&room);
    schema_free(s);
    json_decref(j);
    mask_vocab_free(v);
    tok_free(tok);
}

/* ---- vocabularies that lack tokens ---- */

/* Open the tokenizer of a golden file without the tokens of some bytes, which
 * ByteLevel writes as the given letters. */
static struct tokenizer *
without(const char *const *letters, size_t n)
{
    json_t *j =
        js_load("tests/golden/gguf/f32-hf/tokenizer.json", JS_MAX, NULL);
    json_t *model = json_object_get(j, "model");
    json_t *vocab = json_object_get(model, "vocab");
    char *text;
    struct tokenizer *t;
    struct err e;

    json_object_set_new(model, "merges", json_array());
    for (size_t i = 0; i < n; i++)
        json_object_del(vocab, letters[i]);
    text = json_dumps(j, 0);
    json_decref(j);
    if ((t = tok_parse(text, strlen(text), NULL, 0, &e)) == NULL) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    free(text);
    return t;
}

/* May the token that ByteLevel writes as `letter` follow in a string?  -1: the
 * schema does not go with the vocabulary. */
static int
goes_inside(const char *lacks, const char *letter)
{
    struct tokenizer *tok = without(&lacks, lacks != NULL);
    const struct config c = { .V = tok_vocab(tok) };
    struct mask_vocab *v = mask_vocab_new(tok, &c, NULL);
    struct schema *s = test_schema();
    struct json_state state;
    struct buf b = { 0 };
    int r = -1;

    mask_room_init(&room, v);
    json_state_begin(&state, s);
    for (const char *p = "{\"name\":\""; *p != '\0'; p++) {
        json_room_load(&room.json, s, &state);
        json_room_byte(&room.json, 0, (unsigned char)*p);
        json_room_keep(&room.json, 1, &state);
    }
    mask_next(v, s, &state, NULL, 0, NULL, 0, &room);
    for (uint32_t id = 0; id < c.V; id++) {
        buf_clear(&b);
        tok_decode(tok, &id, 1, TOK_MIDDLE, &b, NULL);
        if (b.n == 1 && b.p[0] == *letter)
            r = (int)(room.bits[id >> 6] >> (id & 63) & 1);
    }
    r = mask_check_schema(v, s, NULL) < 0 ? -1 : r;
    buf_release(&b);
    json_state_release(&state);
    mask_room_release(&room);
    schema_free(s);
    mask_vocab_free(v);
    tok_free(tok);
    return r;
}

static void
lacking_vocabularies(void)
{
    const char *brace = "{";
    struct tokenizer *tok = without(&brace, 1);
    const struct config c = { .V = tok_vocab(tok) };
    struct err e = { 0 };

    ok(mask_vocab_new(tok, &c, &e) == NULL &&
            strstr(e.msg, "no token that is '{' alone") != NULL,
        "a tokenizer without a brace cannot write documents");
    ok(goes_inside(NULL, "\xe3") == 1,
        "a token may end inside a character if all bytes are tokens");
    /* ByteLevel writes the byte 0x87 as U+0129, and 0xc3 as itself. */
    ok(goes_inside("\xc4\xa9", "\xe3") == 0,
        "no token ends inside a character if a byte that can follow is none");
    ok(goes_inside("\xc3\x83", "\xe3") == -1,
        "a name with a byte that is no token does not go with the tokenizer");
    tok_free(tok);
}

static void
refused_parameters(void)
{
    char *stop = (char[]){ "x" };
    uint32_t end = 1;
    struct gen_params p = { 0 };
    struct err e;

    ok(mask_check_params(&p, &e) == 0, "usual parameters go with a schema");
    p.past_eos = 1;
    ok(mask_check_params(&p, &e) < 0 && strncmp(e.msg, "ignore_eos: ", 12) == 0,
        "ignore_eos does not go with a schema");
    p = (struct gen_params){ .least = 3 };
    ok(mask_check_params(&p, &e) < 0 && strncmp(e.msg, "min_tokens: ", 12) == 0,
        "min_tokens does not go with a schema");
    p = (struct gen_params){ .stop = &stop, .nstop = 1 };
    ok(mask_check_params(&p, &e) < 0 && strncmp(e.msg, "stop: ", 6) == 0,
        "stop strings do not go with a schema");
    p = (struct gen_params){ .end = &end, .nend = 1 };
    ok(mask_check_params(&p, &e) < 0 &&
            strncmp(e.msg, "stop_token_ids: ", 16) == 0,
        "tokens that end the text do not go with a schema");
}

int
main(void)
{
    compare_masks("gguf/f32-hf");
    compare_masks("tok/family/llama2.json");
    compare_masks("tok/family/gemma3.json");
    compare_masks("tok/family/qwen.json");
    follow_guesses();
    lacking_vocabularies();
    refused_parameters();
    return done_testing();
}
