# shellcheck shell=sh
# Two network namespaces that stand for two machines: 10.77.0.1 in $a and
# 10.77.0.2 in $b, joined by a veth pair that tc slows down; sourced after
# lib.sh and ranks.sh.  Needs root, or a user namespace with a /run of its own,
# and ip and tc (Debian: iproute2).
a=retort-a.$$ b=retort-b.$$

# limit NAMESPACE DEVICE ADDRESS RATE: give one end an address and a speed
limit() {
    ip -n "$1" addr add "$3/24" dev "$2" && ip -n "$1" link set lo up &&
        ip -n "$1" link set "$2" up && tc -n "$1" qdisc add dev "$2" root tbf \
        rate "$4" burst 32kb latency 400ms
}
# join_nodes RATE: make both, with a link of this speed ("8mbit")
join_nodes() {
    ip netns add $a && ip netns add $b &&
        ip link add va netns $a type veth peer name vb netns $b &&
        limit $a va 10.77.0.1 "$1" && limit $b vb 10.77.0.2 "$1"
}
# link STATE: take the link up or down
link() {
    ip -n $a link set va "$1"
}
# part_nodes: end all that runs there, and remove both
part_nodes() {
    for n in $a $b; do
        for p in $(ip netns pids "$n"); do kill "$p"; done
        ip netns del "$n"
    done 2>/dev/null
}
# write_agent FILE: what stands for ssh: FILE HOST COMMAND runs a command on the
# second machine
write_agent() {
    cat >"$1" <<END
#!/bin/sh
shift
exec ip netns exec $b unshare -u sh -c "hostname $b; cd '$PWD'; \$*"
END
    chmod +x "$1"
}
# on_first COMMAND ...: run it on the first machine
on_first() {
    ip netns exec $a unshare -u sh -c 'hostname "$0"; exec "$@"' $a "$@"
}

# apart_from_others WHAT SCRIPT: go on as SCRIPT where namespaces can be made
# that end with it; if there are none, the test WHAT is skipped
apart_from_others() {
    [ -z "${RETORT_APART:-}" ] || return 0
    if ! unshare -rmn sh -c 'mount -t tmpfs run /run && mkdir /run/netns &&
        ip netns add a && ip -n a link set lo up && tc -n a qdisc add dev lo \
        root tbf rate 8mbit burst 32kb latency 400ms &&
        ip netns exec a unshare -u hostname a' >/dev/null 2>&1
    then
        skip "$1" 'no namespaces, ip or tc'
        return 1
    fi
    RETORT_APART=1 RETORT_TOP=$top
    export RETORT_APART RETORT_TOP RETORT_SCRATCH
    exec unshare -rmn sh -c \
        'mount -t tmpfs run /run && mkdir /run/netns && exec sh "$0"' "$2"
}
