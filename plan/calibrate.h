/* The command plan calibrate; see plan-calibrate(1). */
#ifndef PLAN_CALIBRATE_H
#define PLAN_CALIBRATE_H

int calibrate_main(int argc, char **argv);

#endif
