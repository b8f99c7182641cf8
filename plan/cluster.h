/* The command plan cluster; see plan-cluster(1). */
#ifndef PLAN_CLUSTER_H
#define PLAN_CLUSTER_H

int cluster_main(int argc, char **argv);

#endif
