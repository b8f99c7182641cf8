# The tokenizer's section of scripts/report: tokens.tsv, a table of tokenize
# --stats.  Read after report.awk, whose functions it uses.

# K[i, column] of the sources in the n lines of a file, in order; their number.
function read_tokens(file, n,  i, k, v, c, nc, some) {
    nc = columns(file, line[1], "source documents bytes characters words " \
        "tokens tokens/word characters/token split fallback distinct " \
        "parity", c)
    for (i = 2; i <= n; i++) {
        row(file, i, nc, c, v, " source ", " parity ")
        if (i == n && v["source"] == "all")
            break
        some++
        for (k in c)
            K[some, k] = v[k]
    }
    return some
}

# A bar a source.
function token_bars(id, col, n, title, desc, unit,  i, hi, y) {
    for (i = 1; i <= n; i++)
        if (numeric(K[i, col]))
            hi = max(hi, K[i, col] + 0)
    if (!(hi > 0))
        return
    print "<figure>"
    svg(id, 420, 56 + 18 * n, title, desc)
    set_x(0, 1.03 * hi, 84, 404, 0)
    set_y(0, 1, 14, 14 + 18 * n, 0)
    x_axis(unit, 6)
    for (i = 1; i <= n; i++) {
        y = 14 + 18 * (i - 0.5)
        label(78, y + 4, "e", language(K[i, "source"]))
        if (numeric(K[i, col]))
            printf "<g class=\"c0\"><rect x=\"%.1f\" y=\"%.1f\" " \
                "width=\"%.1f\" height=\"11\" fill=\"currentColor\"/></g>\n", \
                px(0), y - 5.5, px(K[i, col]) - px(0)
    }
    print "</svg>"
    print "<figcaption>" title ". " desc "</figcaption></figure>"
}

function tokens_table(n,  i, k, w, m) {
    print "<div class=\"scroll\"><table id=\"tokens-table\"><caption>The " \
        "tokenizer by source.</caption>\n<thead><tr>"
    m = split("Source|Documents|Characters|Words|Tokens|Tokens a word|" \
        "Characters a token|Words split, %|Fallback, %|Ids used|Parity", \
        w, "|")
    for (i = 1; i <= m; i++)
        print "<th scope=\"col\">" w[i] "</th>"
    print "</tr></thead>\n<tbody>"
    m = split("documents characters words tokens tokens/word " \
        "characters/token split fallback distinct parity", w, " ")
    for (i = 1; i <= n; i++) {
        printf "<tr><th scope=\"row\">%s</th>", \
            html(language(K[i, "source"]))
        for (k = 1; k <= m; k++)
            printf "<td>%s</td>", data(K[i, w[k]], w[k] == "split" || \
                w[k] == "fallback" ? sprintf("%.2f", 100 * K[i, w[k]]) : \
                K[i, w[k]])
        print "</tr>"
    }
    print "</tbody></table></div>"
}

function tokens(  n) {
    n = section("tokens", "Tokens", "tokens.tsv", 2)
    if (n > 0)
        n = read_tokens(dir "/tokens.tsv", n)
    if (n == 0)
        return
    print "<p>A language that is cut into more tokens a word costs more " \
        "for the same content, and its words are harder to learn.</p>"
    print "<div class=\"figures\">"
    token_bars("tokens-word", "tokens/word", n, "Tokens a word", \
        "Words are what stands between white space; lower is better.", \
        "tokens a word")
    token_bars("words-split", "split", n, "Words split", \
        "Share of words of more than one token; lower is better.", \
        "share of words")
    print "</div>"
    tokens_table(n)
}
