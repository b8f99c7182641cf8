/* student grpo: reinforcement learning from rewards that programs give. */
#ifndef STUDENT_GRPO_H
#define STUDENT_GRPO_H

int grpo_main(int argc, char **argv);

#endif
