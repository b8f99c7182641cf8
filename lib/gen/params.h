/* Parameters of a text: how long it may be, how it is sampled, what ends it,
 * which log probabilities are reported.  In JSON they have the names that
 * OpenAI's completions and vLLM give them; generate run reads them from its
 * lines and serve from requests. */
#ifndef GEN_PARAMS_H
#define GEN_PARAMS_H

#include "gen/sample.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { PARAMS_TOP = 100, PARAMS_N = 1024, PARAMS_STOPS = 64 };

struct gen_params {
    size_t most;  /* max_tokens: new tokens at most; 0 scores the prompt only */
    size_t least; /* min_tokens: EOS and the tokens of `end` cannot be chosen
                   * before this many new tokens */
    size_t n;     /* texts to write for the prompt, at most PARAMS_N */
    uint64_t seed;
    struct sampling how;
    int logprobs; /* report the log probability of each new token */
    size_t top;   /* report this many most probable tokens too, <= PARAMS_TOP */
    int past_eos; /* ignore_eos: EOS does not end the text */
    int hide_special; /* skip_special_tokens: special tokens have no bytes */
    char **stop;      /* [nstop] a text ends where one of these begins */
    size_t nstop;
    uint32_t *end; /* [nend] stop_token_ids: end the text as EOS does */
    size_t nend;
};

/* Copy *from to *p; params_release frees the copy. */
void params_copy(struct gen_params *p, const struct gen_params *from);
void params_release(struct gen_params *p);

/*
 * Change *p by the members of the object j: max_completion_tokens (or, without
 * it, max_tokens or, without both, max_new_tokens), min_tokens, n, seed,
 * temperature, top_p, top_k (-1 or 0: all), min_p, typical_p,
 * repetition_penalty, presence_penalty, frequency_penalty, logit_bias (an
 * object of ids), logprobs (a number, or true with top_logprobs), ignore_eos,
 * skip_special_tokens, stop (a text or a list), stop_token_ids.  A missing or
 * null member changes nothing; other members are not read.  V: ids of the
 * model.
 * -1 and *e (EX_INPUT) "NAME: why": the type is wrong, or the value is out of
 * range.
 */
int params_read(struct gen_params *p, const json_t *j, size_t V, struct err *e);

#endif
