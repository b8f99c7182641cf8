/* The model card of an exported folder, and its fields in a GGUF. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/ckpt.h"
#include "format/gguf_file.h"
#include "kern/kern.h"
#include "model/files/card.h"
#include "model/files/export.h"
#include "model/files/export_gguf.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#define PARENT "tests/golden/grad/tied-student"

static const char readme[] =
    "---\nlicense: other\nlicense_name: 'own \"licence\"'\nlanguage:\n- en\n"
    "  - bg\nbase_model: Org/Base-Model-1B # no comment\ntags: [one, \"two\"]\n"
    "model-index:\n- name: x\n---\n# Parent\nlicense: mit\n";

/* The text of a file; the caller frees it. */
static char *
file_text(const char *path)
{
    struct err e;
    char *text;
    size_t n;

    return io_slurp(path, 1 << 20, &text, &n, &e) == 0 ? text : xstrdup("");
}

static int
holds(const char *path, const char *what)
{
    char *text = file_text(path);
    const int r = strstr(text, what) != NULL;

    free(text);
    return r;
}

/* Copy the parent to the folder `to`, with a README.md. */
static void
make_parent(const char *to, const char *text)
{
    static const char *const files[] = { "config.json", "model.safetensors" };
    struct err e;
    char *path;

    io_mkdirs(to, &e);
    for (int i = 0; i < 2; i++) {
        char *from = xasprintf(PARENT "/%s", files[i]), *bytes;
        size_t n;

        path = xasprintf("%s/%s", to, files[i]);
        if (io_slurp(from, 1 << 20, &bytes, &n, &e) < 0 ||
            io_put_file(path, bytes, n, &e) < 0)
            printf("Bail out! %s\n", e.msg);
        free(bytes);
        free(from);
        free(path);
    }
    path = xasprintf("%s/README.md", to);
    if (text != NULL)
        io_put_file(path, text, strlen(text), &e);
    free(path);
}

static void
open_parent(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) == 0)
        return;
    printf("Bail out! %s\n", e.msg);
    exit(1);
}

static void
test_fields(const struct model *m)
{
    const struct card c = { .by = "test 1",
        .from = m->path,
        .teacher = "00ff",
        .tag = "distillation",
        .relation = "finetune",
        .options = "--lr\t0.001\n--eval\tfolder/held-out\n",
        .scores = "held-out loss\t3.25\n" };
    struct err e = { 0 };
    char hash[33];

    ok(model_export(m, "out/", DT_F32, NULL, &(struct export){ 0, &c }, &e) ==
            0,
        "a folder is exported with a card: %s", e.msg);
    ok(holds("out/README.md",
           "---\nlicense: \"other\"\nlicense_name: "
           "\"own \\\"licence\\\"\"\nlanguage:\n- \"en\"\n- \"bg\"\n"),
        "licence and languages are the parent's");
    ok(holds("out/README.md",
           "tags:\n- \"one\"\n- \"two\"\n- \"retort\"\n"
           "- \"distillation\"\n"),
        "tags are the parent's and the run's");
    ok(holds("out/README.md",
           "base_model: \"Org/Base-Model-1B\"\n"
           "base_model_relation: \"finetune\"\n"),
        "base_model is the parent's, with the relation");
    ok(holds("out/README.md", "# out\n"), "the heading is the folder's name");
    ckpt_hash_model(m->path, hash, &e);
    ok(holds("out/README.md", hash), "the parent is named by its hash");
    ok(holds("out/README.md", "- `--lr 0.001`\n- `--eval held-out`\n"),
        "options are listed, paths without their folders");
    ok(holds("out/README.md", "| held-out loss | 3.25 |\n"),
        "scores are listed");
    ok(holds("out/README.md", "head `00ff`"), "the teacher is named");
    dir_remove("out", NULL);
}

