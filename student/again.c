/* The command that resumes a stopped run: see again.h. */
#include "again.h"
#include "student.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/sh.h"
#include "msg/addr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Append a word, quoted for a shell if need be. */
static void
add_word(struct buf *b, const char *word)
{
    char *quoted = sh_word(word);

    buf_adds(b, quoted);
    free(quoted);
}

void
again_command(int argc, char **argv, const char *command, char *words[2])
{
    struct buf head = { 0 }, rest = { 0 };
    char *program = xstrdup(argv[0]);
    const size_t n = strlen(program), k = strlen(command);
    const int joined = n > k && program[n - k - 1] == ' ' &&
        strcmp(program + n - k, command) == 0;

    if (joined) /* sub_run has put both words into argv[0] */
        program[n - k - 1] = '\0';
    add_word(&head, program);
    if (joined)
        buf_addf(&head, " %s", command);
    buf_adds(&rest, "");
    for (int i = 1; i < argc; i++) {
        buf_addc(&rest, ' ');
        add_word(&rest, argv[i]);
    }
    free(program);
    words[0] = head.p;
    words[1] = rest.p;
}

int
again_can_read(const char *input)
{
    const int standard = input == NULL || strcmp(input, "-") == 0;
    struct stat st;

    if (!standard && addr_is_special(input))
        return 0;
    return (standard ? fstat(STDIN_FILENO, &st) : stat(input, &st)) == 0 &&
        (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

void
again_tell(const struct student *s)
{
    const char *input = s->input, *run = s->a->run;
    const int named = input != NULL && strcmp(input, "-") != 0;
    char *quoted = sh_word(run);
    struct buf command = { 0 };

    buf_adds(&command, s->typed[0]);
    if (s->a->resume == NULL)
        buf_addf(&command, " --resume=%s", quoted);
    buf_adds(&command, s->typed[1]);
    if (s->feed.in != NULL && !again_can_read(input))
        note("%s: to go on, begin with stream --resume %s, and end with: %s",
            run, quoted, command.p);
    else
        note("%s: to go on, %s%s%s: %s", run,
            s->a->resume != NULL ? "give the same command again"
                                 : "give --resume too",
            named ? "" : ", with the same input",
            s->ranks.n > 1 ? ", on any number of ranks" : "", command.p);
    buf_release(&command);
    free(quoted);
}
