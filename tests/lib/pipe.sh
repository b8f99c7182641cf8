# shellcheck shell=sh
# Pipelines whose stages can be watched and killed; sourced after lib.sh.

# pipe.bash SHELL-TEXT: run a pipeline, its stages written `stage NAME command`,
# as a terminal would: in a process group of its own, with SIGINT not ignored.
# It writes pid.NAME and NAME.err for every stage, and all exit statuses to the
# file statuses.
cat >pipe.bash <<'EOF'
set -m
stage() {
    echo "$BASHPID" >"pid.$1.new" && mv "pid.$1.new" "pid.$1"
    exec "${@:2}" 2>"$1.err"
}
statuses() { echo "${PIPESTATUS[*]}" >statuses; }
(eval "$1
statuses") &
echo $! >group.new && mv group.new group
wait
EOF

# start SHELL-TEXT NAME ...: start the pipeline, and wait until every stage NAME
# runs
start() {
    rm -f pid.* group statuses
    bash pipe.bash "$1" >pipe.out 2>&1 &
    pipeline=$!
    shift
    for name in group "$@"; do
        [ "$name" = group ] || name=pid.$name
        await [ -s "$name" ]
    done
}

# watch SECONDS ID: kill that process (or -group) after this many seconds, unless
# the process $watchdog is killed first, which ends its sleep too
watch() {
    (trap 'kill "$nap"; exit' TERM
        sleep "$1" & nap=$!
        wait "$nap"
        kill -9 "$2") >/dev/null 2>&1 &
    watchdog=$!
}

# finish: wait for the pipeline, kill it if it hangs, and set $got to its
# statuses
finish() {
    watch 120 "-$(cat group)"
    wait "$pipeline" 2>/dev/null
    kill "$watchdog" 2>/dev/null
    wait "$watchdog" 2>/dev/null
    # shellcheck disable=SC2034 # for the test
    got=$(cat statuses 2>/dev/null || echo none)
}
