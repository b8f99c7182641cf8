/* Options of programs that read documents; see options.h. */
#include "docs/options.h"

#include "base/note.h"

#include <inttypes.h>
#include <string.h>

const char *const docs_split_names[] = { "file", "line", "blank", NULL };

int
docs_check(const struct input_opts *i, const struct docs_opts *o, struct err *e)
{
    const struct {
        int both;
        const char *names, *use;
    } pairs[] = {
        { i->lang_field && i->lang_path, "--lang-field and --lang-path",
            "each says what the source is" },
        { o->strict && i->lossy, "--strict and --lossy",
            "text that is not UTF-8 is refused or taken" },
        { i->wiki && i->jsonl, "--wiki and --jsonl",
            "all input is of one kind" },
    };

    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        if (pairs[k].both)
            return err_set(e, EX_USAGE, "%s exclude each other: %s; give one",
                pairs[k].names, pairs[k].use);
    if (i->lang &&
        (strcmp(i->lang, "auto") == 0 || strncmp(i->lang, "auto:", 5) == 0))
        return err_set(e, EX_USAGE,
            "--lang %s: only clean identifies languages: put it before this "
            "program, or give a name, --lang-field or --lang-path",
            i->lang);
    return 0;
}

void
docs_note(struct docs_sums *s)
{
    if (s->mended > 1)
        warn("%" PRIu64 " places in %" PRIu64
             " files were not UTF-8 and became U+FFFD",
            s->repaired, s->mended);
    passed_end(&s->passed);
}
