/*
 * Which tokens may follow a text that a schema (schema.h) binds: those whose
 * bytes keep it the beginning of an allowed document.
 *
 * The tokens of a vocabulary are in a tree of their bytes, which is built once.
 * The tokens that may follow are found by walking the tree and the document
 * (json_state.h) together; where a byte may not follow, the branch is left.
 * Inside a string nearly all branches would be walked; there the tokens that do
 * not end the string are marked from a list, and only those with a quote are
 * walked.
 */
#ifndef GEN_MASK_H
#define GEN_MASK_H

#include "gen/json_state.h"
#include "gen/params.h"
#include "model/config/config.h"
#include "tok/tok.h"

#include <stdint.h>

struct mask_vocab;
/*
 * Make the tree of tok's tokens with ids below c->V.  Special tokens, those
 * that end a text, those without bytes and those of more than JSON_TOKEN bytes
 * are left out.  tok is not needed afterwards.
 * NULL and *e (EX_INPUT): no token ends a text, or a printable ASCII character
 * has no token of its own, so that some text could not go on.
 */
struct mask_vocab *mask_vocab_new(const struct tokenizer *tok,
    const struct config *c, struct err *e);
void mask_vocab_free(struct mask_vocab *v);

/* Can texts be bound by the schema?  -1 and *e (EX_INPUT): a byte of a name or
 * constant has no token of its own. */
int mask_check_schema(const struct mask_vocab *v, const struct schema *s,
    struct err *e);
/* Do the parameters of a text go with a schema?  -1 and *e (EX_INPUT) "NAME:
 * why": they would end the text before the document is complete, or not let it
 * end. */
int mask_check_params(const struct gen_params *p, struct err *e);

/* Memory of one thread of the program. */
struct mask_room {
    struct json_room json;
    uint64_t *bits; /* [V/64, rounded up] bit id & 63 of bits[id >> 6]: may the
                     * token follow? */
};
void mask_room_init(struct mask_room *r, const struct mask_vocab *v);
void mask_room_release(struct mask_room *r);
size_t mask_room_bytes(const struct mask_vocab *v);

/* Change *s, a state of the schema, by the bytes of a token.  -1: no document
 * goes on in this way; *s is unchanged. */
int mask_follow(const struct mask_vocab *v, const struct schema *schema,
    struct json_state *s, uint32_t id, struct mask_room *r);
/* Set r->bits to the tokens that may follow text[n], whose beginning before
 * these tokens has the state *s.  end [nend]: tokens that may follow a complete
 * document.  Returns 1; 0: none may follow, as text[n] is not the beginning of
 * a document. */
int mask_next(const struct mask_vocab *v, const struct schema *schema,
    const struct json_state *s, const uint32_t *text, size_t n,
    const uint32_t *end, size_t nend, struct mask_room *r);

#endif
