/*
 * The proof that an end of a socket knows a secret word, without telling it:
 * HMAC-SHA-256 (RFC 2104) under the word, over what both ends have said, which
 * holds random bytes of both.  A proof heard at one meeting is wrong at every
 * other, and the proof of the end that connects is none of the end that
 * listens.
 */
#ifndef MSG_PROOF_H
#define MSG_PROOF_H

enum { HELLO_SIZE = 32, PROOF_SIZE = 32 }; /* bytes */

enum proof_side { PROOF_CONNECTS, PROOF_LISTENS };

/* The proof of the end `side`.  word: NULL counts as the empty word. */
void proof_make(unsigned char proof[PROOF_SIZE], const char *word,
    enum proof_side side, const unsigned char connects[HELLO_SIZE],
    const unsigned char listens[HELLO_SIZE]);

/* Are the proofs equal?  The time taken does not depend on their bytes. */
int proof_same(const unsigned char a[PROOF_SIZE],
    const unsigned char b[PROOF_SIZE]);

#endif
