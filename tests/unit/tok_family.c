/* lib/data/tokenizer: small tokenizers with the pipeline of each family give
 * the ids and texts of the tokenizers library and of mistral-common
 * (tests/golden/tok/family).  With arguments: only the families named. */
#include "../tok_answers.h"

/* Those that are read: the folder may hold more. */
static const char *const family[] = {
    "llama3", "llama3merges", "gpt2legacy", "nemo", "qwen", "qwenflags",
    "llama2", "mistral3", "gemma", "gemma3", "spbytes", "spunk", "spfuse",
    "spdrop", "tekken-v7",
};

static const char *
golden(const char *name, const char *suffix)
{
    static char path[2][500];
    static int k;
    const char *top = getenv("RETORT_TOP");

    k = !k;
    snprintf(path[k], sizeof path[k], "%s/tests/golden/tok/family/%s%s",
        top ? top : ".", name, suffix);
    return path[k];
}

static void
test_family(const char *name, const json_t *texts)
{
    struct err e = { 0 };
    /* Mistral's own form is known by its file's name. */
    const int tekken = strncmp(name, "tekken", 6) == 0;
    struct tokenizer *t = tok_open(golden(name, tekken ? "/tekken.json" :
        ".json"), &e);

    if (ok(t != NULL, "%s: is read %s", name, e.msg))
        compare_answers(name, t, texts, golden(name, ".ids"));
    tok_free(t);
}

int
main(int argc, char **argv)
{
    json_t *texts = read_texts(golden("texts", ".jsonl"));

    for (int i = 1; i < argc; i++)
        test_family(argv[i], texts);
    for (size_t i = 0; argc < 2 && i < sizeof family / sizeof *family; i++)
        test_family(family[i], texts);
    json_decref(texts);
    return done_testing();
}
