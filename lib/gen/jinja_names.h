/* The filters, tests, methods and functions that templates may use.  Each has a
 * line in a table: its name and the names of its parameters. */
#ifndef GEN_JINJA_NAMES_H
#define GEN_JINJA_NAMES_H

#include "gen/jinja_value.h"

#define JNAME_PARAMS 4

struct jname {
    const char *name;
    int id;
    int least; /* parameters that must be given */
    const char *param[JNAME_PARAMS];
};

enum jfilter {
    JF_TRIM,
    JF_TOJSON,
    JF_LENGTH,
    JF_UPPER,
    JF_LOWER,
    JF_CAPITALIZE,
    JF_DEFAULT,
    JF_SELECTATTR,
    JF_REJECTATTR,
    JF_SELECT,
    JF_REJECT,
    JF_MAP,
    JF_JOIN,
    JF_FIRST,
    JF_LAST,
    JF_LIST,
    JF_STRING,
    JF_INT,
    JF_REPLACE,
    JF_ITEMS,
    JF_REVERSE,
    JF_SAFE,
    JF_TITLE,
    JF_INDENT,
    JF_ABS,
    JF_SORT,
    JF_DICTSORT,
    JF_UNIQUE,
    JF_MIN,
    JF_MAX
};

enum jtest {
    JQ_DEFINED,
    JQ_UNDEFINED,
    JQ_NONE,
    JQ_STRING,
    JQ_NUMBER,
    JQ_INTEGER,
    JQ_FLOAT,
    JQ_BOOLEAN,
    JQ_TRUE,
    JQ_FALSE,
    JQ_MAPPING,
    JQ_ITERABLE,
    JQ_SEQUENCE,
    JQ_ODD,
    JQ_EVEN,
    JQ_IN,
    JQ_EQ,
    JQ_NE,
    JQ_LT,
    JQ_LE,
    JQ_GT,
    JQ_GE
};

enum jmethod {
    JM_STRIP,
    JM_LSTRIP,
    JM_RSTRIP,
    JM_STARTSWITH,
    JM_ENDSWITH,
    JM_SPLIT,
    JM_RSPLIT,
    JM_UPPER,
    JM_LOWER,
    JM_CAPITALIZE,
    JM_TITLE,
    JM_FORMAT,
    JM_REPLACE,
    JM_FIND,
    JM_JOIN,
    /* methods of objects: */
    JM_GET,
    JM_ITEMS,
    JM_KEYS,
    JM_VALUES
};

enum jfunction { JC_RANGE, JC_NAMESPACE, JC_DICT, JC_RAISE, JC_STRFTIME };

extern const struct jname jinja_filters[], jinja_tests[], jinja_methods[],
    jinja_functions[];

/* Row of a table; NULL: no row has this name. */
const struct jname *jname_find(const struct jname *table, struct jtext name);
/* Is `method` one of objects?  Then x.name is the method, and x['name'] is the
 * member of the object x that has this name. */
int jname_of_dict(const struct jname *method);

#endif
