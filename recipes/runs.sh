#!/bin/sh
# Make runs of recipes/runs.tsv and write their rows in recipes/results.
# usage: recipes/runs.sh [-n] [VARIABLE=value ...] [RUN ...]
#        recipes/runs.sh list
#        recipes/runs.sh curve
#
# Without a RUN it makes all runs of the table settings, each of which changes
# one setting of the run plain.  RUN-2 and RUN-3 repeat a run of that table with
# another seed.  TABLE/RUN names a run if two tables have one of that name.  A
# run that was stopped goes on; a run whose row is written is not made again.
# With -n the commands are printed, not run.  list names all runs; curve draws
# the rows of the table curve.
#
# This script uses these VARIABLEs; it passes others to the recipe of every run,
# where the settings of the run itself win.
#   WORK=run/settings  folder of all runs     RESULTS=DIR  folder of the rows
#   TEACHER=MODEL      model of all runs      BUILD=DIR    programs
#   RUNS=FILE          another table of runs
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)/
[ "$top" != "$(pwd)/" ] || top=
WORK=run/settings RESULTS=${top}recipes/results TEACHER='' BUILD=${top}build
RUNS=${top}recipes/runs.tsv
dry='' given='' runs=''

die() {
    echo "runs.sh: $*" >&2
    exit 2
}
# quoted WORD: print WORD quoted for eval
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
# field N NAME [TABLE]: print a field of the run's line in the table of runs
field() {
    awk -F '\t' -v n="$1" -v run="$2" -v table="${3:-}" '
        $2 == run && (table == "" || $1 == table) && !/^#/ { print $n; exit }' \
        "$RUNS"
}
for word; do
    case $word in
    -n) dry=1 ;;
    WORK=*) WORK=${word#*=} ;;
    RESULTS=*) RESULTS=${word#*=} ;;
    TEACHER=*) TEACHER=${word#*=} ;;
    BUILD=*) BUILD=${word#*=} ;;
    RUNS=*) RUNS=${word#*=} ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit ;;
    *=*) given="$given $(quoted "$word")" ;;
    -*) die "$word: no such option; type \"recipes/runs.sh -h\"" ;;
    *) runs="$runs $word" ;;
    esac
done
case $runs in
' list')
    awk -F '\t' '!/^#/ && $1 != "-" { print $1 "/" $2 }' "$RUNS"
    exit ;;
' curve')
    "${top}scripts/curve" -t 25 95 "$RESULTS/curve.tsv" &&
        exec "$BUILD/bin/report" -o "$RESULTS/curve.svg" "$RESULTS/curve.tsv"
    exit ;;
'') runs=$(awk -F '\t' '$1 == "settings" { print $2 }' "$RUNS") ;;
esac

# locate RUN: set its name, table, line in the table of runs, and seed
locate() {
    name=${1##*/} table='' seed=''
    case $1 in */*) table=${1%/*} ;; esac
    line=$name
    if [ -z "$(field 1 "$line" "$table")" ]; then
        case $name in
        *-[23])
            line=${name%-?} seed=${name##*-}
            case $(field 1 "$line" "$table") in
            settings*) ;;
            *) line='' ;;
            esac ;;
        esac
    fi
    table=$(field 1 "$line" "$table")
    case $table in
    '' | -) die "$1: there is no such run; type \"recipes/runs.sh list\"" ;;
    nine) recipe=gemma3 ;;
    curve | settings-reference) recipe=reference ;;
    settings) recipe=gemma3 ;;
    *) recipe=$table ;;
    esac
}
# base_settings NAME: print the settings of a base, after those of its own base
base_settings() {
    [ "$1" = - ] || {
        base_settings "$(field 4 "$1" -)"
        field 5 "$1" -
    }
}
# run WORD ...: run the command, or with -n print it
run() {
    if [ -n "$dry" ]; then echo "$*"
    else "$@"; fi
}
fetch() { [ -e "$WORK/$1.gguf" ] || run "${top}scripts/get-model" "$1" "$WORK"; }

# Models that a run evaluates or trains and that no recipe makes.
model_of() {
    case $1 in
    ready) fetch qwen2.5-coder-0.5b ;;
    pytorch | pytorch-ce)
        [ ! -e "$WORK/$1.model" ] || return 0
        make_run out-4
        kind=kd
        [ "$1" = pytorch ] || kind=ce
        cut=$WORK/out-4/full
        [ -d "$cut/vocab" ] ||
            run "$BUILD/bin/convert" -q "$cut/vocab.gguf" "$cut/vocab"
        AUTOCAST=1 run python3 "${top}scripts/oracle/distil.py" 1e-4 $kind 404 4 \
            "$cut/vocab" "$cut/text/train" "$cut/text/held-out/en.txt" 0 \
            "$WORK/$1.model" ;;
    esac
}
# make_run RUN: make the run and write its row
make_run() {
    locate "$1"
    [ ! -e "$WORK/$name.row" ] || return 0
    model=$TEACHER
    if ! [ -f "$model" ] && ! [ -d "$model" ]; then
        [ -n "$model" ] || model=$(sed -n \
            's/^TEACHER *?= *\([^# ]*\).*/\1/p' "${top}recipes/$recipe.mk")
        fetch "$model"
        model=$WORK/$model.gguf
    fi
    (model_of "$name")
    like=$(field 3 "$line" "$table")
    case $seed,$like in
    ,*) ;;
    *,-) like=plain ;;
    *) like=$like-$seed ;;
    esac
    base=$(base_settings "$(field 4 "$line" "$table")" | tr '\n' ' ')
    own=$(field 5 "$line" "$table")
    eval "set -- $base $given $own"
    set -- make --no-print-directory -f "${top}recipes/$recipe.mk" \
        WORK="$WORK/$name" TABLE="$table" TEACHER="$model" \
        RESULTS="$RESULTS" BUILD="$BUILD" "$@" ${seed:+SEED="$seed"}
    if [ "$like" != - ] && [ -d "$WORK/$like" ]; then
        # all words except a second target
        words=''
        for word; do
            [ "$word" = rival ] || words="$words $(quoted "$word")"
        done
        eval "run $words LIKE=$(quoted "$WORK/$like") like"
    fi
    run "$@" row
    [ -n "$dry" ] || touch "$WORK/$name.row"
}
[ -n "$dry" ] || mkdir -p "$WORK"
for each in $runs; do
    make_run "$each"
done
