/* The command that resumes a stopped run: see again.h. */
#include "again.h"
#include "student.h"
#include "base/mem.h"
#include "base/note.h"

#include <stdlib.h>
#include <string.h>

/* Append a word, quoted for a shell if need be. */
static void
quote_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-./,:=+@%";

    if (*word != '\0' && strspn(word, plain) == strlen(word)) {
        buf_adds(b, word);
        return;
    }
    buf_addc(b, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'')
            buf_adds(b, "'\\'");
        buf_addc(b, *word);
    }
    buf_addc(b, '\'');
}

char *
again_command(int argc, char **argv, const char *command)
{
    struct buf b = { 0 };
    char *program = xstrdup(argv[0]);
    const size_t n = strlen(program), k = strlen(command);
    const int joined = n > k && program[n - k - 1] == ' ' &&
        strcmp(program + n - k, command) == 0;

    if (joined) /* sub_run has put both words into argv[0] */
        program[n - k - 1] = '\0';
    quote_word(&b, program);
    if (joined)
        buf_addf(&b, " %s", command);
    for (int i = 1; i < argc; i++) {
        buf_addc(&b, ' ');
        quote_word(&b, argv[i]);
    }
    free(program);
    return b.p;
}

void
again_tell(const struct student *s)
{
    if (s->a->resume)
        note("%s: to go on, give the same command again: %s", s->a->run,
            s->typed);
    else if (s->feed.in == NULL)
        note("%s: to go on, give --resume too: %s --resume", s->a->run,
            s->typed);
    else
        note("%s: to go on, begin with stream --resume %s, and end with: %s "
             "--resume",
            s->a->run, s->a->run, s->typed);
}
