/* Telling questions from other texts; see sift.h. */
#include "sift.h"
#include "base/mem.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sift {
    const struct tokenizer *tok;
    struct tok_scratch *scratch;
    char **text; /* [ntext] a text that holds one of these is dropped */
    size_t ntext, text_cap;
    char **word; /* [nword] and one with a line that begins with one of these */
    size_t nword, word_cap;
};

const char *
sift_name(enum sift_why why)
{
    static const char *const name[] = { "kept", "unfinished", "empty",
        "answering", "marked", "copied" };

    return name[why];
}

/* ---- marks ---- */

static int
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void
add_once(char ***list, size_t *n, size_t *cap, const char *s, size_t len)
{
    for (size_t i = 0; i < *n; i++)
        if (strlen((*list)[i]) == len && memcmp((*list)[i], s, len) == 0)
            return;
    *list = xgrow(*list, *n, cap, sizeof **list);
    (*list)[*n] = xcalloc(len + 1, 1);
    memcpy((*list)[(*n)++], s, len);
}

/* Add a line[n] that the template prints: a single word, such as a role, or
 * else a text, such as [INST].  Lines without a letter are in many texts. */
static void
add_mark_line(struct sift *s, const char *line, size_t n)
{
    size_t letters = 0;

    while (n > 0 && strchr(" \t\r", *line) != NULL)
        line++, n--;
    while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
        n--;
    for (size_t i = 0; i < n; i++)
        letters += (size_t)is_letter(line[i]);
    if (letters == 0)
        return;
    if (letters == n || (letters == n - 1 && line[n - 1] == ':'))
        add_once(&s->word, &s->nword, &s->word_cap, line, letters);
    else
        add_once(&s->text, &s->ntext, &s->text_cap, line, n);
}

/* Add the lines of a text between special tokens. */
static void
add_lines(struct sift *s, const struct buf *text)
{
    for (size_t at = 0, n; at < text->n; at += n + 1) {
        n = strcspn(text->p + at, "\n");
        add_mark_line(s, text->p + at, n);
    }
}

/* Add what is between special tokens in text[n]. */
static void
mark_between(struct sift *s, const char *text, size_t n)
{
    struct tok_ids ids = { 0 };
    struct buf part = { 0 };
    struct err e;

    tok_encode(s->tok, s->scratch, text, n, TOK_SPECIAL, &ids);
    for (size_t i = 0; i < ids.n; i++) {
        if (tok_is_special(s->tok, ids.v[i])) {
            add_lines(s, &part);
            buf_clear(&part);
        } else {
            (void)tok_decode(s->tok, &ids.v[i], 1, TOK_MIDDLE, &part, &e);
        }
    }
    add_lines(s, &part);
    buf_release(&part);
    tok_ids_release(&ids);
}

/* Stands for the words of all messages. */
static const char words[] = "RetortWords";

/* Render messages with these roles, and add what the template prints around
 * their words.  Templates refuse some orders of roles. */
static void
mark_template(struct sift *s, const struct chat *c, const struct tm *now,
    const char *const *role, size_t n)
{
    const struct chat_options o = { .prompt = 1, .now = now };
    json_t *messages = json_array();
    struct jinja_out out;
    struct err e;

    for (size_t i = 0; i < n; i++)
        json_array_append_new(messages,
            json_pack("{s:s, s:s}", "role", role[i], "content", words));
    if (chat_render(c, messages, &o, &out, &e) == 0) {
        const char *p = out.text.p, *at;

        for (; (at = strstr(p, words)) != NULL; p = at + strlen(words))
            mark_between(s, p, (size_t)(at - p));
        mark_between(s, p, strlen(p));
    }
    jinja_out_release(&out);
    json_decref(messages);
}

struct sift *
sift_new(const struct chat *c, const struct tm *now,
    const struct tokenizer *tok)
{
    static const char *const role[] = { "system", "user", "assistant", "user" };
    struct sift *s = xcalloc(1, sizeof *s);

    s->tok = tok;
    s->scratch = tok_scratch_new(tok);
    for (size_t i = 0; i < 3; i++)
        add_mark_line(s, role[i], strlen(role[i]));
    if (c != NULL) {
        mark_template(s, c, now, role, 4);
        mark_template(s, c, now, role + 1, 3);
        mark_template(s, c, now, role + 1, 1);
    }
    return s;
}

