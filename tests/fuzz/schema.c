/*
 * Fuzzing of JSON schemas: the input after its first byte is a schema.  If it
 * is read, a document is written, one of the allowed bytes after the other; the
 * first byte seeds the choice.  Checked: after each byte the document is
 * complete or another byte is allowed, also if the state is saved and loaded in
 * between.  If the schema is refused, there must be a message.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "format/json.h"
#include "gen/json_state.h"
#include "fuzz.h"

#include <stdlib.h>

enum { BYTES = 300 };
#define SECONDS 15 /* processor time, for a build with sanitizers */

static struct json_room room;

/* Choose one of the bytes that may follow the state; -1: there is none. */
static int
choose_byte(const struct schema *s, const struct json_state *state,
    uint64_t draw)
{
    for (size_t i = 0; i < 256; i++) {
        const unsigned char c = (unsigned char)rng_perm(draw, 256, i);

        json_room_load(&room, s, state);
        if (json_room_byte(&room, 0, c) > 0)
            return c;
    }
    return -1;
}

static void
write_text(const struct schema *s, uint64_t key)
{
    struct json_state state;

    json_state_begin(&state, s);
    for (size_t n = 0; n < BYTES; n++) {
        const int c = choose_byte(s, &state, rng_u64(key, n));

        if (c < 0) {
            json_room_load(&room, s, &state);
            if (!json_room_complete(&room, 0))
                abort();
            break;
        }
        if (room.at[1].n > JSON_THREADS)
            abort();
        json_room_keep(&room, 1, &state);
    }
    json_state_release(&state);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const double before = clock_cpu();
    struct err e = { 0 };
    struct schema *s;
    json_t *j;

    if (n == 0 || (j = js_parse((const char *)data + 1, n - 1, &e)) == NULL)
        return 0;
    s = schema_read(j, &e);
    json_decref(j);
    if (s == NULL) {
        if (e.code != EX_INPUT || e.msg[0] != '#')
            abort();
        return 0;
    }
    write_text(s, data[0]);
    schema_free(s);
    if (n <= 4096 && clock_cpu() - before > SECONDS)
        abort();
    return 0;
}
