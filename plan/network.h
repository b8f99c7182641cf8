/*
 * Nodes that train together over a network, for plan run and plan measure.
 * Each has one rank.  What this machine does is measured or estimated; what the
 * ranks wait for is computed from the speed of the network, as plan cluster
 * does.
 */
#ifndef PLAN_NETWORK_H
#define PLAN_NETWORK_H

#include "job.h"
#include "figures.h"

#include <stddef.h>

/* Set *j from operands "key=value": nodes, sync, momentum, net_gbs and so on.
 * Without operands it is one node.  Without memory_gb, the memory of a node is
 * set to 0.  Dies (EX_USAGE) on other keys, on several values of a key, and if
 * nodes have no speed between them. */
void network_read(struct job *j, char **operand, size_t n);
/* Add the figures "exchange.bytes" and "exchange.time" of a model of `params`
 * parameters, unless there is one node. */
void network_add(struct figures *f, const struct job *j, double params);
/* Seconds of exchanges in a step, from these figures. */
double network_step(const struct figures *f, const struct job *j);
/* Add "working" and "sync.least"; work: seconds of a step without its waits. */
void network_working(struct figures *f, const struct job *j, double work);

#endif
