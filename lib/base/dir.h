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

/* Remove a folder and its content, folders in it included, one level deep. Of a
 * symbolic link only the link is removed. */
int dir_remove(const char *dir, struct err *e);

/* Keep other processes out of dir until dir_unlock or the end of the process,
 * by a lock on the file DIR/.lock, or DIR/.lock.r for rank r > 0.  The file
 * names its holder and is removed with the lock.  Rank 0 locks first; it fails
 * while any rank of an earlier run lives.  -1 (EX_SYS) names the holder.  Where
 * the file system has no locks there is a warning. */
#define DIR_LOCK ".lock"
struct dir_lock {
    int fd, place; /* descriptor; number from io_remember */
    char *path;    /* owned */
};
int dir_lock(struct dir_lock *l, const char *dir, size_t rank, struct err *e);
void dir_unlock(struct dir_lock *l);

/*
 * A folder that is made as PATH.tmp and renamed to PATH when it is whole.
 * Until then a file in it, DIR_MARK, says that retort made it, and a lock on
 * that file says that its maker lives.  Only what a dead maker has left is
 * removed; another folder of that name is refused (EX_USAGE).  If the program
 * ends before dir_new_commit, by a signal too, the folder is removed with the
 * files in it.  A folder called PATH is whole, even if a kill has left the mark
 * in it.
 */
#define DIR_MARK ".unfinished"
struct dir_new {
    char *path, *tmp; /* owned */
    int mark;         /* descriptor of DIR_MARK */
    int place;        /* number of tmp from io_remember */
};
/* Could dir_new_begin succeed?  Changes nothing. */
int dir_new_check(const char *path, struct err *e);
int dir_new_begin(struct dir_new *d, const char *path, struct err *e);
/* Sync and rename; a failure leaves dir_new_abort to be called.  PATH must not
 * be there, or be an empty folder. */
int dir_new_commit(struct dir_new *d, struct err *e);
void dir_new_abort(struct dir_new *d);

#endif
