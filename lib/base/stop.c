/* See stop.h */
#include "base/stop.h"

volatile sig_atomic_t stop_asked;
