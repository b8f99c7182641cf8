/* A real tokenizer against answers of the tokenizers library or of
 * mistral-common: argument 1 is the tokenizer, 2 the texts, 3 the answers.
 * Run by tests/real/tokenizers.sh. */
#include "../lib/tok_answers.h"

int
main(int argc, char **argv)
{
    struct err e = { 0 };
    struct tokenizer *t;

    if (argc != 4) {
        printf("Bail out! usage: real-tokenizers TOKENIZER TEXTS ANSWERS\n");
        return 1;
    }
    t = tok_open(argv[1], &e);
    if (ok(t != NULL, "the tokenizer is read %s", e.msg)) {
        json_t *texts = read_texts(argv[2]);

        compare_answers(argv[3], t, texts, argv[3]);
        json_decref(texts);
    }
    tok_free(t);
    return done_testing();
}
