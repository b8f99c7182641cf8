/* The member response_format of requests for texts. */
#ifndef SERVE_FORMAT_H
#define SERVE_FORMAT_H

#include "request.h"

#include <jansson.h>

/* Read the request's member response_format into q->schema, after q->params and
 * q->echo.  Members that do not go with a schema are refused.  0, or -1 and
 * *why. */
int format_read(struct request *q, const json_t *j,
    const struct request_bounds *b, struct refusal *why);

#endif
