# shellcheck shell=sh
# Checking rows of recipes/results against the data stored beside them.

# again DIR TABLE: print what is wrong with the rows of DIR/TABLE.tsv, a line
# for each error.  Means are ratios of sums over documents, with the standard
# error of such a ratio (Cochran, Sampling Techniques, section 6.3).  exp and
# sqrt are written out, because not every awk has them.
again() {
    [ -e "$1/$2.tsv" ] || return 0
    tail -n +2 "$1/$2.tsv" | cut -f 1 | uniq | while read -r run; do
        kept=$1/$2/$run
        if [ -e "$kept.eval.tsv.gz" ]; then
            gzip -dc "$kept.eval.tsv.gz" >kept.eval
            rm -f kept.log.*
            for f in "$kept".*.metrics.tsv.gz; do
                [ -e "$f" ] || continue
                m=${f##*/"$run".} m=${m%.metrics.tsv.gz}
                gzip -dc "$f" | sed "s/^/$m	/" >"kept.log.$m"
            done
            : >kept.items
            [ ! -e "$kept.items.tsv.gz" ] ||
                gzip -dc "$kept.items.tsv.gz" >kept.items
            for f in memory speed humaneval mbpp ifeval; do
                : >"kept.$f"
                [ ! -e "$kept.$f.tsv.gz" ] || gzip -dc "$kept.$f.tsv.gz" >"kept.$f"
            done
            cat kept.log.* >kept.logs 2>/dev/null || :
            awk -F '\t' -v run="$run" "$again" part=1 "$1/$2.tsv" part=2 \
                kept.logs part=3 kept.eval part=4 kept.items part=memory \
                kept.memory part=speed kept.speed part=humaneval kept.humaneval \
                part=mbpp kept.mbpp part=ifeval kept.ifeval
        else
            # The table is rounded: its figures are in a line of the stored
            # text.
            gzip -dc "$kept".*.gz >kept.said
            awk -F '\t' -v run="$run" '
                NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                $1 == run { print "[" $at["ppl"] ", " $at["kl"] ", " $at["agree"] \
                    "," }' "$1/$2.tsv" | while read -r figures; do
                grep -qF -- "$figures" kept.said ||
                    echo "$run: nothing kept says $figures"
            done
        fi
    done
}
# shellcheck disable=SC2034 # used above
again='
function ex(x,  y, i) {
    y = x / 1024
    y = 1 + y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5))))
    for (i = 0; i < 10; i++) y *= y
    return y
}
function root(x,  y, i) {
    for (y = x > 1 ? x : 1; i < 200; i++) y = (y + x / y) / 2
    return x > 0 ? y : 0
}
# For Student'"'"'s t, Abramowitz and Stegun 26.7.5: good beyond 30 documents.
function t95(df,  z) {
    z = 1.959964
    return z + (z * z * z + z) / (4 * df) + \
        (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96 * df * df)
}
# The mean of column c, less that of column b ("": none), over all documents,
# for each token or byte (column size); sets se.
function mean(c, b, size,  d, x, n, r, sq) {
    for (d = 1; d <= docs; d++) {
        x += weight[d] * (v[d, c] - (b == "" ? 0 : v[d, b])); n += v[d, size]
    }
    for (d = 1; d <= docs; d++) {
        r = weight[d] * (v[d, c] - (b == "" ? 0 : v[d, b])) - x / n * v[d, size]
        sq += r * r
    }
    se = docs > 1 ? root(docs / (docs - 1) * sq) / n : "-"
    return x / n
}
# Check the value of column k in the row of model m: is it x, to 1 in 10000?
function check(m, k, x,  was, d, most) {
    was = row[m, k] == "" ? "-" : row[m, k]
    if (x == "") x = "-"
    if (was == x) return
    d = was - x; d = d < 0 ? -d : d
    most = (x < 0 ? -x : x) / 10000; most = most > 1e-6 ? most : 1e-6
    if (!(was ~ /^-?[0-9]/ && x ~ /^-?[0-9]/ && d <= most))
        print run " " m ": " k " is " x ", not " was
}
function judged(m,  nll, s, low) {
    nll = mean("nll " m, "", "tokens")
    check(m, "documents", docs); check(m, "scored", total)
    check(m, "nll", nll); check(m, "nll_se", se); s = se
    check(m, "ppl", ex(nll))
    if (docs > 30) {
        check(m, "ppl_low", ex(nll - t95(docs - 1) * s))
        check(m, "ppl_high", ex(nll + t95(docs - 1) * s))
    }
    if (v[1, "bytes"] != "-") {
        check(m, "bits", mean("nll " m, "", "bytes") / 0.69314718055994531)
        check(m, "bits_se", se == "-" ? se : se / 0.69314718055994531)
    }
    if (("kl " m) in at) {
        check(m, "kl", mean("kl " m, "", "tokens")); check(m, "kl_se", se)
        check(m, "agree", mean("agree " m, "", "tokens"))
        check(m, "agree_se", se)
    }
}
part == 1 && FNR == 1 { for (i = 1; i <= NF; i++) key[i] = $i; next }
part == 1 && $1 == run {
    model[++models] = $2
    for (i = 1; i <= NF; i++) row[$2, key[i]] = $i
}
part == 2 && $2 == "step" { for (i = 2; i <= NF; i++) at[$i] = i; next }
part == 2 { tokens[$1] = $at["tokens"]; seconds[$1] += $at["seconds"] }
part == 3 && $1 == "document" {
    split("", at)
    for (i = 1; i <= NF; i++) at[$i] = i
    on = 1
    next
}
part == 3 && on {
    docs++
    for (k in at) v[docs, k] = $at[k]
    weight[docs] = v[docs, "tokens"]; total += v[docs, "tokens"]
}
part == 4 && FNR > 1 {
    if (!(($1, $3) in items)) task[$1] = 1
    items[$1, $3]++; hits[$1, $3] += $5
    chance[$1, $3] += $4 > 1 ? 1 / $4 : 0
}
part == "memory" && ($2 > peak[$1]) { peak[$1] = $2 }
part == "speed" && $1 == "model_id" { for (i = 1; i <= NF; i++) col[i] = $i }
part == "speed" && !/^#/ { for (i = 2; i <= NF; i++)
    if (col[i] !~ /_id$/ && col[2] == "max_concurrency") speed[$1, col[i]] = $i }
