/*
 * A model's chat template: it turns messages into the text that the model
 * continues, or that it is trained on.  The texts are those of
 * apply_chat_template of transformers 5 for the same messages.
 *
 * Encode such a text with TOK_SPECIAL and without BOS: the template prints the
 * names of all special tokens, BOS too.
 */
#ifndef GEN_CHAT_H
#define GEN_CHAT_H

#include "gen/jinja.h"

#include <jansson.h>
#include <time.h>

struct chat;

/*
 * Read the template of a model (directory, .gguf, or the tokenizer.json in a
 * directory), or the one in `file` unless that is NULL.  A directory has it in
 * chat_template.jinja, else in tokenizer_config.json or chat_template.json.  If
 * there are several named templates, "default" is used, and "tool_use" for
 * messages with tools.  Special tokens come from the model in any case.  NULL
 * and *e "path: why": EX_USAGE: the model has no template; EX_INPUT: the
 * template uses something that is not known here, or is damaged; EX_SYS.
 */
struct chat *chat_open(const char *model, const char *file, struct err *e);
void chat_free(struct chat *c);
/* XXH3-128, as 32 hex digits, of what chat_open reads: the template, and the
 * texts of special tokens.  "" if there is no template. */
void chat_hash(const char *model, const char *file, char hex[33]);

/*
 * Replace c's template by one that marks the assistant's words, for training.
 * A template with generation blocks stays; else TRL 1.16's variant of it is
 * used.  TRL has no variant for SmolLM2: its template is treated as TRL treats
 * Qwen2.5's.  -1 and *e (EX_USAGE): the template is none of these.
 */
int chat_for_training(struct chat *c, struct err *e);

struct chat_options {
    int prompt;           /* 1: end where the assistant is to speak
                           * (add_generation_prompt) */
    int unfinished;       /* 1: end where the last message's content ends
                           * (continue_final_message); needs prompt 0 */
    const json_t *tools;  /* a list of OpenAI's {type, function}, or NULL */
    const json_t *more;   /* an object of other variables, or NULL */
    const struct tm *now; /* for templates that ask for the date; NULL: such
                           * a template is refused */
};

/* Does the template's text have the variable `name`? */
int chat_reads(const struct chat *c, const char *name);

/* Check the template's variables in `more`, an object, null or NULL.  -1 and *e
 * (EX_INPUT) "chat_template_kwargs: why": `more` is none of these, or has a
 * variable that chat_render sets itself or does not take: messages, tools,
 * chat_template, add_generation_prompt, continue_final_message. */
int chat_check_variables(const json_t *more, struct err *e);

/* Set o->tools and o->more by the members tools (a list, or a list as JSON in a
 * string) and chat_template_kwargs of a record.  *parsed: NULL, or a value that
 * the caller frees after o.  -1 and *e (EX_INPUT): one of them is wrong. */
int chat_record_options(const json_t *record, struct chat_options *o,
    json_t **parsed, struct err *e);

/*
 * Render a list of messages {role, content, ...} into *out, which the caller
 * releases, also after an error.  Members that are null are left out.  A
 * content may be a list of {type: "text", text}: if the template takes texts
 * only, these are joined by newlines.  Parts {type: "thinking", thinking} are
 * for templates that print them.  Other parts, such as images, are refused: a
 * template that does not know them would drop them.  Several threads may render
 * at the same time.
 * 0; -1 and *e (EX_INPUT): messages is no such list; or the template refuses
 * it, and says why; EX_USAGE: the template asks for the date.
 */
int chat_render(const struct chat *c, const json_t *messages,
    const struct chat_options *o, struct jinja_out *out, struct err *e);

#endif
