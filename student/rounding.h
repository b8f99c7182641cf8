/* Notes of what numbers in half precision change. */
#ifndef STUDENT_ROUNDING_H
#define STUDENT_ROUNDING_H

struct student;
/* Before the first step, its batch unpacked: note loss and gradient of the
 * first rows with products in bfloat16 and in fp32.  No bit of the run depends
 * on it. */
void tell_compute(struct student *s);
/* After the first step: note the rounding of what is kept or sent in bf16. */
void tell_rounding(const struct student *s);

#endif
