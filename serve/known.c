/* Members of requests; see known.h. */
#include "known.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS (KNOWN_COMPLETION | KNOWN_CHAT)
/* values of a member that mean the same as leaving it out */
#define NOTHING "[false, \"\", [], {}]"

/* values: NULL: the member is implemented, and its reader checks it.  "": the
 * member is ignored, whatever its value.  Else a JSON list of the values with
 * which the member is ignored; others are refused, as what they ask for is not
 * implemented. */
static const struct known {
    const char *name;
    unsigned at;
    const char *values;
} known[] = {
    { "model", TEXTS | KNOWN_DETOKENIZE | KNOWN_TARGETS, NULL },
    { "prompt", KNOWN_COMPLETION, NULL },
    { "messages", KNOWN_CHAT, NULL },
    { "echo", KNOWN_COMPLETION, NULL },
    { "add_special_tokens", KNOWN_COMPLETION, NULL },
    { "add_generation_prompt", KNOWN_CHAT, NULL },
    { "continue_final_message", KNOWN_CHAT, NULL },
    { "chat_template_kwargs", KNOWN_CHAT, NULL },
    { "documents", KNOWN_CHAT, NULL },
    { "reasoning_effort", KNOWN_CHAT, NULL },
    { "return_token_strs", KNOWN_TOKENIZE, NULL },
    { "tokens", KNOWN_DETOKENIZE, NULL },
    { "ids", KNOWN_TARGETS, NULL },
    { "top", KNOWN_TARGETS, NULL },
    { "temperature", TEXTS | KNOWN_TARGETS, NULL },
    { "best_of", TEXTS, NULL },
    { "frequency_penalty", TEXTS, NULL },
    { "ignore_eos", TEXTS, NULL },
    { "logit_bias", TEXTS, NULL },
    { "logprobs", TEXTS, NULL },
    { "max_completion_tokens", TEXTS, NULL },
    { "max_new_tokens", TEXTS, NULL },
    { "max_tokens", TEXTS, NULL },
    { "min_p", TEXTS, NULL },
    { "min_tokens", TEXTS, NULL },
    { "n", TEXTS, NULL },
    { "presence_penalty", TEXTS, NULL },
    { "repetition_penalty", TEXTS, NULL },
    { "response_format", TEXTS, NULL },
    { "return_tokens_as_token_ids", TEXTS, NULL },
    { "seed", TEXTS, NULL },
    { "skip_special_tokens", TEXTS, NULL },
    { "stop", TEXTS, NULL },
    { "stop_token_ids", TEXTS, NULL },
    { "stream", TEXTS, NULL },
    { "stream_options", TEXTS, NULL },
    { "top_k", TEXTS, NULL },
    { "top_logprobs", TEXTS, NULL },
    { "top_p", TEXTS, NULL },
    { "typical_p", TEXTS, NULL },
    { "include_usage", KNOWN_STREAM, NULL },
    /* ignored, as these do not change the text */
    { "cache_salt", TEXTS, "" },
    { "include_obfuscation", KNOWN_STREAM, "" },
    { "metadata", TEXTS, "" },
    { "parallel_tool_calls", KNOWN_CHAT, "" },
    { "prediction", KNOWN_CHAT, "" },
    { "prompt_cache_key", TEXTS, "" },
    { "prompt_cache_options", TEXTS, "" },
    { "prompt_cache_retention", TEXTS, "" },
    { "request_id", TEXTS, "" },
    { "safety_identifier", TEXTS, "" },
    { "service_tier", TEXTS, "" },
    { "store", TEXTS, "" },
    { "user", TEXTS, "" },
    /* not implemented */
    { "add_special_tokens", KNOWN_CHAT, NOTHING },
    { "allowed_token_ids", TEXTS, "[]" },
    { "bad_words", TEXTS, NOTHING },
    { "continuous_usage_stats", KNOWN_STREAM, NOTHING },
    { "documents", KNOWN_COMPLETION, NOTHING },
    { "early_stopping", TEXTS, NOTHING },
    { "echo", KNOWN_CHAT, NOTHING },
    { "function_call", KNOWN_CHAT, "[\"none\", \"auto\"]" },
    { "functions", TEXTS, NOTHING },
    { "grammar", TEXTS, NOTHING },
    { "guided_choice", TEXTS, NOTHING },
    { "guided_grammar", TEXTS, NOTHING },
    { "guided_json", TEXTS, NOTHING },
    { "guided_regex", TEXTS, NOTHING },
    { "include_reasoning", KNOWN_CHAT, "[true]" },
    { "include_stop_str_in_output", TEXTS, NOTHING },
    { "json_schema", TEXTS, NOTHING },
    { "length_penalty", TEXTS, "[1, 1.0]" },
    { "logits_processors", TEXTS, NOTHING },
    { "modalities", KNOWN_CHAT, "[[\"text\"]]" },
    { "num_beams", TEXTS, "[1]" },
    { "priority", TEXTS, "[0]" },
    { "prompt_logprobs", TEXTS, NOTHING },
    { "return_token_ids", TEXTS, NOTHING },
    { "spaces_between_special_tokens", TEXTS, "[true]" },
    { "structured_outputs", TEXTS, NOTHING },
    { "suffix", TEXTS, NOTHING },
    { "tool_choice", KNOWN_CHAT, "[\"none\", \"auto\"]" },
    { "tools", TEXTS, NOTHING },
    { "truncate_prompt_tokens", TEXTS, "[-1]" },
    { "use_beam_search", TEXTS, NOTHING },
    { "verbosity", KNOWN_CHAT, "[\"medium\"]" },
};

static const struct known *
find_member(const char *name, unsigned at)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((known[i].at & at) != 0 && strcmp(known[i].name, name) == 0)
            return &known[i];
    return NULL;
}

/* Is v one of the values, a list in JSON? */
static int
is_among(const json_t *v, const char *values)
{
    json_t *list = json_loads(values, 0, NULL);
    const json_t *one;
    size_t i;
    int r = 0;

    json_array_foreach(list, i, one) r |= json_equal(v, one);
    json_decref(list);
    return r;
}

int
known_check(const json_t *j, unsigned at, struct refusal *why)
{
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)j, name, v)
    {
        const struct known *k;

        if (json_is_null(v))
            continue;
        if ((k = find_member(name, at)) == NULL)
            return refuse(why, 400, name, NULL,
                "%.60s is not supported here: leave it out", name);
        if (k->values == NULL || *k->values == '\0' || is_among(v, k->values))
            continue;
        if (strcmp(k->values, NOTHING) == 0 || strcmp(k->values, "[]") == 0)
            return refuse(why, 400, name, NULL,
                "%s is not supported: leave it out", name);
        return refuse(why, 400, name, NULL, "%s may only be one of %s here",
            name, k->values);
    }
    return 0;
}
