/* The commands plan run and plan measure; see plan-run(1), plan-measure(1). */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

int run_main(int argc, char **argv);
int measure_main(int argc, char **argv);

#endif
