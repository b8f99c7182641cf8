/* student dpo: training on preferences. */
#ifndef STUDENT_DPO_H
#define STUDENT_DPO_H

int dpo_main(int argc, char **argv);

#endif
