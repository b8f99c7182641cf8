/* Chat templates in a GGUF are as the gguf package writes and reads them. */
#include "base/io.h"
#include "format/gguf_tok.h"
#include "format/gguf_tok_write.h"
#include "format/json.h"
#include "../lib/tap.h"

#include <string.h>

static const struct gguf_ids none = { { -1, -1, -1, -1 }, NULL };

static int
same_entry(const struct gguf_kv *a, const struct gguf_kv *b)
{
    struct gguf_walk wa, wb;
    const char *s, *t;
    size_t n, k;

    if (!a || !b || a->type != b->type || a->elem != b->elem || a->n != b->n)
        return 0;
    if (a->type == GGUF_STR)
        return memcmp(a->value, b->value, a->n) == 0;
    wa = gguf_walk(a);
    wb = gguf_walk(b);
    while (gguf_next(&wa, &s, &n))
        if (!gguf_next(&wb, &t, &k) || n != k || memcmp(s, t, n) != 0)
            return 0;
    return 1;
}

static size_t
chat_keys(const struct gguf *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->nkv; i++)
        n += strstr(g->kv[i].key, "chat_template") != NULL;
    return n;
}

/* The templates of `config` must be written as the metadata in *want. */
static void
written(const char *config, const struct gguf *want)
{
    json_t *j = json_loads(config, 0, NULL);
    json_t *tok =
        json_load_file("tests/golden/gguf/f32-hf/tokenizer.json", 0, NULL);
    struct gguf_out o = { 0 };
    struct buf b = { 0 };
    struct gguf g;
    struct err e = { 0 };

    if (gguf_out_tokenizer(&o, tok, j, 300, &none, &e) < 0) {
        ok(0, "templates are written: %s", e.msg);
        return;
    }
    gguf_out_head(&o, &b);
    ok(gguf_parse_metadata(&g, b.p, b.n, &e) == 0,
        "%zu templates: every key is there once", chat_keys(want));
    ok(chat_keys(&g) == chat_keys(want), "%zu templates are written",
        chat_keys(want));
    for (size_t i = 0; i < want->nkv; i++)
        if (strstr(want->kv[i].key, "chat_template"))
            ok(same_entry(&want->kv[i], gguf_kv(&g, want->kv[i].key)),
                "%zu templates: %s is as the gguf package writes it",
                chat_keys(want), want->kv[i].key);
    gguf_release(&g);
    buf_release(&b);
    gguf_out_release(&o);
    json_decref(tok);
    json_decref(j);
}

int
main(void)
{
    static const char twice[] = "{\"chat_template\": ["
                                "{\"name\": \"a-b\", \"template\": \"one\"},"
                                "{\"name\": \"a_b\", \"template\": \"two\"}]}";
    json_t *list = json_load_file("tests/golden/gguf/chat.json", 0, NULL);
    json_t *config, *all;
    char *text = json_dumps(list, 0);
    struct io_map m;
    struct gguf g;
    struct gguf_out o = { 0 };
    struct buf b = { 0 };
    struct err e = { 0 };

    if (io_map(&m, "tests/golden/gguf/chat.gguf", &e) < 0 ||
        gguf_parse(&g, m.p, m.n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        return 1;
    }
    written(text, &g);
    config = gguf_tokenizer_config(&g, &e);
    all = json_object_get(config, "chat_template");
    ok(json_array_size(all) == 3, "a list of the templates is read");
    ok(strcmp(js_text_of(json_array_get(all, 0), "name"), "default") == 0,
        "the default is the first of the list");
    ok(strcmp(js_text_of(json_array_get(all, 1), "name"), "tool_use") == 0 &&
            strcmp(js_text_of(json_array_get(all, 1), "template"),
                js_text_of(json_array_get(js_get(list, "chat_template"), 0),
                    "template")) == 0,
        "a named template is read with its text");
    json_decref(config);
    gguf_release(&g);
    io_unmap(&m);

    gguf_out_str(&o, "tokenizer.chat_template.a_b", "two", 3);
    gguf_out_array(&o, "tokenizer.chat_templates", GGUF_STR, 1);
    gguf_out_text(&o, "a_b", 3);
    gguf_out_head(&o, &b);
    if (gguf_parse_metadata(&g, b.p, b.n, &e) == 0) {
        written(twice, &g);
        gguf_release(&g);
    }
    gguf_out_release(&o);
    buf_release(&b);
    json_decref(list);
    free(text);
    return done_testing();
}