static void
test_edited(const struct model *m)
{
    struct card c = { .by = "test 1", .from = m->path };
    struct err e = { 0 };
    char *text, *at;

    io_mkdirs("out", &e);
    ok(card_write(&c, m, "out", "out", &e) == 0, "a card is written: %s",
        e.msg);
    c.by = "test 2";
    ok(card_write(&c, m, "out", "out", &e) == 0 &&
            holds("out/README.md", "test 2"),
        "a card that nobody edited is replaced: %s", e.msg);
    text = file_text("out/README.md");
    at = strstr(text, "test 2");
    memcpy(at, "TEST 2", 6);
    io_put_file("out/README.md", text, strlen(text), &e);
    c.by = "test 3";
    ok(card_write(&c, m, "out", "out", &e) == 0 &&
            holds("out/README.md", "TEST 2"),
        "a card with one changed word stays");
    io_put_file("out/README.md", "mine\n", 5, &e);
    ok(card_write(&c, m, "out", "out", &e) == 0 &&
            holds("out/README.md", "mine\n"),
        "a README.md of the user's own stays");
    free(text);
    dir_remove("out", NULL);
}

static int
says(const struct gguf *g, const char *key, const char *want)
{
    return gguf_kv(g, key) != NULL && gguf_is(g, key, want);
}

static void
test_gguf(const struct model *m)
{
    struct gguf_file f;
    struct model b;
    struct err e = { 0 };
    struct card c = { .by = "test 1" };
    const struct gguf_how how = { .mixture = mixture_of("f32") };

    ok(model_export_gguf(m, "out.gguf", &how, NULL, &e) == 0 &&
            gguf_open(&f, "out.gguf", &e) == 0,
        "a GGUF is written: %s", e.msg);
    ok(says(&f.g, "general.license", "other") &&
            says(&f.g, "general.license.name", "own \"licence\"") &&
            gguf_kv(&f.g, "general.languages")->n == 2 &&
            gguf_kv(&f.g, "general.tags")->n == 2,
        "a GGUF has licence, languages and tags");
    ok(says(&f.g, "general.base_model.0.name", "Base Model 1B") &&
            says(&f.g, "general.base_model.0.organization", "Org") &&
            says(&f.g, "general.base_model.0.repo_url",
                "https://huggingface.co/Org/Base-Model-1B") &&
            gguf_int(gguf_kv(&f.g, "general.base_model.count"), 0) == 1,
        "a GGUF has the base model");
    gguf_close(&f);
    open_parent(&b, "out.gguf");
    c.from = b.path;
    ok(model_export(&b, "out", DT_F32, NULL, &(struct export){ 0, &c }, &e) ==
                0 &&
            holds("out/README.md", "license: \"other\"\n") &&
            holds("out/README.md", "base_model: \"Org/Base-Model-1B\"\n"),
        "a folder made from the GGUF has its fields: %s", e.msg);
    model_close(&b);
    dir_remove("out", NULL);
}

/* A parent that lies where the hub's programs keep models. */
static void
test_cached(void)
{
    static const char at[] = "hub/models--Org--Some-1B/snapshots/0123";
    struct model m;
    struct err e = { 0 };
    const struct card c = { .by = "test 1", .from = at };

    make_parent(at, NULL);
    open_parent(&m, at);
    ok(card_write(&c, &m, ".", "x", &e) == 0 &&
            holds("README.md", "base_model: \"Org/Some-1B\"\n"),
        "a parent in the hub's cache is the base model: %s", e.msg);
    model_close(&m);
    remove("README.md");
    dir_remove(at, NULL);
}

/* Make a model with a licence at `at`, and the card of m as taught by it. */
static void
taught_by(const struct model *m, const char *at, const char *licence)
{
    char *text = licence == NULL
        ? xstrdup("# no front matter\n")
        : xasprintf("---\nlicense: %s\n---\n", licence);
    const struct card c = { .by = "test 1", .from = m->path, .taught = at };
    struct err e = { 0 };

    make_parent(at, text);
    remove("README.md");
    if (card_write(&c, m, ".", "x", &e) < 0)
        printf("Bail out! %s\n", e.msg);
    free(text);
}

