/* For tests of the reader of config.json: read one from a string, and check the
 * message by which one is refused. */
#ifndef TEST_CONFIG_TEXT_H
#define TEST_CONFIG_TEXT_H

#include "format/json.h"
#include "model/config/config.h"
#include "tap.h"

#include <jansson.h>
#include <string.h>

/* Read a configuration from the text of a config.json.  Returns what
 * config_from_json does. */
static inline int
config_of_text(struct config *c, const char *text, struct err *e)
{
    json_t *j = json_loads(text, 0, NULL);
    const int r = j != NULL ? config_from_json(c, j, e)
                            : err_set(e, EX_INPUT, "no JSON: %s", text);

    json_decref(j);
    return r;
}

/* A test: the text is refused by a message that contains `why`. */
static inline void
config_refused(const char *text, const char *why)
{
    struct config c;
    struct err e = { 0 };

    ok(config_of_text(&c, text, &e) < 0 && strstr(e.msg, why) != NULL,
        "%.300s is refused: %s", text, e.msg);
}

#endif
