/* Content that is no text; see kind.h. */
#include "docs/kind.h"

#include "docs/record.h"

#include "base/utf8.h"
#include "format/json.h"

#include <string.h>
#include <strings.h>

#define IMAGE "is an image, not text"
#define ARROW                                                  \
    "is Arrow, not text: convert it to JSONL, as EXAMPLES in " \
    "tokenize(1) show"
#define UTF16 "is UTF-16, not UTF-8: convert it, iconv -f UTF-16 -t UTF-8"
#define PACKED                                                \
    "is an archive or compressed in a way that is not read: " \
    "unpack it"
#define HTML "is HTML, not text: turn it into text, as by lynx -dump -nolist"
#define DOCUMENT \
    "is a document, not text: turn it into text, as by pandoc -t plain"
#define ARRAY                                                              \
    "is an array of JSON, not text: turn it into an object a line, as by " \
    "jq -c '.[]'"

/* First bytes of kinds of files; '?': any byte. */
static const struct magic {
    const char *bytes;
    size_t n;
    const char *what;
} magics[] = {
#define M(bytes, what)                \
    {                                 \
        bytes, sizeof bytes - 1, what \
    }
    M("PAR1\x15",
        "is Parquet, not text: convert it to JSONL by duckdb (pip install "
        "duckdb-cli), as EXAMPLES in tokenize(1) show"),
    M("ARROW1\0", ARROW),
    M("FEA1\0", ARROW),
    M("\xff\xff\xff\xff????\x10\0\0\0", ARROW),
    M("Obj\1", "is Avro, not text: convert it to JSONL"),
    M("\x89HDF\r\n", "is HDF5, not text: convert it to JSONL"),
    M("SQLite format 3\0",
        "is a database of SQLite, not text: convert it to "
        "JSONL"),
    M("\x93NUMPY", "is an array of NumPy, not text"),
    M("\x7f"
      "ELF",
        "is a program or library (ELF), not text"),
    M("GGUF???\0",
        "is a model (GGUF), not text; as a tokenizer it is an "
        "argument of -t"),
    M("GGUF\0", "is a model (GGUF), not text"),
    M("%PDF-", "is PDF: take its text out, as pdftotext does"),
    M("{\\rtf1", DOCUMENT),
    M("\xd0\xcf\x11\xe0\xa1\xb1",
        "is a document of Office: take its text "
        "out"),
    M("\x89PNG\r\n", IMAGE),
    M("\xff\xd8\xff", IMAGE),
    M("GIF87a", IMAGE),
    M("GIF89a", IMAGE),
    M("RIFF????WEBP", IMAGE),
    M("II*\0", IMAGE),
    M("MM\0*", IMAGE),
    M("\xff\xfe\0\0",
        "is UTF-32, not UTF-8: convert it, iconv -f UTF-32 -t "
        "UTF-8"),
    M("\xff\xfe", UTF16),
    M("\xfe\xff", UTF16),
    M("7z\xbc\xaf\x27\x1c", PACKED),
    M("Rar!\x1a\x07", PACKED),
    M("LZIP\1", PACKED),
    M("\x1f\x9d", PACKED),
    M("\x28\xb5\x2f\xfd", PACKED),
    M("\x1f\x8b\x08", PACKED),
#undef M
};

static int
begins_with_magic(const char *p, size_t n, const struct magic *m)
{
    if (n < m->n)
        return 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->bytes[i] != '?' && p[i] != m->bytes[i])
            return 0;
    return 1;
}

/* Is p[n] safetensors: the length of a header, below 100 MB, then JSON? */
static int
is_safetensors(const char *p, size_t n)
{
    return n > 16 && p[8] == '{' && p[9] == '"' &&
        memcmp(p + 4, "\0\0\0\0", 4) == 0 && (unsigned char)p[3] < 6;
}

/* Skip a byte order mark and white space. */
static const char *
skip_blanks(const char *p, const char *end)
{
    p += utf8_mark(p, (size_t)(end - p));
    while (p < end && *p && strchr(" \t\r\n", *p))
        p++;
    return p;
}

/* Return the end of the first `mark` in [p,end), or end. */
static const char *
skip_past(const char *p, const char *end, const char *mark)
{
    const size_t n = strlen(mark);

    for (; (size_t)(end - p) >= n; p++)
        if (memcmp(p, mark, n) == 0)
            return p + n;
    return end;
}

