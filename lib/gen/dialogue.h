/*
 * Records of conversations, and what is said in them.  A record has one of
 * these forms:
 * - {messages}: a list of {role, content}
 * - {messages, text}: a line of generate run; the messages do not end with the
 *   assistant's, and the text is its answer
 * - {prompt, completion}: two texts, or two lists of messages
 * - {prompt, text}: a line of generate run without messages
 * - {prompt}: a question without an answer
 * A content is a text or a list of {"type": "text", "text": ...}.
 */
#ifndef GEN_DIALOGUE_H
#define GEN_DIALOGUE_H

#include "base/err.h"

#include <jansson.h>

/* If the record is a line of generate run, bring it into the form {messages} or
 * {prompt, completion}: its text becomes the assistant's last message, or the
 * completion.  Returns 1 if it was such a line, else 0. */
int dialogue_answer(json_t *record);

/* Join the parts of a message's content, such as {"type": "text", "text":
 * "Hello"}, to one text (a JSON string), with a newline between two parts.  A
 * part of another type counts as an empty text.  The caller releases it. */
json_t *dialogue_joined(const json_t *parts);

/* List what is said, in order, as objects with two texts, role and content.  A
 * prompt that is a text is the user's, a completion the assistant's.  Changes
 * the record as dialogue_answer does.  The caller releases the list.
 * NULL and *e (EX_INPUT): the record has none of the forms. */
json_t *dialogue_turns(json_t *record, struct err *e);

#endif
