/* generate run; see generate-run(1) */
#ifndef GENERATE_RUN_H
#define GENERATE_RUN_H

int run_main(int argc, char **argv);

#endif
