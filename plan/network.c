/* Nodes over a network: see network.h. */
#include "network.h"
#include "step.h"
#include "sweep.h"
#include "cli/die.h"

#include <math.h>
#include <string.h>

static int
is_network_key(const char *name)
{
    static const char *const names[] = { "nodes", "sync", "momentum",
        "wire_bytes", "net_gbs", "net_us", "net_eff", "memory_gb" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

void
network_read(struct job *j, char **operand, size_t n)
{
    struct ranges r;

    job_init(j);
    j->grad_bytes = 4.0;
    machine_open(j, "office"); /* for net_eff and net_us; one rank a node */
    j->m.net_gbs = j->m.memory_gb = 0.0;
    ranges_read(&r, operand, n);
    for (size_t i = 0; i < n; i++)
        if (!is_network_key(r.v[i].key->name) || r.v[i].n != 1)
            die(EX_USAGE,
                "%s: give one value of nodes, sync, momentum, wire_bytes, "
                "net_gbs, net_us, net_eff or memory_gb; plan cluster has the "
                "other keys",
                operand[i]);
    ranges_set(j, &r, 1, 0);
    ranges_free(&r);
    if (j->nodes > 1.0 && !(j->m.net_gbs > 0.0))
        die(EX_USAGE,
            "nodes=%.0f: how fast is the network? give net_gbs=1000mbit for "
            "1 Gbit/s",
            j->nodes);
    if (!(j->nodes > 1.0))
        j->m.net_gbs = 1.0;
}

void
network_add(struct figures *f, const struct job *j, double params)
{
    if (!(j->nodes > 1.0))
        return;
    figure_add(f, "exchange.bytes", exchange_bytes(j, params));
    figure_add(f, "exchange.time", exchange_time(j, params));
}

double
network_step(const struct figures *f, const struct job *j)
{
    return j->nodes > 1.0 ? figure_of(f, "exchange.time") / fmax(1.0, j->sync)
                          : 0.0;
}

void
network_working(struct figures *f, const struct job *j, double work)
{
    const double waits = network_step(f, j);

    if (!(j->nodes > 1.0))
        return;
    figure_add(f, "working", work / (work + waits));
    figure_add(f, "sync.least",
        sync_least(figure_of(f, "exchange.time"), work));
}
