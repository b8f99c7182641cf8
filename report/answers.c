/* report answers: how long, varied, whole and alike questions and answers are;
 * see report-answers(1). */
#include "answers.h"
#include "grid.h"

#include "base/median.h"
#include "base/utf8.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/shared.h"
#include "docs/lines.h"
#include "format/json.h"
#include "format/sheet.h"
#include "gen/dialogue.h"
#include "text/count.h"
#include "text/plain.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <xxhash.h>

enum {
    SHORT = 40,     /* answers of fewer tokens are counted as short */
    SHOWN_WORDS = 5 /* most first words that are printed */
};

struct lengths {
    double *v; /* [n]; sorted by count_all */
    size_t n, cap;
};

/* A text that was given as an answer. */
struct answer {
    size_t question; /* number of its question */
    uint64_t text;   /* equal for answers that are alike */
    size_t number;   /* its own number if it is empty, else 0: an empty answer
                      * is like no other */
};

struct answers {
    json_t *question; /* from the hash of a question's messages to its number */
    json_t *first[2]; /* of questions and of answers: from first words to how
                       * many begin with them */
    struct lengths questions, words, tokens;
    struct answer *v; /* [n] */
    size_t n, cap;
    size_t ends, cut; /* answers with a finish_reason; those cut off */
    /* set by count_all */
    size_t repeated;     /* questions with several answers */
    size_t alike, apart; /* repeated questions of which all answers are alike,
                          * and no two are */
};

/* ---- reading ---- */

static void
add_length(struct lengths *l, double v)
{
    l->v = xgrow(l->v, l->n, &l->cap, sizeof *l->v);
    l->v[l->n++] = v;
}

/* Count the first word of a text: its first run of letters, marks and digits,
 * in lower case; "-" if it has none. */
static void
add_first_word(json_t *words, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *const end = p + n;
    struct buf word = { 0 };
    json_int_t before;
    size_t len;

    for (; p < end; p += len) {
        const uint32_t c = utf8_next(p, end, &len);

        if (uni_class(c) & (U_L | U_M | U_N))
            utf8_put(&word, (uint32_t)u_tolower((UChar32)c));
        else if (word.n > 0)
            break;
    }
    if (word.n == 0)
        buf_adds(&word, "-");
    before = json_integer_value(json_object_get(words, word.p));
    json_object_set_new(words, word.p, json_integer(before + 1));
    buf_release(&word);
}

/* Hash of the text by which scripts/agree compares answers (text/plain.h).
 * *empty: that text is empty. */
static uint64_t
text_hash(const char *text, size_t n, int *empty)
{
    struct buf plain = { 0 };
    uint64_t hash;

    plain_text(text, n, &plain);
    *empty = plain.n == 0;
    hash = XXH3_64bits(plain.n > 0 ? plain.p : "", plain.n);
    buf_release(&plain);
    return hash;
}

/* Number of the question that the messages ask.  *is_new: it is the first
 * time. */
static size_t
question_number(struct answers *a, const json_t *messages, int *is_new)
{
    char *text = json_dumps(messages, JSON_COMPACT | JSON_SORT_KEYS);
    const XXH128_hash_t h = XXH3_128bits(text, strlen(text));
    const size_t n = json_object_size(a->question);
    const json_t *known;
    char key[33];

    snprintf(key, sizeof key, "%016llx%016llx", (unsigned long long)h.high64,
        (unsigned long long)h.low64);
    free(text);
    known = json_object_get(a->question, key);
    *is_new = known == NULL;
    if (known != NULL)
        return (size_t)json_integer_value(known);
    json_object_set_new(a->question, key, json_integer((json_int_t)n));
    return n;
}

/* The last message of that role; NULL: there is none. */
static const json_t *
last_said(const json_t *messages, const char *role)
{
    for (size_t i = json_array_size(messages); i > 0; i--) {
        const json_t *m = json_array_get(messages, i - 1);

        if (strcmp(js_text_of(m, "role"), role) == 0)
            return json_object_get(m, "content");
    }
    return NULL;
}

static void
count_asked(struct answers *a, const json_t *messages)
{
    const json_t *asked = last_said(messages, "user");
    const char *text = asked != NULL ? json_string_value(asked) : "";
    const size_t n = json_string_length(asked);

    add_length(&a->questions, (double)count_words(text, n));
    add_first_word(a->first[0], text, n);
}

static void
add_answer(struct answers *a, const json_t *record, const json_t *answer,
    size_t question)
{
    const char *text = json_string_value(answer);
    const char *end = js_text_of(record, "finish_reason");
    const json_t *tokens = json_object_get(record, "tokens");
    const size_t n = json_string_length(answer);
    struct answer *one;
    int empty;

    a->v = xgrow(a->v, a->n, &a->cap, sizeof *a->v);
    one = &a->v[a->n++];
    one->question = question;
    one->text = text_hash(text, n, &empty);
    one->number = empty ? a->n : 0;
    add_length(&a->words, (double)count_words(text, n));
    if (json_is_integer(tokens))
        add_length(&a->tokens, (double)json_integer_value(tokens));
    add_first_word(a->first[1], text, n);
    a->ends += *end != '\0';
    a->cut += strcmp(end, "length") == 0;
}