static int
begins_with(const char *p, const char *end, const char *s)
{
    return (size_t)(end - p) >= strlen(s) && memcmp(p, s, strlen(s)) == 0;
}

/* Skip white space, XML declarations and comments: the parts of an XML document
 * before its first tag. */
static const char *
skip_prolog(const char *p, const char *end)
{
    for (;;) {
        p = skip_blanks(p, end);
        if (begins_with(p, end, "<?"))
            p = skip_past(p + 2, end, "?>");
        else if (begins_with(p, end, "<!--"))
            p = skip_past(p + 4, end, "-->");
        else
            return p;
    }
}

static int
begins_word(const char *p, const char *end, const char *word)
{
    const size_t n = strlen(word);

    return (size_t)(end - p) > n && strncasecmp(p, word, n) == 0 && p[n] &&
        strchr(" \t\r\n>", p[n]);
}

/* Recognise HTML and an array of JSON objects by their beginning. */
static const char *
kind_of_text(const char *p, const char *end)
{
    p = skip_prolog(p, end);
    if (begins_word(p, end, "<!doctype html") || begins_word(p, end, "<html"))
        return HTML;
    if (p == end || *p != '[')
        return NULL;
    p = skip_blanks(p + 1, end);
    if (p == end || *p != '{')
        return NULL;
    p = skip_blanks(p + 1, end);
    return p < end && *p == '"' ? ARRAY : NULL;
}

const char *
kind_of(const char *p, size_t n)
{
    static const char stream[] = "{\"__metadata__\":{\"kind\":\"stream\"";

    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (begins_with_magic(p, n, &magics[i]))
            return magics[i].what;
    if (!is_safetensors(p, n))
        return kind_of_text(p, p + n);
    if (n >= 8 + sizeof stream && memcmp(p + 8, stream, sizeof stream - 1) == 0)
        return "is a stream of retort: it is tokenized already";
    return "is a model (safetensors), not text";
}

const char *
kind_nul(const char *p, size_t n, size_t at)
{
    if (at < 2 && n >= 4 && p[at ^ 1] && !p[2 + at] && p[2 + (at ^ 1)])
        return at ? "has NUL bytes as UTF-16 has them: convert it, iconv -f "
                    "UTF-16LE -t UTF-8"
                  : "has NUL bytes as UTF-16 has them: convert "
                    "it, iconv -f UTF-16BE -t UTF-8";
    return "a NUL byte: is no text (--lossy takes it as it is)";
}

const char *
kind_of_name(const char *name, size_t n)
{
    static const struct {
        const char *ending, *what;
    } known[] = { { ".html", HTML }, { ".htm", HTML }, { ".xhtml", HTML },
        { ".docx", DOCUMENT }, { ".odt", DOCUMENT }, { ".epub", DOCUMENT },
        { ".csv",
            "is CSV, not text: turn it into an object a line, as by mlr "
            "--icsv --ojsonl cat" },
        { ".tsv",
            "is TSV, not text: turn it into an object a line, as by mlr "
            "--itsv --ojsonl cat" } };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t k = strlen(known[i].ending);

        if (n > k && strncasecmp(name + n - k, known[i].ending, k) == 0)
            return known[i].what;
    }
    return NULL;
}

int
kind_is_lines(const char *p, size_t n)
{
    const char *const all = p + n, *end;

    p = skip_blanks(p, all);
    end = memchr(p, '\n', (size_t)(all - p));
    return end ? record_is_object(p, (size_t)(end - p))
               : record_begins_object(p, (size_t)(all - p));
}

int
kind_is_conversation(const char *p, size_t n)
{
    struct err e;
    json_t *j = js_parse(p, n, &e);
    const int is = json_is_array(json_object_get(j, "messages")) ||
        (json_object_get(j, "prompt") && !json_object_get(j, "text"));

    json_decref(j);
    return is;
}

const char *
kind_of_json(const char *p, size_t n)
{
    const char *const end = p + n;

    p = skip_blanks(p, end);
    if (p == end || (*p != '[' && *p != '{'))
        return NULL;
    return *p == '['
        ? ARRAY
        : "is JSON that has no object in its first line: turn it into an "
          "object a line, as by jq -c .";
}

int
kind_is_dump(const char *p, size_t n)
{
    const char *const end = p + (n < 1024 ? n : 1024);

    return begins_word(skip_prolog(p, end), end, "<mediawiki");
}
