/* Binding to processors and memory: see numa.h */
#include "base/numa.h"
#include "base/note.h"
#include "base/number.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

/* Parse a list such as "0-3,8" into set.  0; -1: text is no such list, or the
 * machine lacks one of the processors. */
static int
read_cpus(hwloc_topology_t t, hwloc_bitmap_t set, const char *text)
{
    if (text[strspn(text, "0123456789,-")] != '\0' ||
        hwloc_bitmap_list_sscanf(set, text) < 0 || hwloc_bitmap_iszero(set) ||
        hwloc_bitmap_weight(set) < 0)
        return -1;
    return hwloc_bitmap_isincluded(set, hwloc_topology_get_complete_cpuset(t))
        ? 0
        : -1;
}

/* Find the node called `node`: a number, or "rank".  NULL: there is none. */
static hwloc_obj_t
read_node(hwloc_topology_t t, const char *node, size_t rank, size_t ranks)
{
    const size_t nodes =
        (size_t)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    size_t n;

    if (ranks > 0 && strcmp(node, "rank") == 0)
        return hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE,
            (unsigned)(rank * nodes / ranks));
    return number_size(node, 0, 1 << 20, &n) < 0
        ? NULL
        : hwloc_get_numanode_obj_by_os_index(t, (unsigned)n);
}

/* Note that a binding failed, and go on: only speed is lost. */
static void
note_unbound(int r, const char *what)
{
    if (r < 0)
        note("%s cannot be bound here: %s", what, strerror(errno));
}

/* Bind the process to the processors in `set`, unless it is empty, and to the
 * memory of node o, unless that is NULL. */
static void
bind_to(hwloc_topology_t t, hwloc_const_bitmap_t set, hwloc_obj_t o)
{
    if (!hwloc_bitmap_iszero(set))
        note_unbound(hwloc_set_cpubind(t, set, HWLOC_CPUBIND_PROCESS),
            "processors");
    if (o && hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE) > 1)
        note_unbound(hwloc_set_membind(t, o->nodeset, HWLOC_MEMBIND_BIND,
                         HWLOC_MEMBIND_PROCESS | HWLOC_MEMBIND_BYNODESET),
            "memory");
}

static int
load_topology(hwloc_topology_t *t, struct err *e)
{
    if (hwloc_topology_init(t) < 0)
        return err_set(e, EX_SYS, "hwloc:");
    if (hwloc_topology_load(*t) == 0)
        return 0;
    hwloc_topology_destroy(*t);
    return err_set(e, EX_SYS, "hwloc:");
}

int
numa_bind(const char *cpus, const char *node, size_t rank, size_t ranks,
    struct err *e)
{
    hwloc_topology_t t;
    hwloc_bitmap_t set;
    hwloc_obj_t o;
    int r = 0;

    if (!cpus && !node)
        return 0;
    if (load_topology(&t, e) < 0)
        return -1;
    set = hwloc_bitmap_alloc();
    o = node ? read_node(t, node, rank, ranks) : NULL;
    if (cpus && read_cpus(t, set, cpus) < 0)
        r = err_set(e, EX_USAGE,
            "--cpus: \"%.100s\" is no list of processors of this machine: give "
            "one such as 0-3,8",
            cpus);
    else if (node && !o)
        r = err_set(e, EX_USAGE,
            "--numa: \"%.100s\" is no memory node of this machine, which has "
            "%d: give 0, say",
            node, hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE));
    if (o && !cpus)
        hwloc_bitmap_copy(set, o->cpuset);
    if (r == 0)
        bind_to(t, set, o);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(t);
    return r;
}

/* Set cpus to the process's processors and memory to the nodes of its memory,
 * and describe both in p->text. */
static void
describe_binding(hwloc_topology_t t, hwloc_bitmap_t cpus, hwloc_bitmap_t memory,
    struct numa_state *p)
{
    const int nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    hwloc_membind_policy_t how = HWLOC_MEMBIND_DEFAULT;
    hwloc_bitmap_t near = hwloc_bitmap_alloc();
    char some[40], all[40], lies[40];

    if (hwloc_get_cpubind(t, cpus, HWLOC_CPUBIND_PROCESS) < 0)
        hwloc_bitmap_copy(cpus, hwloc_topology_get_topology_cpuset(t));
    hwloc_cpuset_to_nodeset(t, cpus, near);
    if (hwloc_get_membind(t, memory, &how,
            HWLOC_MEMBIND_PROCESS | HWLOC_MEMBIND_BYNODESET) < 0 ||
        how != HWLOC_MEMBIND_BIND)
        hwloc_bitmap_copy(memory, near); /* first touch allocates near the
                                          * processors */
    hwloc_bitmap_list_snprintf(some, sizeof some, cpus);
    hwloc_bitmap_list_snprintf(all, sizeof all,
        hwloc_topology_get_topology_cpuset(t));
    hwloc_bitmap_list_snprintf(lies, sizeof lies, memory);
    if (nodes > 1)
        snprintf(p->text, sizeof p->text,
            "processors %s of %s, memory node %s of %d", some, all, lies,
            nodes);
    else
        snprintf(p->text, sizeof p->text,
            "processors %s of %s, the one memory node", some, all);
    if (!hwloc_bitmap_intersects(near, memory))
        snprintf(p->why, sizeof p->why,
            "memory is remote: node %s is not that of processors %s", lies,
            some);
    else if (hwloc_bitmap_weight(memory) > 1)
        snprintf(p->why, sizeof p->why,
            "memory of %d nodes is partly remote: bind to one (--numa)",
            hwloc_bitmap_weight(memory));
    hwloc_bitmap_free(near);
}

void
numa_describe(struct numa_state *p)
{
    hwloc_topology_t t;
    hwloc_bitmap_t cpus, memory;
    struct err e;

    *p = (struct numa_state){ "", "" };
    if (load_topology(&t, &e) < 0) {
        snprintf(p->text, sizeof p->text, "unknown processors");
        return;
    }
    cpus = hwloc_bitmap_alloc();
    memory = hwloc_bitmap_alloc();
    describe_binding(t, cpus, memory, p);
    hwloc_bitmap_free(memory);
    hwloc_bitmap_free(cpus);
    hwloc_topology_destroy(t);
}
