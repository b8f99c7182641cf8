# shellcheck shell=sh
# Recipes with a tiny model in place of the one they fetch; sourced after lib.sh.
work=$PWD
gguf=$top/tests/golden/gguf/f32.gguf

# run_recipe NAME [VARIABLE=value ...] [target]: recipes/NAME.mk in the folder w;
# what is built is taken as it is
run_recipe() {
    tap_recipe=$1
    shift
    make -s --no-print-directory -C "$top" -f "recipes/$tap_recipe.mk" \
        -o programs BUILD="$BUILD" WORK="$work/w" TEACHER="$gguf" "$@"
}
# twice COMMAND ...: it makes nothing new
twice() {
    find w -type f -exec cksum {} + | sort >before
    ok "$1 run again ends with status 0" "$@"
    find w -type f -exec cksum {} + | sort >after
    same "$1 run again makes nothing" before after
}
# declaration: the folder udhr, of so many languages, an article a line
declaration() {
    mkdir udhr
    for l in bul ces dan deu_1996 ell_monotonic eng spa est fin fra gle hrv hun \
        ita lit lav mlt nld pol por_PT ron_2006 slk slv swe; do
        awk -v l="$l" 'BEGIN { for (i = 1; i <= 30; i++)
            printf "<article data-number=\"%d\">\n<p>%s %d: %s %d</p>\n" \
                "</article>\n", i, l, i, "all are born free and equal", i * 7 }' \
            >"udhr/$l.html"
    done
}
