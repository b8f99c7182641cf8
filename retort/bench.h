/* How fast this machine computes: for retort doctor --bench. */
#ifndef RETORT_BENCH_H
#define RETORT_BENCH_H

struct buf;

/* Measure, on all processors and for `seconds` in all, matrix products in fp32,
 * bfloat16 and 8-bit integers, and how fast memory is read and copied.  Append
 * a line for each.  kern_init must have succeeded; the program ends if there is
 * no memory, or threads cannot be made. */
void bench_machine(struct buf *b, double seconds);

#endif
