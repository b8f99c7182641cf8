/* The commands of plan.  Each has a page of its name: plan-run(1), and so on.
 * Each returns the exit status, or ends the program with a message. */
#ifndef PLAN_COMMANDS_H
#define PLAN_COMMANDS_H

int calibrate_main(int argc, char **argv);
int cluster_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int measure_main(int argc, char **argv);
int run_main(int argc, char **argv);
int search_main(int argc, char **argv);

#endif
