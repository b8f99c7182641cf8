/* The command that describes the machine. */
#ifndef RETORT_DOCTOR_H
#define RETORT_DOCTOR_H

/* Print what processor, memory and libraries there are, and what is missing and
 * what that costs.  Returns the exit status: 0, or 1 if a program is missing or
 * the processor has no AVX2. */
int doctor_main(int argc, char **argv);

#endif
