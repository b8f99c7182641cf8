/* The values of options as JSON; see opt_values.h. */
#include "cli/opt_values.h"

static json_t *
option_value(const struct opt *o)
{
    const char *text = NULL;
    json_t *list;

    switch (o->kind) {
    case OPT_K_FLAG: return json_boolean(*(const int *)o->dst);
    case OPT_K_SIZE:
        return *(const size_t *)o->dst == OPT_NONE
            ? json_null()
            : json_integer((json_int_t) * (const size_t *)o->dst);
    case OPT_K_REAL:
    case OPT_K_COUNT:
    case OPT_K_TIME: return json_real(*(const double *)o->dst);
    case OPT_K_ENUM:
        return *(const int *)o->dst < 0
            ? json_null()
            : json_string(o->choice[*(const int *)o->dst]);
    case OPT_K_LIST:
        list = json_array();
        for (size_t i = 0; i < ((const struct opt_list *)o->dst)->n; i++)
            json_array_append_new(list,
                json_string(((const struct opt_list *)o->dst)->v[i]));
        return list;
    default:
        text = *(const char *const *)o->dst;
        return text != NULL ? json_string(text) : json_null();
    }
}

json_t *
opt_values(const struct opt *table)
{
    json_t *all = json_object();

    for (const struct opt *o = table; o->kind != OPT_K_END; o++)
        if (o->kind != OPT_K_GROUP)
            json_object_set_new(all, o->name, option_value(o));
    return all;
}
