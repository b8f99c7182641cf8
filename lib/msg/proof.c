/* Proofs of knowing a secret word: see proof.h */
#include "msg/proof.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/version.h>
#include <string.h>

void
proof_make(unsigned char proof[PROOF_SIZE], const char *word,
    enum proof_side side, const unsigned char connects[HELLO_SIZE],
    const unsigned char listens[HELLO_SIZE])
{
    const char *name = side == PROOF_CONNECTS ? "connects" : "listens";
    struct hmac_sha256_ctx h;

    hmac_sha256_set_key(&h, word ? strlen(word) : 0,
        (const unsigned char *)(word ? word : ""));
    hmac_sha256_update(&h, HELLO_SIZE, connects);
    hmac_sha256_update(&h, HELLO_SIZE, listens);
    hmac_sha256_update(&h, strlen(name), (const unsigned char *)name);
#if NETTLE_VERSION_MAJOR < 4
    hmac_sha256_digest(&h, PROOF_SIZE, proof);
#else
    hmac_sha256_digest(&h, proof);
#endif
}

int
proof_same(const unsigned char a[PROOF_SIZE], const unsigned char b[PROOF_SIZE])
{
    return memeql_sec(a, b, PROOF_SIZE);
}
