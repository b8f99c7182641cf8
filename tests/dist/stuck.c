/* Under mpirun: two ranks that wait for each other in different collectives.
 * What is expected is in ranks.sh. */
#include "base/note.h"
#include "dist/dist.h"
#include "dist/watch.h"
#include "../lib/tap.h"

#include <stdio.h>

static void
say(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

int
main(void)
{
    struct err e;

    note_sink = say;
    if (dist_begin(&e) < 0)
        return 1;
    if (dist_world()->n == 1) {
        ok(watch_begin(0.2, 1, "", &e) == 0, "one rank watches nobody");
        return done_testing();
    }
    if (watch_begin(0.2, 0, "", &e) < 0)
        return 1;
    dist_barrier(dist_world()->rank == 0 ? dist_world() : dist_node());
    return 0;
}
