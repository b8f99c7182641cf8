# shellcheck shell=sh
# Functions that tests under mpirun share; sourced after lib.sh.

# In a container: as root, more ranks than processors, and without the
# process_vm_readv that is forbidden there.  Ranks that wait give way.
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_hwloc_base_binding_policy=none
OMPI_MCA_btl_vader_single_copy_mechanism=none
OMPI_MCA_mpi_yield_when_idle=1
# When a rank dies, mpirun sends the others SIGTERM, which student handles, and
# kills them this many seconds later: time enough to save a small model.
OMPI_MCA_odls_base_sigkill_timeout=3
# mpirun ends ranks that wait for one another for ever.
MPIEXEC_TIMEOUT=${MPIEXEC_TIMEOUT:-100}
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
    OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_hwloc_base_binding_policy \
    OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_mpi_yield_when_idle \
    OMPI_MCA_odls_base_sigkill_timeout MPIEXEC_TIMEOUT

# has_ranks WHAT: can programs of this build run under mpirun?  If not, the test
# WHAT is skipped.
has_ranks() {
    if ! command -v mpirun >/dev/null; then
        skip "$1" 'no mpirun'
        return 1
    fi
    if [ ! -e "$BUILD/lib/libretort-pmpi.so" ]; then
        skip "$1" 'built without Open MPI (libopenmpi-dev)'
        return 1
    fi
    case $BUILD in
    */thread) skip "$1" 'a sanitizer has memory of its own'; return 1 ;;
    esac
}

# near_1e6 WHAT NUMBER: NUMBER is a number, and at most 1e-6
near_1e6() {
    if awk -v x="$2" 'BEGIN { exit !(x ~ /^[0-9]/ && x + 0 <= 1e-6) }'
    then pass "$1: $2"; else fail "$1: $2"; fi
}

# ranks N command ...: run a command with N ranks under mpirun
ranks() {
    tap_ranks=$1
    shift
    mpirun -n "$tap_ranks" "$@"
}

# process RUN RANK: print the process id of that rank of a running student
process() {
    tap_lock=$1/.lock
    [ "$2" = 0 ] || tap_lock=$tap_lock.$2
    sed -n 's/^process \([0-9]*\) on .*/\1/p' "$tap_lock" 2>/dev/null
}
