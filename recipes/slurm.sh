#!/bin/sh
#SBATCH --job-name=retort
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=24
#SBATCH --time=24:00:00
#SBATCH --signal=B:USR2@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
#
# Distil over the ranks of a Slurm job: one rank for each NUMA domain, each
# behind its own stream and teacher.  Five minutes before its time is over the
# job saves and is queued again to continue, and so it is after a lost rank or
# node.
#
#   sbatch --export=ALL,DATA=data,TEACHER=T,STUDENT=S,RUN=run recipes/slurm.sh
#
# The options above are for machines with 4 domains of 24 cores; options given
# to sbatch override them.  All nodes must see the files.  ROWS, LENGTH: the
# shape of a batch; STREAM, OPTIONS: more options of stream and of student;
# TRIES: how often the job is queued again; TOKENS: first print the cost of this
# many tokens.  LAUNCH: srun (--mpi=pmix, which Debian 12's Slurm and Open MPI
# both have; they do not have pmi2 in common) or mpirun.
set -u
: "${DATA:?}" "${TEACHER:?}" "${STUDENT:?}" "${RUN:?}"
export DATA TEACHER STUDENT RUN ROWS="${ROWS:-32}" LENGTH="${LENGTH:-1024}" \
    STREAM="${STREAM:-}" OPTIONS="${OPTIONS:-}"
cores=${SLURM_CPUS_PER_TASK:-1}
case ${LAUNCH:-srun} in
srun)
    set -- srun --mpi=pmix --cpus-per-task="$cores" --cpu-bind=cores \
        --mem-bind=local --kill-on-bad-exit=1
    ;;
*)
    set -- mpirun --map-by "slot:PE=$cores" --bind-to core
    ;;
esac

[ -z "${TOKENS:-}" ] || "$@" plan measure -q -m "$STUDENT" --teacher "$TEACHER" \
    -B "$ROWS" -T "$LENGTH" --compute f32 --tokens "$TOKENS"

# SIGUSR2 reaches all processes: the shell in front of student must not die of
# it, and stream and teacher go on, since student says when it is over.
# shellcheck disable=SC2016 # each rank's shell expands it
"$@" sh -c '
    trap : USR2
    rank=${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID}
    (trap "" USR2; exec stream --resume "$RUN" -B "$ROWS" -T "$LENGTH" \
        --rank "$rank/$SLURM_NTASKS" $STREAM "$DATA") |
        (trap "" USR2; exec teacher -m "$TEACHER") |
        student -m "$STUDENT" -o "$RUN" --resume $OPTIONS' &
job=$! asked=1 status=127
trap 'asked=1; kill -s USR2 "$job"' USR2
while [ -n "$asked" ]; do # a signal ends wait before the job has ended
    asked=
    wait "$job"
    last=$?
    [ "$last" = 127 ] || status=$last
done

# If the job's time was over (5) or a rank was lost (6, or 128 and a signal),
# queue it once more.
case $status in
5 | 6 | 12[89] | 1[3-9]? | 2??)
    [ "${SLURM_RESTART_COUNT:-0}" -ge "${TRIES:-20}" ] || {
        echo "slurm.sh: status $status: queued again"
        scontrol requeue "$SLURM_JOB_ID"
    }
    ;;
*) ;;
esac
exit "$status"