/* Cards name the models that wrote texts, and what their licences ask. */
static void
test_taught(const struct model *m)
{
    static const struct {
        const char *licence, *terms;
    } known[] = {
        { "llama3", "forbids" },
        { "llama3.2", "begins with Llama" },
        { "llama4", "begins with Llama" },
        { "gemma", "derivative" },
        { "gemma-like", "may have terms" },
        { "cc-by-nc-4.0", "not commercial" },
        { "apache-2.0", "may have terms" },
    };
    const struct gguf_how how = { .mixture = mixture_of("f32") };
    struct card c = { .by = "test 2" };
    struct gguf_file f;
    struct model b;
    struct err e = { 0 };
    char *text;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char *line =
            xasprintf("taught_by:\n- \"wise, %s\"\n", known[i].licence);

        taught_by(m, "wise", known[i].licence);
        ok(holds("README.md", line) &&
                holds("README.md", "- taught by: wise, ") &&
                holds("README.md", known[i].terms),
            "a teacher of licence %s is named, with its terms",
            known[i].licence);
        free(line);
    }
    taught_by(m, "hub/models--Org--Wise/snapshots/1", NULL);
    ok(holds("README.md",
           "- taught by: Org/Wise, unknown licence.  Its licence may have"),
        "a teacher of unknown licence is named by its id");

    make_parent("next", "---\ntaught_by: somebody\n---\n");
    c.from = "next";
    remove("README.md");
    ok(card_write(&c, m, ".", "x", &e) == 0 &&
            holds("README.md", "- taught by: somebody.  Its licence may have"),
        "a teacher that a person wrote into a card without licence stays");
    ok(card_can_name("wise", &e) == 0, "a card can name a folder of a model");
    ok(card_can_name("hub", &e) < 0 && strstr(e.msg, "hub: is neither") != NULL,
        "a folder without a model cannot be named");
    io_put_file("broken.gguf", "GGUF", 4, &e);
    ok(card_can_name("broken.gguf", &e) < 0 &&
            strstr(e.msg, "broken.gguf") != NULL,
        "a damaged GGUF cannot be named");

    /* a model that is made of the student, and its student */
    taught_by(m, "wise", "gemma");
    text = file_text("README.md");
    make_parent("next", text);
    free(text);
    open_parent(&b, "next");
    c.from = b.path;
    c.taught = "wise";
    ok(card_write(&c, &b, ".", "x", &e) == 0 &&
            holds("README.md", "taught_by:\n- \"wise, gemma\"\nlibrary_name"),
        "a teacher is named once");
    make_parent("other", NULL);
    c.taught = "other";
    ok(card_write(&c, &b, ".", "x", &e) == 0 &&
            holds("README.md",
                "taught_by:\n- \"wise, gemma\"\n- \"other, unknown "
                "licence\"\n"),
        "the teachers of a student's student are named");
    c.from = m->path;
    c.taught = "next";
    ok(card_write(&c, m, ".", "x", &e) == 0 &&
            holds("README.md", "- \"wise, gemma\"\n- \"next, other\"\n"),
        "the teachers of a teacher are named before it");
    ok(model_export_gguf(&b, "next.gguf", &how, NULL, &e) == 0 &&
            gguf_open(&f, "next.gguf", &e) == 0 &&
            gguf_kv(&f.g, "retort.taught_by") != NULL &&
            gguf_kv(&f.g, "retort.taught_by")->n == 1,
        "a GGUF names the teachers");
    gguf_close(&f);
    model_close(&b);
    open_parent(&b, "next.gguf");
    c.from = b.path;
    c.taught = NULL;
    ok(card_write(&c, &b, ".", "x", &e) == 0 &&
            holds("README.md", "- taught by: wise, gemma.  Its licence counts"),
        "a folder made from the GGUF names them");
    model_close(&b);
    remove("README.md");
}

int
main(void)
{
    const char *why = kern_init();
    struct model m;

    if (why != NULL) {
        printf("Bail out! %s\n", why);
        return 1;
    }
    make_parent("parent", readme);
    open_parent(&m, "parent");
    test_fields(&m);
    test_edited(&m);
    test_gguf(&m);
    test_taught(&m);
    model_close(&m);
    test_cached();
    return done_testing();
}
