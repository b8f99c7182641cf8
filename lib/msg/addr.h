/*
 * Addresses of streams (retort(7), ADDRESSES): "-", a path, shm:NAME,
 * unix:PATH, tcp:HOST:PORT, the last three with ?size=BYTES and
 * ?wait=SECONDS behind them.
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
    size_t size; /* bytes of the ring, its control page included */
    double wait; /* seconds to wait for the other end; 0: for ever */
};
/* 0; -1 and EX_USAGE: a name with other characters, a bad port or option. */
int addr_parse(struct addr *a, const char *text, struct err *e);
/* Is text an address of the form shm:, unix: or tcp:? */
int addr_is_special(const char *text);
/* Do both texts (NULL: "-") name the same place, apart from their options? */
int addr_same(const char *a, const char *b);

/* addr_of_rank: a copy of text (NULL: NULL) with a rank's number in place of
 * each %r, which the caller frees.  addr_has_rank: does text hold a %r? */
char *addr_of_rank(const char *text, size_t rank);
int addr_has_rank(const char *text);

/*
 * Take one step of waiting, since `began` (clock_now()), for the other end of
 * a: sleep some milliseconds and return 0, or -1: EX_STOP if stop_asked is set,
 * EX_SYS if a->wait is over.  In the first step (*told is 0) a note says that
 * the program waits, and for whom.
 */
int addr_wait(const struct addr *a, double began, const char *whom, int *told,
    struct err *e);

#endif
