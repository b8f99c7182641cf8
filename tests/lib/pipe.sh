# shellcheck shell=sh
# Pipelines whose stages can be watched and killed; sourced after lib.sh.

# The pipeline of the shell text $1, its stages written `stage NAME command`,
# under bash, in a process group of its own and with SIGINT not ignored, as a
# terminal would run it.  Leaves pid.NAME and NAME.err of every stage, and in
# the file statuses the exit status of each.
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

# start SHELL-TEXT: begin it, and wait until every stage NAME ... is there
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

# watch SECONDS ID: kill that process or -group then, unless $watchdog, whose
# sleep ends with it, is killed before
watch() {
    (trap 'kill "$nap"; exit' TERM
        sleep "$1" & nap=$!
        wait "$nap"
        kill -9 "$2") >/dev/null 2>&1 &
    watchdog=$!
}

# finish: its statuses go to $got; a pipeline that hangs is ended
finish() {
    watch 120 "-$(cat group)"
    wait "$pipeline" 2>/dev/null
    kill "$watchdog" 2>/dev/null
    wait "$watchdog" 2>/dev/null
    # shellcheck disable=SC2034 # for the test
    got=$(cat statuses 2>/dev/null || echo none)
}
