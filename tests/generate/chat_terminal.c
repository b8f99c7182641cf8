/* generate chat as a person uses it, at a pseudo-terminal. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "../lib/tap.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifdef HAVE_EDIT
#define EDITS 1
#else
#define EDITS 0
#endif

#define MODEL "tests/golden/gguf/f32-hf"
#define HISTORY "state/retort/chat_history"
#define UP "\033[A"

/* A chat at a terminal. */
struct screen {
    pid_t pid;
    int fd;           /* the terminal's other end */
    struct buf shown; /* all that the terminal has shown */
    size_t from;      /* where the next text is looked for */
};

/* Become the chat, with the terminal of this name. */
static void
become_chat(const char *terminal, const char *const *more)
{
    const char *build = getenv("BUILD");
    char *path = xasprintf("%s/bin/generate", build != NULL ? build : "build");
    const char *argv[40] = { path, "chat", "-m", MODEL, "--template",
        "last.jinja", "-n", "8", "-j", "1" };
    size_t n = 10;
    int fd;

    setsid();
    if ((fd = open(terminal, O_RDWR)) < 0)
        _exit(126);
    ioctl(fd, TIOCSCTTY, 0);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
    while (*more != NULL)
        argv[n++] = *more++;
    execv(path, (char **)(uintptr_t)argv);
    _exit(127);
}

/* Start a chat; 0: there is no terminal. */
static int
start_chat(struct screen *s, const char *const *more)
{
    struct termios t;
    const char *name;

    *s = (struct screen){ .fd = posix_openpt(O_RDWR | O_NOCTTY) };
    if (s->fd < 0 || grantpt(s->fd) < 0 || unlockpt(s->fd) < 0 ||
        (name = ptsname(s->fd)) == NULL)
        return 0;
    fcntl(s->fd, F_SETFD, FD_CLOEXEC);
    /* Until libedit reads, the kernel edits the line.  IUTF8, which terminal
     * emulators set, makes it erase characters instead of bytes. */
    if (tcgetattr(s->fd, &t) == 0) {
        t.c_iflag |= IUTF8;
        tcsetattr(s->fd, TCSANOW, &t);
    }
    if ((s->pid = fork()) == 0)
        become_chat(name, more);
    return s->pid > 0;
}

/* Add what the terminal shows within a second.  0: it has ended. */
static int
look(struct screen *s)
{
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    char piece[4096];
    ssize_t n = 0;

    if (poll(&p, 1, 1000) <= 0)
        return 1;
    if ((n = read(s->fd, piece, sizeof piece)) > 0)
        buf_add(&s->shown, piece, (size_t)n);
    return n > 0;
}

/* Wait for a text behind the last one that was seen, for half a minute. */
static int
sees(struct screen *s, const char *text)
{
    const double until = clock_now() + 30.0;
    const char *at;

    do {
        at = s->shown.p != NULL ? strstr(s->shown.p + s->from, text) : NULL;
    } while (at == NULL && clock_now() < until && look(s));
    if (at != NULL) {
        s->from = (size_t)(at - s->shown.p) + strlen(text);
        return 1;
    }
    printf("# not seen: %s\n# ", text);
    for (at = s->shown.p != NULL ? s->shown.p + s->from : ""; *at; at++)
        printf("%c%s", *at == '\033' ? '^' : *at, *at == '\n' ? "# " : "");
    printf("\n");
    return 0;
}

static void
types(struct screen *s, const char *keys)
{
    if (write(s->fd, keys, strlen(keys)) != (ssize_t)strlen(keys))
        perror("write");
}

/* Type a line once the chat asks for it, and wait for a text. */
static int
says(struct screen *s, const char *line, const char *text)
{
    int r = sees(s, "> ");

    types(s, line);
    types(s, "\r");
    r = r && sees(s, "\n");
    return r && sees(s, text);
}

