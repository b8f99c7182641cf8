# The page and the tables of scripts/report.  Any POSIX awk, in the C locale;
# paths come by the environment (REPORT_DIR, REPORT_LIB, REPORT_MODE).

function bad(file, what) {
    print "report: " file ": " what | "cat 1>&2"
    close("cat 1>&2")
    failed = 3
    exit 3
}

function max(a, b) { return a > b ? a : b }
function min(a, b) { return a < b ? a : b }
function abs(a) { return a < 0 ? -a : a }
function floor(a,  i) { i = int(a); return i > a ? i - 1 : i }
function log10(a) { return log(a) / log(10) }
function numeric(s) {
    return s ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/
}

# ---- text ----

# Bytes that are no UTF-8 become U+FFFD, control characters blanks.
function clean(s,  out, n, i, k, c, d, need) {
    gsub(/[\001-\010\013-\037\177]/, " ", s)
    if (s !~ /[\200-\377]/)
        return s
    n = length(s)
    for (i = 1; i <= n; i += k) {
        c = substr(s, i, 1)
        k = 1
        if (!(c in byte)) {
            out = out c
            continue
        }
        c = byte[c]
        need = c < 194 || c > 244 ? 0 : c < 224 ? 1 : c < 240 ? 2 : 3
        for (; k <= need; k++) {
            d = substr(s, i + k, 1)
            d = d in byte ? byte[d] : 0
            if (d < 128 || d > 191 || (k == 1 && ((c == 224 && d < 160) ||
                (c == 237 && d > 159) || (c == 240 && d < 144) ||
                (c == 244 && d > 143))))
                break
        }
        out = out (need > 0 && k > need ? substr(s, i, k) : "\357\277\275")
    }
    return out
}

