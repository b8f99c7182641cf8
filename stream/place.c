/* On which processors stream runs, and where its memory lies: see stream.h */
#include "stream.h"
#include "base/note.h"
#include "base/number.h"

#include <errno.h>
#include <hwloc.h>
#include <string.h>

/* "0-3,8" into set; -1 unless all of them are there. */
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

/* Where the system cannot bind, only speed is lost. */
static void
told(int r, const char *what)
{
    if (r < 0)
        note("%s cannot be bound here: %s", what, strerror(errno));
}

static int
place_on(hwloc_topology_t t, const char *cpus, const char *node,
    hwloc_bitmap_t set, struct err *e)
{
    const int nodes = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE);
    hwloc_obj_t o = NULL;
    size_t n;

    if (cpus && read_cpus(t, set, cpus) < 0)
        return err_set(e, EX_USAGE,
            "--cpus: \"%.100s\" is no list of processors of this machine, such "
            "as 0-3,8",
            cpus);
    if (node &&
        (number_size(node, 0, 1 << 20, &n) < 0 ||
            !(o = hwloc_get_numanode_obj_by_os_index(t, (unsigned)n))))
        return err_set(e, EX_USAGE,
            "--numa: \"%.100s\" is no memory node of this machine, which has "
            "%d",
            node, nodes);
    if (!cpus)
        hwloc_bitmap_copy(set, o->cpuset);
    if (!hwloc_bitmap_iszero(set))
        told(hwloc_set_cpubind(t, set, HWLOC_CPUBIND_PROCESS), "processors");
    if (o && nodes > 1)
        told(hwloc_set_membind(t, o->nodeset, HWLOC_MEMBIND_BIND,
                 HWLOC_MEMBIND_PROCESS | HWLOC_MEMBIND_BYNODESET),
            "memory");
    return 0;
}

int
place(const char *cpus, const char *node, struct err *e)
{
    hwloc_topology_t t;
    hwloc_bitmap_t set;
    int r;

    if (!cpus && !node)
        return 0;
    if (hwloc_topology_init(&t) < 0)
        return err_set(e, EX_SYS, "hwloc:");
    if (hwloc_topology_load(t) < 0) {
        hwloc_topology_destroy(t);
        return err_set(e, EX_SYS, "hwloc:");
    }
    set = hwloc_bitmap_alloc();
    r = place_on(t, cpus, node, set, e);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(t);
    return r;
}