static int
count_record(struct answers *a, json_t *record, struct err *e)
{
    json_t *said = dialogue_turns(record, e), *answer = NULL;
    const size_t n = json_array_size(said);
    size_t question;
    int is_new;

    if (said == NULL)
        return -1;
    if (n > 0 &&
        strcmp(js_text_of(json_array_get(said, n - 1), "role"), "assistant") ==
            0) {
        answer = json_incref(
            json_object_get(json_array_get(said, n - 1), "content"));
        json_array_remove(said, n - 1);
    }
    question = question_number(a, said, &is_new);
    if (is_new)
        count_asked(a, said);
    if (answer != NULL)
        add_answer(a, record, answer, question);
    json_decref(answer);
    json_decref(said);
    return 0;
}

static void
read_answer_file(struct answers *a, const char *path)
{
    struct err e;
    struct line_reader *l = lines_open(path, &e);
    char *line;
    size_t n;
    int k;

    if (l == NULL)
        die_err(&e);
    while ((k = lines_next(l, &line, &n, &e)) > 0) {
        json_t *record = js_parse(line, n, &e);

        if (record == NULL || count_record(a, record, &e) < 0)
            die(EX_INPUT, "%s: line %zu: %s", lines_name(l), lines_number(l),
                e.msg);
        json_decref(record);
    }
    if (k < 0)
        die_err(&e);
    lines_close(l);
}

/* ---- counting ---- */

static int
by_question(const void *a, const void *b)
{
    const struct answer *x = a, *y = b;

    if (x->question != y->question)
        return x->question < y->question ? -1 : 1;
    if (x->text != y->text)
        return x->text < y->text ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Count the question whose n answers begin at v. */
static void
count_question(struct answers *a, const struct answer *v, size_t n)
{
    size_t pairs = 0; /* neighbours that are alike */

    for (size_t i = 1; i < n; i++)
        pairs += v[i].text == v[i - 1].text && v[i].number == v[i - 1].number;
    a->repeated += n > 1;
    a->alike += n > 1 && pairs == n - 1;
    a->apart += n > 1 && pairs == 0;
}

static void
count_all(struct answers *a)
{
    size_t from = 0;

    sort_doubles(a->questions.v, a->questions.n);
    sort_doubles(a->words.v, a->words.n);
    sort_doubles(a->tokens.v, a->tokens.n);
    if (a->n > 0)
        qsort(a->v, a->n, sizeof *a->v, by_question);
    for (size_t i = 1; i <= a->n; i++)
        if (i == a->n || a->v[i].question != a->v[from].question) {
            count_question(a, a->v + from, i - from);
            from = i;
        }
}

static double
mean_length(const struct lengths *l)
{
    double sum = 0.0;

    for (size_t i = 0; i < l->n; i++)
        sum += l->v[i];
    return l->n > 0 ? sum / (double)l->n : NAN;
}

static double
ratio_of(size_t n, size_t all)
{
    return all > 0 ? (double)n / (double)all : NAN;
}

/* Lengths of answers: in tokens if each answer says how many it has. */
static const struct lengths *
answer_lengths(const struct answers *a, const char **unit)
{
    const int counted = a->n > 0 && a->tokens.n == a->n;

    *unit = counted ? "tokens" : "words";
    return counted ? &a->tokens : &a->words;
}

static double
short_share(const struct lengths *l)
{
    size_t n = 0;

    while (n < l->n && l->v[n] < SHORT)
        n++;
    return ratio_of(n, l->n);
}

struct first_word {
    const char *word;
    size_t n;
};

static int
by_number(const void *a, const void *b)
{
    const struct first_word *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n)
                        : strcmp(x->word, y->word);
}

/* List first words, the most frequent first; the caller frees the list. */
static struct first_word *
sorted_words(json_t *words, size_t *n)
{
    struct first_word *v = xcalloc(json_object_size(words) + 1, sizeof *v);
    const char *word;
    json_t *count;

    *n = 0;
    json_object_foreach(words, word, count)
    {
        v[(*n)++] =
            (struct first_word){ word, (size_t)json_integer_value(count) };
    }
    if (*n > 0)
        qsort(v, *n, sizeof *v, by_number);
    return v;
}

/* ---- output ---- */

static const char *const kinds[] = { "questions", "answers" };

static void
put_lengths(struct sheet *s, const char *of, const char *unit,
    const struct lengths *l)
{
    sheet_row(s, TEXT(of), TEXT(unit), COUNT(l->n),
        NUMBER("%.6f", mean_length(l)));
    for (int i = 0; i <= 4; i++)
        sheet_row(s, NUMBER("%.10g", quantile(l->v, l->n, i / 4.0)));
}

