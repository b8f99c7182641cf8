/*
 * Addresses of streams (retort(7), ADDRESSES): "-", a path, shm:NAME,
 * unix:PATH, tcp:HOST:PORT.  The last three may end with options:
 * ?wait=SECONDS, and for shm: and unix: ?size=BYTES.
 */
#ifndef MSG_ADDR_H
#define MSG_ADDR_H

#include "base/err.h"

#include <stddef.h>

enum addr_kind {
    ADDR_FILE, /* "-" or a path */
    ADDR_SHM,
    ADDR_UNIX,
    ADDR_TCP
};

#define ADDR_SIZE ((size_t)64 << 20) /* bytes of a ring by default */

struct addr {
    enum addr_kind kind;
    const char *text; /* the address as given; borrowed */
    char name[256];   /* NAME, PATH or HOST (without brackets) */
    char port[6];
    size_t size; /* bytes of the shared memory: ring and page of counters */
    double wait; /* seconds to wait for the program at the other end; 0: for
                  * ever */
};
/* 0; -1 and EX_USAGE: a name that is empty, too long or has a character that
 * names may not have; a bad port or option. */
int addr_parse(struct addr *a, const char *text, struct err *e);
/* Does text begin with shm:, unix: or tcp:? */
int addr_is_special(const char *text);
/* Are both texts (NULL: "-") the same address, apart from options? */
int addr_same(const char *a, const char *b);

/* addr_of_rank: a copy of text with a rank's number in place of each %r; the
 * caller frees it (text NULL: NULL).  addr_has_rank: does text hold a %r? */
char *addr_of_rank(const char *text, size_t rank);
int addr_has_rank(const char *text);

/*
 * Take one step of a wait for the other end of a, which began at clock_now() =
 * `began`: sleep some milliseconds and return 0.  -1: EX_STOP if stop_asked is
 * set, EX_SYS if a->wait seconds are over.  After two seconds a note says,
 * once, for whom the program waits; *told must be 0 before the first step.
 */
int addr_wait(const struct addr *a, double began, const char *whom, int *told,
    struct err *e);

#endif
