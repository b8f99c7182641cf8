/*
 * Folders: listing one, removing one, locking one, and making one that is whole
 * or not there.  Removing never follows a symbolic link.  A folder that cannot
 * be read is an error; it never counts as empty.
 */
#ifndef BASE_DIR_H
#define BASE_DIR_H

#include "base/err.h"

#include <stddef.h>

/* List the names in dir except "." and "..", sorted by bytes.  -1 and EX_SYS
 * (errno says why) if they cannot be read to the end. */
struct dir_list {
    char **name;
    size_t n;
};
int dir_list(const char *dir, struct dir_list *l, struct err *e);
void dir_list_release(struct dir_list *l);

/* Remove a folder with the files in it, and the folders in it with their files;
 * a folder deeper down is an error.  If dir is a symbolic link only the link is
 * removed. */
int dir_remove(const char *dir, struct err *e);

/* The folder that `retort distil` and the recipes make in the folder of a run
 * for their files. */
#define DIR_FULL "full"

/* Keep other processes out of dir, until dir_unlock or the end of the process,
 * by a lock on the file DIR/.lock, or DIR/.lock.r for rank r > 0.  The file
 * names the process that holds the lock, and is removed when the lock ends.
 * Rank 0 must lock first; its call fails while any rank of an earlier run
 * lives.  -1 (EX_SYS): *e names the holder.  A file system without locks brings
 * only a warning. */
#define DIR_LOCK ".lock"
struct dir_lock {
    int fd;     /* file descriptor */
    int place;  /* number from io_remember */
    char *path; /* owned */
};
int dir_lock(struct dir_lock *l, const char *dir, size_t rank, struct err *e);
void dir_unlock(struct dir_lock *l);

/*
 * A folder that is made as PATH.tmp and renamed to PATH when it is whole.
 * Until then the folder holds a file DIR_MARK, which shows that retort made the
 * folder; a lock on that file shows that the process that made it is alive.  A
 * PATH.tmp whose maker has died is removed; any other folder or file of that
 * name is refused (EX_USAGE).  If the program ends before dir_new_commit, even
 * by a signal, the folder is removed with the files in it.  A folder called
 * PATH is whole, even if a kill has left DIR_MARK in it.
 */
#define DIR_MARK ".unfinished"
struct dir_new {
    char *path, *tmp; /* owned */
    int mark;         /* descriptor of DIR_MARK */
    int place;        /* number of tmp from io_remember */
};
/* -1 and *e: something is in the way of dir_new_begin.  Changes nothing. */
int dir_new_check(const char *path, struct err *e);
int dir_new_begin(struct dir_new *d, const char *path, struct err *e);
/* Sync the folder and rename it to PATH, which must not exist or be an empty
 * folder.  After a failure call dir_new_abort. */
int dir_new_commit(struct dir_new *d, struct err *e);
void dir_new_abort(struct dir_new *d);

#endif
