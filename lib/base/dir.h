/*
 * Folders: what is in one, removing one, making one that is whole or not
 * there.  Nothing here follows a symbolic link to what it removes, and a
 * folder that cannot be read is an error, never an empty one.
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include "base/err.h"

#include <stddef.h>

/* Names in dir but "." and "..", sorted by bytes.  -1 and EX_SYS (errno says
 * why) when they cannot be read to the end. */
struct dir_list {
    char **name;
    size_t n;
};
int dir_list(const char *dir, struct dir_list *l, struct err *e);
void dir_list_release(struct dir_list *l);

/* Remove a folder and what is in it (one level of folders below too); of a
 * link only the link. */
int dir_remove(const char *dir, struct err *e);

/* Keep others out of dir until dir_unlock, or the process ends: a lock on the
 * file DIR/.lock, of rank r > 0 DIR/.lock.r, which says who holds it and goes
 * with it.  Rank 0 comes first, and is let in only when no rank of others is
 * left, though its rank 0 has died.  -1 (EX_SYS) names the holder; where the
 * file system has no locks, a warning. */
#define DIR_LOCK ".lock"
struct dir_lock {
    int fd, place; /* place: of the name among those removed at the end */
    char *path;    /* owned */
};
int dir_lock(struct dir_lock *l, const char *dir, size_t rank, struct err *e);
void dir_unlock(struct dir_lock *l);

/*
 * A folder that is made under the name PATH.tmp and renamed when it is whole.
 * Until then a file in it, DIR_MARK, says that it is ours, and a lock on that
 * file that its maker lives: only what an earlier maker has left is removed;
 * another folder of that name is refused (EX_USAGE).  When the program ends
 * before dir_new_commit, by a signal too, it goes with the files in it.  A
 * folder of the final name is whole, even where a kill has left the mark in it.
 */
#define DIR_MARK ".unfinished"
struct dir_new {
    char *path, *tmp; /* owned */
    int mark;         /* descriptor */
    int place;        /* of tmp among what is removed at the end */
};
/* Could dir_new_begin succeed?  Changes nothing. */
int dir_new_check(const char *path, struct err *e);
int dir_new_begin(struct dir_new *d, const char *path, struct err *e);
/* Sync and rename; a failure leaves dir_new_abort to be called.  PATH must not
 * be there, or be an empty folder. */
int dir_new_commit(struct dir_new *d, struct err *e);
void dir_new_abort(struct dir_new *d);

#endif
