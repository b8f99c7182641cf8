/* Notes on the effect of half precision. */
#ifndef STUDENT_ROUNDING_H
#define STUDENT_ROUNDING_H

struct student;
/* Compute loss and gradient of the first rows with products in fp32 and in
 * bfloat16, and print a note of the differences.  Call it before the first
 * step, when its batch is unpacked; it does not change the run. */
void note_compute(struct student *s);
/* After the first step, print a note of the rounding errors of numbers that are
 * stored or sent in bf16. */
void note_rounding(const struct student *s);

#endif
