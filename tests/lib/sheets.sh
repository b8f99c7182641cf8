# shellcheck shell=sh
# Reports in JSON; sourced after lib.sh.

# without_speed: copy a TSV table without speeds, which differ in every run
without_speed() {
    awk -F '\t' -v OFS='\t' '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "tokens_s") c = i }
        c { $c = "" } $2 != "time"'
}

# agrees JSON TSV LIST...: the lists of a report in JSON are the tables of the
# report in TSV, in this order
agrees() {
    sheets_json=$1 sheets_tsv=$2 sheets_n=0
    shift 2
    for sheets_list; do
        sheets_n=$((sheets_n + 1))
        awk -v n="$sheets_n" 'BEGIN { k = 1 } /^#/ { next }
            $0 == "" { k++; next } k == n' "$sheets_tsv" |
            without_speed >sheets.want
        "$BUILD/tests/format/sheet" "$sheets_json" "$sheets_list" |
            without_speed >sheets.got
        near "the list $sheets_list in JSON has the values of TSV" 1e-9 \
            sheets.want sheets.got
    done
}