function html(s) {
    s = clean(s)
    gsub(/&/, "\\&amp;", s)
    gsub(/</, "\\&lt;", s)
    gsub(/>/, "\\&gt;", s)
    gsub(/"/, "\\&quot;", s)
    gsub(/\047/, "\\&#39;", s)
    return s
}

# \n, \t and \\ of samples.txt
function unescape(s,  out, i, c) {
    while ((i = index(s, "\\")) > 0) {
        c = substr(s, i + 1, 1)
        out = out substr(s, 1, i - 1) (c == "n" ? "\n" : c == "t" ? "\t" : \
            c == "\\" ? "\\" : "\\" c)
        s = substr(s, i + 2)
    }
    return out s
}

function many(n, what) { return n " " what (n == 1 ? "" : "s") }

function head2(id, text) { print "<h2 id=\"" id "\">" text "</h2>" }
function missing(file) {
    print "<p class=\"note missing\">Left out: there is no " html(file) ".</p>"
}

# Begin a section on a file: its lines, or 0 and a note where it has fewer than
# `least`.
function section(id, title, name, least,  n) {
    head2(id, title)
    n = slurp(dir "/" name)
    if (n >= least)
        return n
    missing(name)
    return 0
}

# A number of a file and how it is shown; "-" is a dash.
function data(v, shown) {
    if (!numeric(v))
        return "\342\200\223"
    return "<data value=\"" v "\">" shown "</data>"
}

function ppl_text(v) { return sprintf(v < 100000 ? "%.2f" : "%.3g", v) }
function mega(v) { return sprintf(v < 1e8 ? "%.2f" : "%.0f", v / 1e6) }

# ---- input ----

# Lines of a file into line[1..]; their number, or -1 without the file.
function slurp(file,  n, r, text) {
    n = 0
    while ((r = (getline text < file)) > 0) {
        sub(/\r$/, "", text)
        line[++n] = text
    }
    if (r >= 0)
        close(file)
    return r < 0 ? -1 : n
}

# Number of the columns of a header that must have those named in want.
function columns(file, header, want, col,  n, i, name, w) {
    n = split(header, name, "\t")
    for (i = 1; i <= n; i++)
        col[name[i]] = i
    i = split(want, w, " ")
    for (; i > 0; i--)
        if (!(w[i] in col))
            bad(file, "the header has no column " w[i])
    return n
}

# Line i as v[column], of nc fields: a number, but text in the columns of
# `text`, and perhaps "-" in those of `gaps` (names between blanks; "*": all).
function row(file, i, nc, col, v, text, gaps,  f, k) {
    if (split(line[i], f, "\t") != nc)
        bad(file, "line " i ": not " nc " fields")
    for (k in col) {
        v[k] = f[col[k]]
        if (!numeric(v[k]) && !index(text, " " k " ") &&
            !(v[k] == "-" && (gaps == "*" || index(gaps, " " k " "))))
            bad(file, "line " i ": " k " is not a number")
    }
}

# eval.tsv: E[model, source, column]; names in model[1..nm], source[1..ns];
# D[model, other, quantity, "difference" | "se" | "z"].
function read_eval(file,  n, i, k, f, c, nc, v, m, s, at) {
    n = slurp(file)
    if (n < 0)
        bad(file, "cannot be read")
    at = 1
    if (n >= 1 && line[1] ~ /^# /)
        protocol = substr(line[at++], 3)
    if (n < at)
        bad(file, "is empty")
    nc = columns(file, line[at], "model source parameters documents tokens " \
        "nll ppl ppl_low ppl_high kl kl_se agree recovery regained " \
        "tokens_s memory", c)
    for (i = at + 1; i <= n && line[i] != ""; i++) {
        row(file, i, nc, c, v, " model source ", "*")
        m = v["model"]
        s = v["source"]
        if (!(m in model_at))
            model[model_at[m] = ++nm] = m
        if (s != "(all)" && !(s in source_at))
            source[source_at[s] = ++ns] = s
        if ((m, s, "ppl") in E)
            bad(file, "line " i ": " m " on " s " again")
        for (k in c)
            E[m, s, k] = v[k]
        if (!(numeric(v["parameters"]) && numeric(v["tokens"])))
            bad(file, "line " i ": no parameters or tokens")
    }
    if (nm == 0)
        bad(file, "holds no model")
    for (i = 1; i <= nm; i++) {
        if (!((model[i], "(all)", "ppl") in E))
            bad(file, model[i] " has no line for (all)")
        for (k = 1; k <= ns; k++)
            if (!((model[i], source[k], "ppl") in E))
                bad(file, model[i] " has no line for " source[k])
    }
    while (++at <= n && line[at] != "")
        ;
    if (++at > n)
        return
    if (line[at] != "model\tother\tquantity\tdifference\tse\tz")
        bad(file, "line " at ": not the header of a comparison")
    while (++at <= n) {
        if (split(line[at], f, "\t") != 6)
            bad(file, "line " at ": not 6 fields")
        for (k = 4; k <= 6; k++)
            if (f[k] != "-" && !numeric(f[k]))
                bad(file, "line " at ": not a number")
        add_difference(f[1], f[2], f[3], f[4], f[5], f[6], 1)
        add_difference(f[2], f[1], f[3], f[4], f[5], f[6], -1)
    }
}

function add_difference(a, b, q, v, se, z, sign) {
    D[a, b, q, "difference"] = numeric(v) ? sign * v : "-"
    D[a, b, q, "se"] = se
    D[a, b, q, "z"] = numeric(z) ? sign * z : "-"
}

# NAME/metrics.tsv: M[name, column, 1..]; steps, 0 without the file.
function read_metrics(name,  file, n, i, k, v, c, nc) {
    file = dir "/" name "/metrics.tsv"
    n = slurp(file)
    if (n < 1)
        return 0
    nc = columns(file, line[1], "step scored loss ce kl squarehead", c)
    for (i = 2; i <= n; i++) {
        row(file, i, nc, c, v)
        for (k in c)
            M[name, k, i - 1] = v[k] + 0
    }
    return n - 1
}

# ---- the comparison of two models, in words ----

# Whether a is lower than b in a quantity, and by how many standard errors.
function verdict(a, b, q, what,  z, d, se) {
    d = D[a, b, q, "difference"]; se = D[a, b, q, "se"]; z = D[a, b, q, "z"]
    if (!numeric(z))
        return ""
    d = sprintf("%.4f \302\261 %.4f nats a token, %.1f standard errors", \
        abs(d), se, abs(z))
    if (z <= -2)
        return "the " html(a) " one is better in " what " (" d ")"
    if (z >= 2)
        return "the " html(b) " one is better in " what " (" d ")"
    return "in " what " there is no difference to speak of (" d ")"
}

# t[i]: the figure of a model over all documents
function all(m, c) { return E[m, "(all)", c] }

function summary(  t, p, d, s, a, b) {
    t = "teacher"; p = "pruned"; d = "distilled"
    print "<p class=\"lead\">"
    if (!(t in model_at && p in model_at && d in model_at)) {
        print many(nm, "model") " judged on the same held-out documents.</p>"
        return
    }
    printf "A teacher of %s million parameters was pruned to %s million " \
        "(%.1f %% fewer)", mega(all(t, "parameters")), \
        mega(all(p, "parameters")), 100 * (1 - all(p, "parameters") / \
        all(t, "parameters"))
    printf ", which took its perplexity on held-out documents from %s to %s", \
        ppl_text(all(t, "ppl")), ppl_text(all(p, "ppl"))
    printf ". Distillation brought it to %s", ppl_text(all(d, "ppl"))
    if (numeric(all(d, "kl")) && numeric(all(p, "kl")))
        printf " and the divergence from the teacher from %.4f to %.4f " \
            "nats a token", all(p, "kl"), all(d, "kl")
    if (numeric(all(d, "recovery")))
        printf ". The recovery, the teacher\342\200\231s perplexity over the " \
            "model\342\200\231s, is %.1f %% (%.1f %% before)", \
            all(d, "recovery"), all(p, "recovery")
    print ".</p>"
    if (!("rival" in model_at))
        return
    a = verdict(d, "rival", "kl", "divergence from the teacher")
    b = verdict(d, "rival", "nll", "perplexity (its logarithm, the loss)")
    if (a == "" && b == "")
        return
    s = a == "" || b == "" ? a b : a "; " b
    print "<p>The rival is the same pruned model, trained for the same steps " \
        "by cross-entropy alone. Of the two, " s ". Differences are taken " \
        "document by document, so what makes a document hard for both does " \
        "not count; less than 2 standard errors proves nothing.</p>"
}

# ---- tables ----

function main_row(name, unit, col,  i, m, v, s) {
    printf "<tr><th scope=\"row\">%s%s</th>", name, \
        (unit == "" ? "" : " <small class=\"note\">" unit "</small>")
    for (i = 1; i <= nm; i++) {
        m = model[i]
        v = all(m, col)
        s = col == "parameters" || col == "memory" ? mega(v) : \
            col == "ppl" ? ppl_text(v) : \
            col == "kl" ? sprintf("%.4f", v) : \
            col == "agree" ? sprintf("%.1f", 100 * v) : \
            col == "tokens_s" ? sprintf("%.0f", v) : sprintf("%.1f", v)
        printf "<td>%s", data(v, s)
        if (col == "ppl" && numeric(all(m, "ppl_low")))
            printf "<small>%s \342\200\223 %s</small>", \
                data(all(m, "ppl_low"), sprintf("%.1f", all(m, "ppl_low"))), \
                data(all(m, "ppl_high"), sprintf("%.1f", all(m, "ppl_high")))
        if (col == "kl" && numeric(all(m, "kl_se")))
            printf "<small>\302\261 %s</small>", data(all(m, "kl_se"), \
                sprintf("%.4f", all(m, "kl_se")))
        printf "</td>"
    }
    print "</tr>"
}

function model_heads(  i) {
    for (i = 1; i <= nm; i++)
        printf "<th scope=\"col\"><span class=\"key c%d\"></span>%s</th>", \
            (i - 1) % 6, html(model[i])
}

function main_table() {
    print "<div class=\"scroll\" tabindex=\"0\" role=\"region\" " \
        "aria-label=\"All figures\"><table class=\"main\" id=\"main\">"
    print "<caption>All held-out documents (" html(protocol) "). Under " \
        "perplexity its 95 % interval over documents, under KL its standard " \
        "error.</caption>"
    printf "<thead><tr><th scope=\"col\">Figure</th>"
    model_heads()
    print "</tr></thead>\n<tbody>"
    main_row("Parameters", "million", "parameters")
    main_row("Perplexity", "", "ppl")
    main_row("KL", "nats", "kl")
    main_row("Agreement", "%", "agree")
    main_row("Recovery", "%", "recovery")
    main_row("Regained", "%", "regained")
    main_row("Speed", "tokens/s", "tokens_s")
    main_row("Memory", "MB", "memory")
    print "</tbody></table></div>"
    print "<p class=\"note\">KL: of the model from the teacher, at " \
        "temperature 1, per token. Agreement: how often both find the same " \
        "token most likely. Recovery: the teacher\342\200\231s perplexity " \
        "over the model\342\200\231s. Regained: the share of the loss added " \
        "by pruning that training took away again. Memory: weights and work " \
        "space.</p>"
}

function language_table(  i, k) {
    print "<details><summary>The figures by language</summary>"
    print "<div class=\"scroll\" tabindex=\"0\" role=\"region\" " \
        "aria-label=\"Figures by language\"><table id=\"languages\">"
    print "<caption>Perplexity, under it KL to the teacher in nats." \
        "</caption>"
    printf "<thead><tr><th scope=\"col\">Source</th><th scope=\"col\">" \
        "Docu\302\255ments</th>"
    model_heads()
    print "</tr></thead>\n<tbody>"
    for (k = 1; k <= ns; k++) {
        printf "<tr><th scope=\"row\">%s</th><td>%s</td>", \
            html(language(source[k])), E[model[1], source[k], "documents"]
        for (i = 1; i <= nm; i++)
            printf "<td>%s<small>%s</small></td>", \
                data(E[model[i], source[k], "ppl"], \
                ppl_text(E[model[i], source[k], "ppl"])), \
                data(E[model[i], source[k], "kl"], \
                sprintf("%.4f", E[model[i], source[k], "kl"]))
        print "</tr>"
    }
    print "</tbody></table></div></details>"
}

function language(code,  n, i, w) {
    if (!("en" in tongue)) {
        n = split("bg Bulgarian cs Czech da Danish de German el Greek en " \
            "English es Spanish et Estonian fi Finnish fr French ga Irish " \
            "hr Croatian hu Hungarian it Italian lt Lithuanian lv Latvian " \
            "mt Maltese nl Dutch pl Polish pt Portuguese ro Romanian sk " \
            "Slovak sl Slovene sv Swedish code Code math Mathematics", w, " ")
        for (i = 1; i < n; i += 2)
            tongue[w[i]] = w[i + 1]
    }
    return code in tongue ? tongue[code] : code
}

# ---- figures ----

# Ticks in tick[1..nt], about n of them from lo to hi.
function ticks(lo, hi, n,  raw, p, i) {
    raw = (hi - lo) / n
    p = 10 ^ floor(log10(raw))
    raw /= p
    tick_step = p * (raw < 1.5 ? 1 : raw < 3.5 ? 2 : raw < 7.5 ? 5 : 10)
    nt = 0
    for (i = floor(lo / tick_step); i * tick_step <= hi * (1 + 1e-9); i++)
        if (i * tick_step >= lo - 1e-9 * tick_step)
            tick[++nt] = i * tick_step
}

function log_ticks(lo, hi, most,  p, i, k, m, pass) {
    for (pass = 1; pass <= 2; pass++) {
        m = split(pass == 1 ? "1 2 5" : "1", k, " ")
        nt = 0
        for (p = floor(log10(lo)); p <= log10(hi); p++)
            for (i = 1; i <= m; i++)
                if (k[i] * 10 ^ p >= lo * (1 - 1e-9) &&
                    k[i] * 10 ^ p <= hi * (1 + 1e-9))
                    tick[++nt] = k[i] * 10 ^ p
        tick_step = 0
        if (nt <= most)
            break
    }
    if (nt < 3)
        ticks(lo, hi, most - 1)
}

function axis_ticks(lo, hi, islog, n) {
    if (islog)
        log_ticks(lo, hi, n)
    else
        ticks(lo, hi, n)
}

function tick_text(v,  d) {
    if (tick_step == 0)
        return sprintf(v < 0.001 ? "%.0e" : "%.6g", v)
    d = max(0, -floor(log10(tick_step) + 1e-9))
    v = sprintf("%." d "f", v)
    return v ~ /^-0\.?0*$/ ? substr(v, 2) : v
}

# The frame: a title and description for those who do not see it.
function svg(id, w, h, title, desc) {
    printf "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"" \
        "%s-t %s-d\"><title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s" \
        "</desc>\n", w, h, id, id, id, html(title), id, html(desc)
}

# Scales: set_x and set_y fix them, px and py map a value.
function set_x(lo, hi, left, right, islog) {
    xlo = lo; xhi = hi; xl = left; xr = right; xlog = islog
}
function set_y(lo, hi, top, bottom, islog) {
    ylo = lo; yhi = hi; yt = top; yb = bottom; ylog = islog
}
function px(v) {
    return xl + (xr - xl) * (xlog ? log(v / xlo) / log(xhi / xlo) : \
        (v - xlo) / (xhi - xlo))
}
function py(v) {
    return yb - (yb - yt) * (ylog ? log(v / ylo) / log(yhi / ylo) : \
        (v - ylo) / (yhi - ylo))
}

function label(x, y, class, s) {
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, \
        class, html(s)
}
function rule(x1, y1, x2, y2, class) {
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" " \
        "class=\"%s\"/>\n", x1, y1, x2, y2, class
}

function x_axis(name, n,  i) {
    axis_ticks(xlo, xhi, xlog, n)
    for (i = 1; i <= nt; i++) {
        rule(px(tick[i]), yt, px(tick[i]), yb, "grid")
        label(px(tick[i]), yb + 15, "t m", tick_text(tick[i]))
    }
    rule(xl, yb, xr, yb, "axis")
    label((xl + xr) / 2, yb + 32, "m", name)
}
function y_axis(name, n,  i) {
    axis_ticks(ylo, yhi, ylog, n)
    for (i = 1; i <= nt; i++) {
        rule(xl, py(tick[i]), xr, py(tick[i]), "grid")
        label(xl - 6, py(tick[i]) + 4, "t e", tick_text(tick[i]))
    }
    label(4, yt - 10, "", name)
}

# A mark of the k-th kind, in the k-th colour.
function mark(k, x, y, r) {
    k %= 6
    printf "<g class=\"c%d\">", k
    if (k == 0)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"ring\"/>", \
            x, y, r
    else if (k == 1 || k == 4)
        printf "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\" class=\"dot\"/>", x, \
            y - r * 1.1, r * 1.1, r * 2, -r * 2.2
    else if (k == 2)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" class=\"dot\"/>", \
            x, y, r
    else
        printf "<path d=\"M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz\" " \
            "class=\"dot\"/>", x, y - r * 1.25, r * 1.25, r * 1.25, \
            -r * 1.25, r * 1.25, -r * 1.25, -r * 1.25
    print "</g>"
}

# ---- loss curves ----

# A series of a chart from a column of metrics; ns_ series so far.
function series(name, col, what, colour,  i, n, s, h, lo, hi, sum) {
    s = ++nseries
    n = SN[s] = steps[name]
    SL[s] = what; SC[s] = colour
    h = max(1, int(n / 25))
    sum[0] = 0
    for (i = 1; i <= n; i++) {
        SX[s, i] = M[name, "step", i]
        SY[s, i] = M[name, col, i]
        sum[i] = sum[i - 1] + SY[s, i]
    }
    for (i = 1; i <= n; i++) {
        lo = max(1, i - h); hi = min(n, i + h)
        SM[s, i] = (sum[hi] - sum[lo - 1]) / (hi - lo + 1)
    }
    swindow = 2 * h + 1
}

function curve(s, smooth, class,  i, n, k, v, pen) {
    n = SN[s]
    k = int((n + 599) / 600)
    printf "<path class=\"%s\" d=\"", class
    for (i = 1; i <= n; i += k) {
        v = smooth ? SM[s, i] : SY[s, i]
        if (ylog && v <= 0) {
            pen = 0
            continue
        }
        printf "%s%.1f %.1f", pen ? "L" : "M", px(SX[s, i]), py(v)
        pen = 1
    }
    print "\"/>"
}

# The chart of the series; the running means alone set the scale if tight.
function chart(id, title, desc, ylabel, islog, tight,  s, i, v, lo, hi, x, \
    x0, x1, some) {
    for (s = 1; s <= nseries; s++)
        for (i = 1; i <= SN[s]; i++) {
            v = tight || islog ? SM[s, i] : SY[s, i]
            x1 = max(x1, SX[s, i])
            if (islog && v <= 0)
                continue
            lo = some ? min(lo, v) : v
            hi = some ? max(hi, v) : v
            some = 1
        }
    if (!some) {
        lo = islog ? 0.1 : 0
        hi = 1
    }
    if (islog) {
        lo /= 1.25; hi *= 1.25
    } else {
        v = max(hi - lo, 1e-6 * max(abs(hi), 1)) * (tight ? 0.35 : 0.04)
        lo -= v; hi += v
    }
    x0 = 0
    x1 = max(x1, x0 + 1)
    print "<figure>"
    svg(id, 420, 290, title, desc)
    set_x(x0, x1, 48, 402, 0)
    set_y(lo, hi, 50, 248, islog)
    printf "<clipPath id=\"%s-c\"><rect x=\"48\" y=\"46\" width=\"356\" " \
        "height=\"202\"/></clipPath>\n", id
    y_axis(ylabel, 6)
    x_axis("step", 6)
    printf "<g clip-path=\"url(#%s-c)\">\n", id
    for (s = 1; s <= nseries; s++) {
        printf "<g class=\"c%d\">", SC[s]
        curve(s, 0, "raw")
        print "</g>"
    }
    for (s = 1; s <= nseries; s++) {
        printf "<g class=\"c%d\">", SC[s]
        curve(s, 1, "line")
        print "</g>"
    }
    print "</g>"
    x = 48
    for (s = 1; s <= nseries && nseries > 1; s++) {
        printf "<g class=\"c%d\">", SC[s]
        rule(x, 14, x + 18, 14, "line")
        print "</g>"
        label(x + 23, 18, "", SL[s])
        x += 23 + 6.4 * length(SL[s]) + 16
    }
    print "</svg>"
    print "<figcaption>" title ". Bold: mean of " swindow " steps. " desc \
        "</figcaption></figure>"
    nseries = 0
}

# Difference of CE of the two runs, where they saw the same batches.
function paired(  n, i) {
    n = steps["distilled"]
    if (n == 0 || n != steps["rival"])
        return
    for (i = 1; i <= n; i++) {
        if (M["distilled", "scored", i] != M["rival", "scored", i] ||
            M["distilled", "step", i] != M["rival", "step", i])
            return
        M["paired", "step", i] = M["rival", "step", i]
        M["paired", "ce", i] = M["distilled", "ce", i] - M["rival", "ce", i]
    }
    steps["paired"] = n
    series("paired", "ce", "difference", 4)
    chart("paired", "Cross-entropy of distilled minus rival", \
        "The noise both share is gone; below 0 the distilled model fits " \
        "the training text better.", "nats a token", 0, 0)
}

function curves(  name, w, i) {
    head2("training", "Training")
    for (i = split("teacher distilled rival", w, " "); i > 0; i--)
        steps[w[i]] = read_metrics(w[i])
    for (i = 1; i <= 3; i++)
        if (steps[w[i]] == 0)
            missing(w[i] "/metrics.tsv")
    print "<div class=\"figures\">"
    if (steps["teacher"] > 0) {
        series("teacher", "ce", "teacher", 0)
        chart("teacher", "The teacher\342\200\231s cross-entropy", \
            "From random weights.", "nats a token", 0, 0)
    }
    if (steps["distilled"] > 0) {
        series("distilled", "ce", "cross-entropy", 3)
        series("distilled", "kl", "KL", 2)
        series("distilled", "squarehead", "SquareHead", 4)
        chart("terms", "The three terms of distillation", \
            "Before their weights; KL at the training temperature, times " \
            "its square. Logarithmic scale.", "loss", 1, 0)
    }
    if (steps["distilled"] > 0 && steps["rival"] > 0) {
        series("rival", "ce", "rival", 3)
        series("distilled", "ce", "distilled", 2)
        chart("versus", "Cross-entropy of distilled and rival", \
            "Noise beyond the frame is cut off.", "nats a token", 0, 1)
        paired()
    }
    print "</div>"
}

# ---- figures by language ----

# Dots with intervals of a quantity, a row a source.
function dots(id, col, title, desc, unit, islog,  i, k, m, v, lo, hi, y, x, \
    h, some, e, from, to) {
    for (k = 1; k <= ns; k++)
        for (i = 1; i <= nm; i++) {
            interval(model[i], source[k], col, e)
            if (e["v"] == "-" || (islog && e["lo"] <= 0) ||
                (col == "kl" && e["v"] == 0))
                continue
            lo = some ? min(lo, e["lo"]) : e["lo"]
            hi = some ? max(hi, e["hi"]) : e["hi"]
            some = 1
        }
    if (!some)
        return
    if (islog) {
        lo /= 1.05; hi *= 1.05
    } else {
        lo = min(0, lo)
        hi *= 1.03
    }
    if (!(hi > lo))
        hi = lo + 1
    h = max(22, 6 * nm + 4)
    print "<figure>"
    svg(id, 420, 76 + h * ns, title, desc)
    set_x(lo, hi, 84, 404, islog)
    set_y(0, 1, 34, 34 + h * ns, 0)
    for (k = 1; k <= ns; k += 2)
        printf "<rect x=\"0\" y=\"%d\" width=\"420\" height=\"%d\" " \
            "class=\"band\"/>\n", 34 + h * (k - 1), h
    x_axis(unit, 6)
    for (k = 1; k <= ns; k++) {
        y = 34 + h * (k - 0.5)
        label(78, y + 4, "e", language(source[k]))
        for (i = 1; i <= nm; i++) {
            interval(model[i], source[k], col, e)
            if (e["v"] == "-" || (col == "kl" && e["v"] == 0))
                continue
            v = y + (i - (nm + 1) / 2) * (h - 5) / nm
            from = max(lo, e["lo"]); to = min(hi, e["hi"])
            printf "<g class=\"c%d\">", (i - 1) % 6
            rule(px(from), v, px(to), v, "bar")
            print "</g>"
            mark(i - 1, px(e["v"]), v, 2.5)
        }
    }
    x = 84
    for (i = 1; i <= nm; i++) {
        mark(i - 1, x + 4, 13, 3.2)
        label(x + 12, 17, "", model[i])
        x += 12 + 6.4 * length(model[i]) + 14
    }
    print "</svg>"
    print "<figcaption>" title ". " desc "</figcaption></figure>"
}

function interval(m, s, col, e,  se) {
    e["v"] = E[m, s, col]
    if (!numeric(e["v"])) {
        e["v"] = "-"
        return
    }
    if (col == "ppl") {
        e["lo"] = E[m, s, "ppl_low"]; e["hi"] = E[m, s, "ppl_high"]
    } else {
        se = E[m, s, col "_se"]
        e["lo"] = numeric(se) ? e["v"] - 1.96 * se : "-"
        e["hi"] = numeric(se) ? e["v"] + 1.96 * se : "-"
    }
    e["v"] += 0
    e["lo"] = numeric(e["lo"]) ? e["lo"] + 0 : e["v"]
    e["hi"] = numeric(e["hi"]) ? e["hi"] + 0 : e["v"]
}

function languages() {
    head2("languages-head", "By language")
    if (ns == 0) {
        print "<p class=\"note missing\">Left out: eval.tsv has no figures " \
            "by source (evalppl --per-source).</p>"
        return
    }
    print "<p>The intervals are wide because they hold the difference " \
        "between documents, which all models share: that two of them " \
        "overlap says nothing about which model is better. Perplexity is " \
        "per token, so it cannot be compared between languages that are cut " \
        "into tokens of different length.</p>"
    print "<div class=\"figures\">"
    dots("ppl", "ppl", "Perplexity by language", \
        "With 95 % intervals; logarithmic scale.", "perplexity", 1)
    dots("kl", "kl", "KL to the teacher by language", \
        "With 95 % intervals.", "nats a token", 0)
    print "</div>"
    language_table()
}

# ---- pruning ----

function pruning(  file, n, i, k, f, c, nc, whole, won, lo, hi, ylo0, yhi0, \
    v, np, x, y, class) {
    file = dir "/prune.tsv"
    n = section("pruning", "Pruning", "prune.tsv", 2)
    if (n == 0)
        return
    nc = columns(file, line[1], "kind taken blocks kept width parameters " \
        "ppl kl score", c)
    for (i = 2; i <= n; i++) {
        row(file, i, nc, c, f, " kind kept ")
        for (k in c)
            P[i, k] = f[k]
        if (P[i, "kind"] == "whole")
            whole = i
        if (P[i, "kind"] == "cut")
            won = i
    }
    if (whole && won)
        prune_table(whole, won)
    for (i = 2; i <= n && whole; i++) {
        v = P[i, "score"] - P[whole, "score"]
        if (i == whole || v <= 0)
            continue
        x = P[i, "parameters"] / 1e6
        lo = np ? min(lo, x) : x; hi = np ? max(hi, x) : x
        ylo0 = np ? min(ylo0, v) : v; yhi0 = np ? max(yhi0, v) : v
        np++
    }
    if (np < 2)
        return
    print "<figure>"
    svg("search", 420, 300, "Configurations tried while pruning", \
        "Millions of parameters against the score above the whole model's.")
    v = max(0.05 * (hi - lo), 0.01 * hi)
    set_x(lo - v, hi + v, 48, 404, 0)
    set_y(ylo0 / 1.5, yhi0 * 1.5, 50, 258, 1)
    y_axis("score above the whole model\342\200\231s (log)", 6)
    x_axis("million parameters", 6)
    for (i = 2; i <= n; i++) {
        v = P[i, "score"] - P[whole, "score"]
        if (i == whole || v <= 0)
            continue
        x = px(P[i, "parameters"] / 1e6); y = py(v)
        if (P[i, "kind"] == "cut")
            printf "<g class=\"c2\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"8\" " \
                "fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"/>" \
                "</g>\n", x, y
        else
            mark(P[i, "kind"] == "mix" ? 3 : P[i, "taken"] ? 2 : 0, x, y, 3.2)
    }
    mark(0, 52, 14, 3.2); label(60, 18, "", "block dropped")
    mark(2, 152, 14, 3.2); label(160, 18, "", "and kept so")
    mark(3, 238, 14, 3.2); label(246, 18, "", "channels too")
    print "<g class=\"c2\"><circle cx=\"336\" cy=\"14\" r=\"6\" " \
        "fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\"/></g>"
    label(347, 18, "", "the result")
    print "</svg>"
    print "<figcaption>" many(np, "configuration") " tried. The score is the " \
        "loss plus KL to the whole model, on calibration data; lower is " \
        "better.</figcaption></figure>"
}

function prune_cell(name, a, b) {
    print "<tr><th scope=\"row\">" name "</th><td>" a "</td><td>" b \
        "</td></tr>"
}

function prune_table(w, c) {
    print "<div class=\"scroll\"><table id=\"pruned\"><caption>What was " \
        "kept, on the calibration data.</caption>"
    print "<thead><tr><th scope=\"col\">Figure</th><th scope=\"col\">Whole" \
        "</th><th scope=\"col\">Pruned</th></tr></thead>\n<tbody>"
    prune_cell("Blocks", P[w, "blocks"], P[c, "blocks"])
    prune_cell("Their numbers", html(P[w, "kept"]), html(P[c, "kept"]))
    prune_cell("MLP channels", P[w, "width"], P[c, "width"])
    prune_cell("Parameters, million", data(P[w, "parameters"], \
        mega(P[w, "parameters"])), data(P[c, "parameters"], \
        mega(P[c, "parameters"])))
    prune_cell("Perplexity", data(P[w, "ppl"], ppl_text(P[w, "ppl"])), \
        data(P[c, "ppl"], ppl_text(P[c, "ppl"])))
    prune_cell("KL, nats", data(P[w, "kl"], sprintf("%.4f", P[w, "kl"])), \
        data(P[c, "kl"], sprintf("%.4f", P[c, "kl"])))
    prune_cell("Score", data(P[w, "score"], sprintf("%.4f", P[w, "score"])), \
        data(P[c, "score"], sprintf("%.4f", P[c, "score"])))
    print "</tbody></table></div>"
}

# ---- samples and facts ----

function samples(  file, n, i, f, lang, t) {
    file = dir "/samples.txt"
    n = section("samples", "One prompt, three models", "samples.txt", 1)
    if (n == 0)
        return
    lang = ""
    for (i = 1; i <= n; i++) {
        if (split(line[i], f, "\t") != 3)
            bad(file, "line " i ": not language, model, text")
        if (f[1] != lang) {
            if (lang != "")
                print "</div>"
            lang = f[1]
            print "<h3>" html(language(lang)) "</h3>"
            print "<div class=\"samples\">"
        }
        t = f[2] in model_at ? model_at[f[2]] - 1 : 0
        print "<div><h4 class=\"c" t % 6 "\">" html(f[2]) "</h4>"
        print "<p lang=\"" html(lang) "\">" html(unescape(f[3])) "</p></div>"
    }
    print "</div>"
}

function facts(  file, n, i, k, key, at, nf, nc, v, total) {
    file = dir "/facts.txt"
    n = section("facts", "The run", "facts.txt", 1)
    if (n == 0)
        return
    for (i = 1; i <= n; i++) {
        at = index(line[i], "\t")
        if (at > 1 && line[i] !~ /^ /) {
            key[++nf] = substr(line[i], 1, at - 1)
            v[nf] = substr(line[i], at + 1)
        } else if (nf > 0) {        # a command of more than one line
            v[nf] = v[nf] "\n" line[i]
        } else
            bad(file, "line " i ": not key, value")
    }
    print "<div class=\"scroll\"><table class=\"text\" id=\"run\"><caption>" \
        "Where and how long.</caption><tbody>"
    for (i = 1; i <= nf; i++) {
        if (key[i] == "command")
            nc++
        else if (key[i] == "seconds")
            print "<tr><th scope=\"row\">time</th><td>" html(v[i]) \
                " s</td></tr>"
        else {
            at = sub(/^seconds[ _.:-]/, "", key[i])
            print "<tr><th scope=\"row\">" html(key[i]) "</th><td>" \
                html(v[i]) (at ? " s" : "") "</td></tr>"
        }
    }
    print "</tbody></table></div>"
    if (nc == 0)
        return
    printf "<details><summary>The %s</summary>\n<pre>", many(nc, "command")
    for (i = 1; i <= nf; i++)
        if (key[i] == "command")
            print html(v[i])
    print "</pre></details>"
}

# ---- the page ----

function page(  n, i) {
    print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>"
    print "<meta charset=\"utf-8\"/>"
    print "<meta name=\"viewport\" content=\"width=device-width, " \
        "initial-scale=1\"/>"
    print "<title>What is left of the teacher: a retort report</title>\n" \
        "<style>"
    n = slurp(lib "/report.css")
    if (n < 1)
        bad(lib "/report.css", "cannot be read")
    for (i = 1; i <= n; i++)
        print line[i]
    print "</style>\n</head>\n<body>\n<main>"
    print "<h1>What is left of the teacher</h1>"
    summary()
    main_table()
    languages()
    curves()
    tokens()
    pruning()
    samples()
    facts()
    print "</main>\n</body>\n</html>"
}

# ---- the terminal ----

# s cut to n columns
function cut(s, n) {
    return clean(length(s) > n ? substr(s, 1, n - 1) "~" : s)
}

function number(fmt, v, scale) {
    return numeric(v) ? sprintf(fmt, v * scale) : "-"
}

# Perplexity and half of its interval, which is not quite symmetric.
function with_interval(m, source,  low, high) {
    low = E[m, source, "ppl_low"]
    high = E[m, source, "ppl_high"]
    if (low !~ /^[0-9.]+$/ || high !~ /^[0-9.]+$/)
        return number("%.1f", E[m, source, "ppl"], 1)
    return number("%.1f", E[m, source, "ppl"], 1) "+-" \
        sprintf("%.1f", (high - low) / 2)
}

function terminal(  i, k, m, row) {
    row = "%-10s %7s %7s %14s %7s %6s %7s %7s %6s\n"
    printf row, "model", "M param", "ppl", "95 %", "KL", "top-1", "recover", \
        "token/s", "MB"
    for (i = 1; i <= nm; i++) {
        m = model[i]
        printf row, cut(m, 10), \
            number("%.3f", all(m, "parameters"), 1e-6), \
            number("%.2f", all(m, "ppl"), 1), \
            number("%.1f", all(m, "ppl_low"), 1) ".." \
            number("%.1f", all(m, "ppl_high"), 1), \
            number("%.4f", all(m, "kl"), 1), \
            number("%.1f%%", all(m, "agree"), 100), \
            number("%.1f%%", all(m, "recovery"), 1), \
            number("%.0f", all(m, "tokens_s"), 1), \
            number("%.1f", all(m, "memory"), 1e-6)
    }
    if (ns == 0)
        return
    printf "\n%-13s %5s", "ppl +- 95 %", "texts"
    for (i = 1; i <= nm && i <= 4; i++)
        printf " %14s", cut(model[i], 14)
    print ""
    for (k = 1; k <= ns; k++) {
        printf "%-13s %5s", cut(language(source[k]), 13), \
            E[model[1], source[k], "documents"]
        for (i = 1; i <= nm && i <= 4; i++)
            printf " %14s", with_interval(model[i], source[k])
        print ""
    }
}

BEGIN {
    dir = ENVIRON["REPORT_DIR"]
    lib = ENVIRON["REPORT_LIB"]
    for (byte_i = 128; byte_i < 256; byte_i++)
        byte[sprintf("%c", byte_i)] = byte_i
    read_eval(dir "/eval.tsv")
    if (ENVIRON["REPORT_MODE"] == "text")
        terminal()
    else
        page()
}
