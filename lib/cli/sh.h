/* Quoting of words in commands that messages print, for a shell. */
#ifndef CLI_SH_H
#define CLI_SH_H

/* The word, quoted for sh if need be; the caller frees it. */
char *sh_word(const char *word);

#endif
