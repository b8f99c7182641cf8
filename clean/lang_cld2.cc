/*
 * CLD2 behind two C functions.  This file is compiled only where CLD2's header
 * is found.  No other file is in C++; this one must be, as CLD2 has no C
 * interface.
 */
#include "lang_cld2.h"

#include <stdio.h>
#include <string.h>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

/* Bytes at a text's beginning that CLD2 is given, as it counts in an int. */
static const size_t most = (size_t)1 << 20;

/* CLD2's code of a language, or the code that has replaced it in ISO 639. */
static const char *
code_of(CLD2::Language l)
{
    const char *code = CLD2::LanguageCode(l);

    return strcmp(code, "iw") == 0 ? "he" : strcmp(code, "jw") == 0 ? "jv" :
        code;
}

/* Does CLD2's number i stand for a language? */
static bool
is_language(int i)
{
    return i != CLD2::UNKNOWN_LANGUAGE && i != CLD2::TG_UNKNOWN_LANGUAGE &&
        *CLD2::LanguageCode((CLD2::Language)i) != '\0';
}

const char *
cld2_code(size_t n)
{
    for (int i = 0; i < CLD2::X_183; i++)
        if (is_language(i) && n-- == 0)
            return code_of((CLD2::Language)i);
    return NULL;
}

const char *
cld2_detect(const char *text, size_t n)
{
    CLD2::Language three[3];
    int percent[3], bytes, valid;
    double score[3];
    bool sure;
    const CLD2::CLDHints none = { NULL, NULL, CLD2::UNKNOWN_ENCODING,
        CLD2::UNKNOWN_LANGUAGE };
    CLD2::Language l;

    if (n > most)       /* cut before a character */
        for (n = most; n > most - 4 && ((unsigned char)text[n] & 0xc0) ==
            0x80; n--)
            ;
    l = CLD2::ExtDetectLanguageSummaryCheckUTF8(text, (int)n, true, &none, 0,
        three, percent, score, NULL, &bytes, &sure, &valid);
    return sure && (int)l < CLD2::X_183 && is_language(l) ? code_of(l) : NULL;
}
