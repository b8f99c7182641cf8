/* The CSS of the page, see style.h; the Makefile makes css.h from style.css. */
#include "style.h"

const char style[] =
#include "css.h"
    ;