part ~ /^(humaneval|mbpp|ifeval)$/ && $3 != "-" {
    asked[part, $1]++; passed[part, $1] += $3
}
# Check speeds: first_by is time of teacher / time of m, rate_by is rate of m /
# rate of teacher.
function fast(m,  k, t, r) {
    t = "mean_ttft_ms"; r = "output_throughput"
    check(m, "first", speed[m, t]); check(m, "rate", speed[m, r])
    k = m == "teacher" || speed[m, t] == "" ? "" : "x"
    check(m, "first_by", k == "" ? k : speed["teacher", t] / speed[m, t])
    check(m, "rate_by", k == "" ? k : speed[m, r] / speed["teacher", r])
}
# Check the share of the items of a judge that m does.
function solved(m, judge,  k, share) {
    k = asked[judge, m]
    if (k) share = passed[judge, m] / k
    check(m, judge, k ? share : "-")
    check(m, judge "_se", k > 1 ? root(share * (1 - share) / (k - 1)) : "-")
}
# The sum over tasks of the score above chance.
function above(m,  t, x) {
    for (t in task) x += (hits[t, m] - chance[t, m]) / items[t, m]
    return x
}
END {
    if (docs == 0) { print run ": no documents"; exit }
    for (i = 1; i <= models; i++) {
        judged(model[i])
        check(model[i], "memory", peak[model[i]])
        fast(model[i])
        solved(model[i], "humaneval")
        solved(model[i], "mbpp")
        solved(model[i], "ifeval")
        for (t in task) scored = 1
        if (!scored) check(model[i], "recovery", "-")
        else if (row[model[i], "recovery"] != "-")
            check(model[i], "recovery", 100 * above(model[i]) / above("teacher"))
        if (model[i] in tokens) {
            check(model[i], "tokens", tokens[model[i]])
            check(model[i], "seconds", sprintf("%.0f", seconds[model[i]]))
        } else check(model[i], "tokens", "-")
    }
    if (("nll rival") in at && ("nll distilled") in at) {
        check("distilled", "less_nll", mean("nll distilled", "nll rival", "tokens"))
        check("distilled", "less_nll_se", se)
        check("distilled", "less_kl", mean("kl distilled", "kl rival", "tokens"))
        check("distilled", "less_kl_se", se)
    }
}'