/* Wait for the end of the chat, and return its exit status. */
static int
end_of(struct screen *s)
{
    int status = 0;
    char piece[4096];

    while (read(s->fd, piece, sizeof piece) > 0)
        ;
    waitpid(s->pid, &status, 0);
    close(s->fd);
    buf_release(&s->shown);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Read a file of one line and return it without the newline; "" if there is no
 * such file. */
static const char *
text_in(const char *path)
{
    static char text[4000];
    FILE *f = fopen(path, "r");
    const size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

/* The answer to "The river", as a terminal shows it. */
static char *
plain_answer(void)
{
    char *command = xasprintf("echo 'The river' | %s/bin/generate chat -q "
                              "-m " MODEL " --template last.jinja -n 8 "
                              "--temperature 0 >answer.txt",
        getenv("BUILD") != NULL ? getenv("BUILD") : "build");
    const int status = system(command);

    free(command);
    return status == 0 ? xstrdup(SHOWN(text_in("answer.txt"))) : NULL;
}

static void
test_commands(const char *answer)
{
    const char *const more[] = { "--temperature", "0", NULL };
    struct screen s;

    start_chat(&s, more);
    ok(says(&s, "The river", answer), "a question is answered");
    ok(says(&s, "/save one.jsonl", "2 messages are in one.jsonl"),
        "a conversation is saved");
    ok(strstr(text_in("one.jsonl"),
           "{\"messages\":[{\"role\":\"user\",\"content\":\"The river\"},"
           "{\"role\":\"assistant\",\"content\":") != NULL,
        "the file has a line of messages");
    ok(says(&s, "/again", "at temperature 0") && sees(&s, answer),
        "the answer is written again");
    ok(says(&s, "/help", "/undo"), "the commands are listed");
    ok(says(&s, "/nonsense", "/nonsense: no such command; /help"),
        "an unknown command is refused");
    ok(says(&s, "/undo now", "/undo takes no words"),
        "words that a command does not take are refused");
    ok(says(&s, "/undo", "are forgotten") &&
            says(&s, "/undo", "nothing to forget"),
        "a question and its answer are forgotten once");
    ok(says(&s, "/again", "no answer to write again"),
        "what is forgotten is not written again");
    ok(says(&s, "/load one.jsonl", "2 messages goes on") &&
            says(&s, "/load none", "/load: none: "),
        "a saved conversation goes on, and a missing one is refused");
    ok(says(&s, "/save " MODEL "/config.json", "exists already"),
        "a file that is there is not replaced");
    ok(says(&s, "/set temperature 0.75", "> ") &&
            (types(&s, "/set\r"), sees(&s, "temperature          0.75")),
        "a setting is changed and shown");
    ok(says(&s, "/set temperature 5000", "temperature: 5000 is outside") &&
            says(&s, "/set top-p", "top-p: \"\" is no number") &&
            says(&s, "/set warmth 1", "/set warmth: no such setting"),
        "a wrong setting is refused");
    ok(says(&s, "/clear", "> ") &&
            (types(&s, "/system Be brief.\r"), sees(&s, "> ")) &&
            (types(&s, "/save two.jsonl\r"), sees(&s, "1 messages are in")) &&
            strstr(text_in("two.jsonl"),
                "[{\"role\":\"system\",\"content\":\"Be brief.\"}]") != NULL,
        "a new conversation begins with the system's new message");
    ok(says(&s, "/quit", "") && end_of(&s) == 0, "/quit ends the chat");
}

static void
test_several_lines(void)
{
    const char *const more[] = { NULL };
    struct screen s;

    start_chat(&s, more);
    ok(sees(&s, "> ") && (types(&s, "\"\"\"one\r"), sees(&s, "... ")) &&
            (types(&s, "/two\r"), sees(&s, "... ")) &&
            (types(&s, "three\"\"\"\r"), says(&s, " /x", "")) &&
            says(&s, "/save three.jsonl", "4 messages are in"),
        "a text of several lines is one question");
    ok(strstr(text_in("three.jsonl"), "\"content\":\"one\\n/two\\nthree\"") !=
            NULL,
        "the lines are kept, also one with a slash");
    ok(strstr(text_in("three.jsonl"), "\"content\":\" /x\"") != NULL,
        "a space before a slash makes it text");
    ok(sees(&s, "> ") &&
            (types(&s, "abc\003"), sees(&s, "Ctrl-D ends the chat")),
        "Ctrl-C drops a line");
    ok(sees(&s, "> ") && (types(&s, "\004"), end_of(&s) == 0),
        "Ctrl-D ends the chat");
}

static void
test_editing(const char *answer)
{
    const char *const more[] = { "--temperature", "0", NULL };
    struct screen s;
    struct stat st;

    remove(HISTORY);
    start_chat(&s, more);
    ok(says(&s, "river\001The \005", answer), "a line is edited");
    ok(says(&s, UP, answer), "the line before is asked again");
    ok(says(&s, "/quit", "") && end_of(&s) == 0, "the first chat ends");
    ok(stat(HISTORY, &st) == 0 && (st.st_mode & 0777) == 0600,
        "the history is in a file that only its owner can read");
    start_chat(&s, more);
    ok(says(&s, UP UP, answer), "the next chat has the history");
    ok(says(&s, "Gr\303\274\303\237e\177\177en", "") &&
            says(&s, "/save edited.jsonl", "4 messages are in") &&
            strstr(text_in("edited.jsonl"), "Gr\303\274en") != NULL,
        "a backspace removes a character, not a byte");
    ok(says(&s, "/quit", "") && end_of(&s) == 0, "the second chat ends");
}

static void
test_colours(void)
{
    const char *const more[] = { NULL };
    struct screen s;

    unsetenv("NO_COLOR");
    start_chat(&s, more);
    ok(sees(&s, "\033[1m>\033[0m "), "a terminal shows the prompt in bold");
    types(&s, "/quit\r");
    end_of(&s);
    setenv("NO_COLOR", "1", 1);
    start_chat(&s, more);
    ok(sees(&s, "> ") && strstr(s.shown.p, "\033[1m") == NULL,
        "NO_COLOR leaves it plain");
    types(&s, "/quit\r");
    ok(end_of(&s) == 0, "a chat without colours ends");
}

int
main(void)
{
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    FILE *f = fopen("last.jinja", "w");
    char cwd[4000], *answer;

    if (fd < 0 || grantpt(fd) < 0 || f == NULL) {
        tap_skip("a chat at a terminal is used", "no terminal: no /dev/ptmx");
        return done_testing();
    }
    close(fd);
    fputs("{{ messages[-1].content }}\n", f);
    fclose(f);
    signal(SIGPIPE, SIG_IGN);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    if (getcwd(cwd, sizeof cwd - 20) == NULL)
        return 1;
    setenv("HOME", cwd, 1);
    strcat(cwd, "/state");
    setenv("XDG_STATE_HOME", cwd, 1);
    if ((answer = plain_answer()) == NULL)
        return 1;
    test_commands(answer);
    test_several_lines();
    if (EDITS) {
        test_editing(answer);
        test_colours();
    } else {
        tap_skip("a line is edited", "built without libedit (libedit-dev)");
    }
    free(answer);
    return done_testing();
}
