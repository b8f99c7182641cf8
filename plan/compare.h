/* plan compare; see plan-compare(1) */
#ifndef PLAN_COMPARE_H
#define PLAN_COMPARE_H

int compare_main(int argc, char **argv);

#endif
