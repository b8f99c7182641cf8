/* Content that is no text; see kind.h. */
#include "kind.h"

#include <string.h>

#include "record.h"

#define IMAGE "is an image, not text"
#define ARROW                                                  \
    "is Arrow, not text: convert it to JSONL, as EXAMPLES in " \
    "tokenize(1) show"
#define UTF16 "is UTF-16, not UTF-8: convert it, iconv -f UTF-16 -t UTF-8"
#define PACKED                                                \
    "is an archive or compressed in a way that is not read: " \
    "unpack it"

/* Bytes that stand at the beginning, with '?' for any. */
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
        "is Parquet, not text: convert it to JSONL, as EXAMPLES in "
        "tokenize(1) show"),
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
    M("{\\rtf1", "is RTF: take its text out"),
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
begins(const char *p, size_t n, const struct magic *m)
{
    if (n < m->n)
        return 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->bytes[i] != '?' && p[i] != m->bytes[i])
            return 0;
    return 1;
}

/* A header of less than 100 MB in JSON, behind its length. */
static int
is_safetensors(const char *p, size_t n)
{
    return n > 16 && p[8] == '{' && p[9] == '"' &&
        memcmp(p + 4, "\0\0\0\0", 4) == 0 && (unsigned char)p[3] < 6;
}

const char *
kind_of(const char *p, size_t n)
{
    static const char stream[] = "{\"__metadata__\":{\"kind\":\"stream\"";

    for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
        if (begins(p, n, &magics[i]))
            return magics[i].what;
    if (!is_safetensors(p, n))
        return NULL;
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

int
kind_is_lines(const char *p, size_t n)
{
    const char *end;

    while (n > 0 && *p && strchr(" \t\r\n", *p)) {
        p++;
        n--;
    }
    end = n > 0 ? memchr(p, '\n', n) : NULL;
    return record_is_object(p, end ? (size_t)(end - p) : n);
}
