/* lib/msg: the proof that an end of a socket knows a word */
#include "msg/proof.h"
#include "../lib/tap.h"

#include <string.h>

/*
 * Python 3.11.7:
 *   h = [b"retort-ipc-3 rd\n" + bytes(range(16)),
 *        b"retort-ipc-3 wr\n" + bytes(range(100, 116))]
 *   hmac.new(word, h[0] + h[1] + side, hashlib.sha256).hexdigest()
 */
static const struct {
    const char *word;
    enum proof_side side;
    const char *hex;
} golden[] = {
    { "secret", PROOF_CONNECTS,
        "4112bcb832f502b7b1991adfa12dac756d972c2e22e7decff78efd437df96184" },
    { "secret", PROOF_LISTENS,
        "e2802355f428f440b11ce10025db6939fcfd05d6d97930bc04a9d022decf6eb7" },
    { NULL, PROOF_CONNECTS,
        "a8bdf17a5d9ec687088471e1e4c3f28f278af35333811c66f0687f716111541d" },
    { "", PROOF_LISTENS,
        "0c7ff1503a21423e3fbc4b74d96ceb3ff585dc959cdc2b7f16e92e24b38aa880" },
};

int
main(void)
{
    unsigned char hello[2][HELLO_SIZE], p[PROOF_SIZE], q[PROOF_SIZE];

    memcpy(hello[0], "retort-ipc-3 rd\n", 16);
    memcpy(hello[1], "retort-ipc-3 wr\n", 16);
    for (unsigned char i = 0; i < 16; i++) {
        hello[0][16 + i] = i;
        hello[1][16 + i] = (unsigned char)(100 + i);
    }
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        char hex[2 * PROOF_SIZE + 1];

        proof_make(p, golden[i].word, golden[i].side, hello[0], hello[1]);
        for (int k = 0; k < PROOF_SIZE; k++)
            snprintf(hex + 2 * k, 3, "%02x", p[k]);
        ok(strcmp(hex, golden[i].hex) == 0, "Python's HMAC-SHA-256, %zu", i);
    }
    memcpy(q, p, sizeof q);
    ok(proof_same(p, q), "a proof is equal to its copy");
    for (int k = 0; k < PROOF_SIZE; k += PROOF_SIZE - 1) {
        q[k] ^= 1;
        ok(!proof_same(p, q), "proofs differ when byte %d differs", k);
        q[k] ^= 1;
    }
    return done_testing();
}