static void
free_list(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
    free(list);
}

void
sift_free(struct sift *s)
{
    if (s == NULL)
        return;
    tok_scratch_free(s->scratch);
    free_list(s->text, s->ntext);
    free_list(s->word, s->nword);
    free(s);
}

void
sift_add_mark(struct sift *s, const char *mark)
{
    add_once(&s->text, &s->ntext, &s->text_cap, mark, strlen(mark));
}

/* ---- a text ---- */

/* Beginnings of code; what both users and assistants say before code; and what
 * assistants say before they answer.  The words count in any case. */
static const char *const code[] = { "```", "#", "//", "/*", "class ", "def ",
    "from ", "import ", "package ", "public ", NULL };
static const char *const here[] = { "here are", "here is", "here's", NULL };
static const char *const said[] = { "as an ai", "certainly", "i'm sorry",
    "of course", "sorry", "sure", NULL };

/* Does text[n], which may go on, begin with whole words of the list? */
static int
begins_with_words(const char *text, size_t n, const char *const *list)
{
    for (size_t i = 0; list[i] != NULL; i++) {
        const size_t k = strlen(list[i]);

        if (n > k && strncasecmp(text, list[i], k) == 0 && !is_letter(text[k]))
            return 1;
    }
    return 0;
}

int
sift_answers(const char *text, size_t n)
{
    const char *const end = text + n;

    while (text < end && strchr(" \t\r\n", *text) != NULL)
        text++;
    n = (size_t)(end - text);
    for (size_t i = 0; code[i] != NULL; i++)
        if (n >= strlen(code[i]) && memcmp(text, code[i], strlen(code[i])) == 0)
            return 1;
    if (begins_with_words(text, n, here))
        return 1;
    while (!begins_with_words(text, (size_t)(end - text), said)) {
        text = memchr(text, '\n', (size_t)(end - text));
        if (text == NULL || ++text == end)
            return 0;
    }
    return 1;
}

static int
holds_special(struct sift *s, const char *text, size_t n)
{
    struct tok_ids ids = { 0 };
    int found = 0;

    tok_encode(s->tok, s->scratch, text, n, TOK_SPECIAL, &ids);
    for (size_t i = 0; i < ids.n && !found; i++)
        found = tok_is_special(s->tok, ids.v[i]);
    tok_ids_release(&ids);
    return found;
}

/* Does the text hold a name of the form <|...|>?  Tokenizers do not list all of
 * them as special. */
static int
holds_name(const char *text)
{
    for (const char *p = text; (p = strstr(p, "<|")) != NULL; p += 2) {
        const char *q = p + 2;

        while (
            is_letter(*q) || *q == '_' || *q == '-' || (*q >= '0' && *q <= '9'))
            q++;
        if (q > p + 2 && q[0] == '|' && q[1] == '>')
            return 1;
    }
    return 0;
}

/* Does the line begin with a role, and end there or go on with a colon or
 * code? */
static int
begins_with_role(const struct sift *s, const char *line)
{
    line += strspn(line, " \t");
    for (size_t i = 0; i < s->nword; i++) {
        const size_t n = strlen(s->word[i]);

        if (strncasecmp(line, s->word[i], n) == 0) {
            const char *rest = line + n + strspn(line + n, " \t\r");

            if (*rest == '\0' || strchr("\n:`", *rest) != NULL)
                return 1;
        }
    }
    return 0;
}

static int
holds_mark(struct sift *s, const char *text, size_t n)
{
    for (size_t i = 0; i < s->ntext; i++)
        if (strstr(text, s->text[i]) != NULL)
            return 1;
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (begins_with_role(s, line))
            return 1;
    }
    return holds_name(text) || holds_special(s, text, n) ||
        strstr(text, "\xef\xbf\xbd") != NULL || strlen(text) != n;
}

enum sift_why
sift_text(struct sift *s, const char *text, size_t n, int whole)
{
    /* the NUL ends a word */
    if (sift_answers(text, n + 1))
        return SIFT_ANSWER;
    if (!whole)
        return SIFT_UNFINISHED;
    if (n == 0)
        return SIFT_EMPTY;
    return holds_mark(s, text, n) ? SIFT_MARKS : SIFT_KEEP;
}
