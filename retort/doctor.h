/* The command that describes the machine. */
#ifndef RETORT_DOCTOR_H
#define RETORT_DOCTOR_H

/* Print the processor, memory and libraries of this machine, and what is
 * missing and what that costs; with --bench also how fast it computes.  Returns
 * the exit status: 0, or 1 if a program is missing, or if there are only
 * kernels in plain C and RETORT_KERNELS is not set. */
int doctor_main(int argc, char **argv);

#endif
