/* The command that describes the machine. */
#ifndef RETORT_DOCTOR_H
#define RETORT_DOCTOR_H

/* Print the processor, memory and libraries of this machine, and what is
 * missing and what that costs.  Returns the exit status: 0, or 1 if a program
 * is missing or the processor has no AVX2 and RETORT_KERNELS is not set. */
int doctor_main(int argc, char **argv);

#endif
