/*
 * A proof that one end of a socket knows a secret word, which does not reveal
 * the word: HMAC-SHA-256 (RFC 2104), keyed by the word, of both ends' hellos,
 * which hold random bytes, and the name of the end's side.  So a proof that was
 * overheard is wrong for any other connection, and the connecting end's proof
 * cannot serve as the listening end's.
 */
#ifndef MSG_PROOF_H
#define MSG_PROOF_H

enum { HELLO_SIZE = 32, PROOF_SIZE = 32 }; /* bytes */

enum proof_side { PROOF_CONNECTS, PROOF_LISTENS };

/* Compute the proof of the end `side`.  word NULL counts as "". */
void proof_make(unsigned char proof[PROOF_SIZE], const char *word,
    enum proof_side side, const unsigned char connects[HELLO_SIZE],
    const unsigned char listens[HELLO_SIZE]);

/* Are the proofs equal?  Takes the same time whatever their bytes are. */
int proof_same(const unsigned char a[PROOF_SIZE],
    const unsigned char b[PROOF_SIZE]);

#endif
