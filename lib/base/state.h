/* Files that programs keep for a user: by the XDG Base Directory Specification,
 * in XDG_STATE_HOME/retort, or else in ~/.local/state/retort. */
#ifndef BASE_STATE_H
#define BASE_STATE_H

/* Return the path of the user's file `name`, which the caller frees; NULL if
 * neither XDG_STATE_HOME nor HOME is an absolute path. */
char *state_file(const char *name);

#endif
