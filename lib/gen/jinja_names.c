/* Tables of names; see jinja_names.h. */
#include "gen/jinja_names.h"

const struct jname jinja_filters[] = {
    { "trim", JF_TRIM, 0, { "chars" } },
    { "tojson", JF_TOJSON, 0,
        { "ensure_ascii", "indent", "separators", "sort_keys" } },
    { "length", JF_LENGTH, 0, { NULL } },
    { "count", JF_LENGTH, 0, { NULL } },
    { "upper", JF_UPPER, 0, { NULL } },
    { "lower", JF_LOWER, 0, { NULL } },
    { "capitalize", JF_CAPITALIZE, 0, { NULL } },
    { "default", JF_DEFAULT, 0, { "default_value", "boolean" } },
    { "d", JF_DEFAULT, 0, { "default_value", "boolean" } },
    { "selectattr", JF_SELECTATTR, 1, { "", "", "" } },
    { "rejectattr", JF_REJECTATTR, 1, { "", "", "" } },
    { "select", JF_SELECT, 0, { "", "" } },
    { "reject", JF_REJECT, 0, { "", "" } },
    { "map", JF_MAP, 0, { "", "attribute", "default" } },
    { "join", JF_JOIN, 0, { "d", "attribute" } },
    { "first", JF_FIRST, 0, { NULL } },
    { "last", JF_LAST, 0, { NULL } },
    { "list", JF_LIST, 0, { NULL } },
    { "string", JF_STRING, 0, { NULL } },
    { "int", JF_INT, 0, { "default" } },
    { "replace", JF_REPLACE, 2, { "old", "new", "count" } },
    { "items", JF_ITEMS, 0, { NULL } },
    { "reverse", JF_REVERSE, 0, { NULL } },
    { "safe", JF_SAFE, 0, { NULL } },
    { "title", JF_TITLE, 0, { NULL } },
    { "indent", JF_INDENT, 0, { "width", "first", "blank" } },
    { "abs", JF_ABS, 0, { NULL } },
    { "sort", JF_SORT, 0, { "reverse", "case_sensitive", "attribute" } },
    { "dictsort", JF_DICTSORT, 0, { "case_sensitive", "by", "reverse" } },
    { "unique", JF_UNIQUE, 0, { "case_sensitive", "attribute" } },
    { "min", JF_MIN, 0, { "case_sensitive", "attribute" } },
    { "max", JF_MAX, 0, { "case_sensitive", "attribute" } },
    { 0 },
};

const struct jname jinja_tests[] = {
    { "defined", JQ_DEFINED, 0, { NULL } },
    { "undefined", JQ_UNDEFINED, 0, { NULL } },
    { "none", JQ_NONE, 0, { NULL } },
    { "string", JQ_STRING, 0, { NULL } },
    { "number", JQ_NUMBER, 0, { NULL } },
    { "integer", JQ_INTEGER, 0, { NULL } },
    { "float", JQ_FLOAT, 0, { NULL } },
    { "boolean", JQ_BOOLEAN, 0, { NULL } },
    { "true", JQ_TRUE, 0, { NULL } },
    { "false", JQ_FALSE, 0, { NULL } },
    { "mapping", JQ_MAPPING, 0, { NULL } },
    { "iterable", JQ_ITERABLE, 0, { NULL } },
    { "sequence", JQ_SEQUENCE, 0, { NULL } },
    { "odd", JQ_ODD, 0, { NULL } },
    { "even", JQ_EVEN, 0, { NULL } },
    { "in", JQ_IN, 1, { "" } },
    { "eq", JQ_EQ, 1, { "" } },
    { "==", JQ_EQ, 1, { "" } },
    { "!=", JQ_NE, 1, { "" } },
    { "<", JQ_LT, 1, { "" } },
    { "<=", JQ_LE, 1, { "" } },
    { ">", JQ_GT, 1, { "" } },
    { ">=", JQ_GE, 1, { "" } },
    { "equalto", JQ_EQ, 1, { "" } },
    { "ne", JQ_NE, 1, { "" } },
    { "lt", JQ_LT, 1, { "" } },
    { "lessthan", JQ_LT, 1, { "" } },
    { "le", JQ_LE, 1, { "" } },
    { "gt", JQ_GT, 1, { "" } },
    { "greaterthan", JQ_GT, 1, { "" } },
    { "ge", JQ_GE, 1, { "" } },
    { 0 },
};

const struct jname jinja_methods[] = {
    { "strip", JM_STRIP, 0, { "" } },
    { "lstrip", JM_LSTRIP, 0, { "" } },
    { "rstrip", JM_RSTRIP, 0, { "" } },
    { "startswith", JM_STARTSWITH, 1, { "" } },
    { "endswith", JM_ENDSWITH, 1, { "" } },
    { "split", JM_SPLIT, 0, { "sep", "maxsplit" } },
    { "rsplit", JM_RSPLIT, 0, { "sep", "maxsplit" } },
    { "upper", JM_UPPER, 0, { NULL } },
    { "lower", JM_LOWER, 0, { NULL } },
    { "capitalize", JM_CAPITALIZE, 0, { NULL } },
    { "title", JM_TITLE, 0, { NULL } },
    { "format", JM_FORMAT, 0, { NULL } },
    { "replace", JM_REPLACE, 2, { "", "", "" } },
    { "find", JM_FIND, 1, { "" } },
    { "join", JM_JOIN, 1, { "" } },
    { "get", JM_GET, 1, { "", "" } },
    { "items", JM_ITEMS, 0, { NULL } },
    { "keys", JM_KEYS, 0, { NULL } },
    { "values", JM_VALUES, 0, { NULL } },
    { 0 },
};

const struct jname jinja_functions[] = {
    { "range", JC_RANGE, 1, { "", "", "" } },
    { "namespace", JC_NAMESPACE, 0, { NULL } },
    { "dict", JC_DICT, 0, { NULL } },
    { "raise_exception", JC_RAISE, 1, { "" } },
    { "strftime_now", JC_STRFTIME, 1, { "" } },
    { 0 },
};

const struct jname *
jname_find(const struct jname *table, struct jtext name)
{
    for (; table->name != NULL; table++)
        if (jtext_is(name, table->name))
            return table;
    return NULL;
}

int
jname_of_dict(const struct jname *method)
{
    return method->id >= JM_GET;
}