static void
put_sheet(struct buf *b, const struct answers *a, enum format format)
{
    static const char *const lengths[] = { "of", "unit", "n", "mean", "least",
        "quarter", "median", "three_quarters", "most", NULL };
    static const char *const shares[] = { "share", "of", "value", NULL };
    static const char *const words[] = { "of", "word", "n", NULL };
    const char *unit;
    const struct lengths *l = answer_lengths(a, &unit);
    const struct {
        const char *name;
        size_t of;
        double value;
    } share[] = { { "short", l->n, short_share(l) },
        { "cut", a->ends, ratio_of(a->cut, a->ends) },
        { "alike", a->repeated, ratio_of(a->alike, a->repeated) },
        { "apart", a->repeated, ratio_of(a->apart, a->repeated) } };
    struct sheet s;

    sheet_open(&s, b, format);
    sheet_list(&s, "lengths", lengths);
    put_lengths(&s, kinds[0], "words", &a->questions);
    put_lengths(&s, kinds[1], unit, l);
    sheet_list(&s, "shares", shares);
    for (size_t i = 0; i < sizeof share / sizeof *share; i++)
        sheet_row(&s, TEXT(share[i].name), COUNT(share[i].of),
            NUMBER("%.6f", share[i].value));
    sheet_list(&s, "first_words", words);
    for (int k = 0; k < 2; k++) {
        size_t n;
        struct first_word *v = sorted_words(a->first[k], &n);

        for (size_t i = 0; i < n; i++)
            sheet_row(&s, TEXT(kinds[k]), TEXT(v[i].word), COUNT(v[i].n));
        free(v);
    }
    sheet_close(&s);
}

/* Add a row of lengths to a grid. */
static void
grid_lengths(struct grid *g, const char *name, const struct lengths *l)
{
    grid_text(g, name);
    grid_number(g, "%.0f", (double)l->n);
    grid_number(g, "%.1f", mean_length(l));
    for (int i = 0; i <= 4; i++)
        grid_number(g, "%.10g", quantile(l->v, l->n, i / 4.0));
}

static void
print_share(struct buf *b, const char *what, double share, size_t n,
    const char *of)
{
    buf_addf(b, "%-24s", what);
    if (n == 0)
        buf_addf(b, "-\n");
    else
        buf_addf(b, "%.1f %% of %zu %s\n", 100.0 * share, n, of);
}

static void
print_words(struct buf *b, const char *what, json_t *words, size_t all)
{
    size_t n;
    struct first_word *v = sorted_words(words, &n);

    buf_addf(b, "%-24s%zu", what, n);
    for (size_t i = 0; i < n && i < SHOWN_WORDS; i++)
        buf_addf(b, "%s %.20s %.0f %%", i == 0 ? ":" : ",", v[i].word,
            100.0 * ratio_of(v[i].n, all));
    buf_adds(b, n > SHOWN_WORDS ? ", ...\n" : "\n");
    free(v);
}

static void
answers_text(struct buf *b, const struct answers *a)
{
    const char *unit;
    const struct lengths *l = answer_lengths(a, &unit);
    const int in_tokens = l == &a->tokens;
    struct grid g;

    grid_init(&g, "lengths", "",
        "length|number|mean|least|25 %|50 %|75 %|most");
    grid_lengths(&g, "questions, words", &a->questions);
    grid_lengths(&g, in_tokens ? "answers, tokens" : "answers, words", l);
    grid_terminal(b, &g);
    grid_release(&g);
    buf_addc(b, '\n');
    print_share(b, in_tokens ? "under 40 tokens" : "under 40 words",
        short_share(l), l->n, "answers");
    print_share(b, "cut off", ratio_of(a->cut, a->ends), a->ends, "answers");
    print_share(b, "answered alike, easy", ratio_of(a->alike, a->repeated),
        a->repeated, "questions with several answers");
    print_share(b, "never alike, hard", ratio_of(a->apart, a->repeated),
        a->repeated, "questions with several answers");
    print_words(b, "first words, questions", a->first[0], a->questions.n);
    print_words(b, "first words, answers", a->first[1], a->n);
}

int
answers_main(int argc, char **argv)
{
    static int format;
    const struct opt options[] = { OPT_FORMAT(&format, format_names), OPT_END };
    struct answers a = { .question = json_object(),
        .first = { json_object(), json_object() } };
    struct buf b = { 0 };

    argv = opt_parse(argc, argv, options, "count questions and answers",
        "[file ...]", 0, -1, NULL);
    if (*argv == NULL)
        read_answer_file(&a, NULL);
    for (; *argv != NULL; argv++)
        read_answer_file(&a, *argv);
    if (a.questions.n == 0)
        die(EX_INPUT, "there is no question to count");
    count_all(&a);
    if (format == FMT_TEXT)
        answers_text(&b, &a);
    else
        put_sheet(&b, &a, (enum format)format);
    out_put(b.p, b.n);
    out_done();
    buf_release(&b);
    json_decref(a.question);
    json_decref(a.first[0]);
    json_decref(a.first[1]);
    free(a.questions.v);
    free(a.words.v);
    free(a.tokens.v);
    free(a.v);
    return EX_OK;
}
