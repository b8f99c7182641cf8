/* The command plan search; see plan-search(1). */
#ifndef PLAN_SEARCH_H
#define PLAN_SEARCH_H

int search_main(int argc, char **argv);

#endif
