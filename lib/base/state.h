/* Files that programs keep for a user: by the XDG Base Directory Specification,
 * in XDG_STATE_HOME/retort, or else in ~/.local/state/retort. */
#ifndef BASE_STATE_H
#define BASE_STATE_H

/* The path of such a file, which the caller frees; NULL: neither the variable
 * nor HOME is set to an absolute path. */
char *state_file(const char *name);

#endif
