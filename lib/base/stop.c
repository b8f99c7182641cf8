/* See stop.h */
#include "base/stop.h"

atomic_int stop_asked;
