/* generate bench; see generate-bench(1) */
#ifndef GENERATE_BENCH_H
#define GENERATE_BENCH_H

int bench_main(int argc, char **argv);

#endif
