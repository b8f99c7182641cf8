/* Runs a fuzz target over files, where there is no fuzzer.  Prints each file's
 * name first: a target that finds a fault ends the program. */
#include "base/io.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct io_map m;
        struct err e;
        uint8_t *p;

        if (io_map(&m, argv[i], &e) < 0) {
            fprintf(stderr, "%s\n", e.msg);
            return 1;
        }
        puts(argv[i]);
        fflush(stdout);
        /* An exact copy, so that a sanitizer sees one byte too many. */
        p = malloc(m.n ? m.n : 1);
        if (!p)
            return 1;
        if (m.n)
            memcpy(p, m.p, m.n);
        LLVMFuzzerTestOneInput(p, m.n);
        free(p);
        io_unmap(&m);
    }
    return 0;
}
