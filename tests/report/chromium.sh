#!/bin/sh
# Pages of report in headless Chromium: errors, figures, a narrow screen, dark
# colours, print
. "${0%/*}/../lib/lib.sh"

if ! command -v chromium >/dev/null; then
    skip 'a page is shown by Chromium' 'no chromium'
    done_testing
fi
# browser OPTION ... FILE: run Chromium on the file
browser() {
    HOME=$PWD timeout 60 chromium --headless --no-sandbox --disable-gpu \
        --virtual-time-budget=2000 "$@" 2>chromium.log
}
# measure PAGE [OPTION ...]: show the page in a frame of 360 pixels, and write
# "name value" lines about it to the file got
measure() {
    {
        printf '<script>var errors = 0</script><iframe id="f" width="360" '
        printf 'height="800" style="border: 0" onload="look()" srcdoc="'
        sed 's|<head>|&<script>onerror = function () { parent.errors++ }</script>|
            s/&/\&amp;/g; s/"/\&quot;/g' "$1"
        cat <<'END'
"></iframe><pre id="told"></pre><script>
function look() {
    var d = document.getElementById('f').contentDocument, n = 0, empty = 0
    d.querySelectorAll('svg').forEach(function (s) {
        var r = s.getBoundingClientRect()
        n++
        if (r.width < 10 || r.height < 1) empty++
    })
    var c = getComputedStyle(d.body)
    document.getElementById('told').textContent = '\nerrors ' + errors +
        '\nwidth ' + d.documentElement.scrollWidth + '\nfigures ' + n +
        '\nempty ' + empty + '\nground ' + c.backgroundColor.replace(/ /g, '') +
        '\nink ' + c.color.replace(/ /g, '') + '\n'
}
</script>
END
    } >frame.html
    shift
    browser "$@" --dump-dom "file://$PWD/frame.html" |
        grep -E '^(errors|width|figures|empty|ground|ink) ' >got
}
value() {
    awk -v n="$1" '$1 == n { print $2 }' got
}

mkdir -p run/a run/b
for r in a b; do
    cp "$top"/tests/golden/report/*.tsv run/$r
done
ok 'two runs are drawn' report -q -o page.html run
for page in page "$top/docs/pipeline"; do
    name=${page##*/}
    [ "$name" = page ] || { report -q -o pipeline.svg "$page.tsv" &&
        { printf '<html><head></head><body>' && cat pipeline.svg; } >pipeline.html; }
    measure "$name.html"
    equal "the $name has no error" "$(value errors)" 0
    equal "the $name has all of its figures" "$(value figures)" \
        "$(grep -o '<svg' "$name.html" | wc -l)"
    equal "the $name has no empty figure" "$(value empty)" 0
done
measure page.html
ok 'nothing overflows a screen of 360 pixels' [ "$(value width)" -le 360 ]
cp got light
measure page.html --blink-settings=preferredColorScheme=0
cmp -s got light && fail 'a dark screen has other colours' ||
    pass 'a dark screen has other colours'
ok 'the page is printed' browser --print-to-pdf=page.pdf "file://$PWD/page.html"
like 'the print is a PDF' '^%PDF' page.pdf

# --- and a page that is wrong is noticed ---
sed 's|<body>|&<script>nothing.here()</script><div style="width: 700px">.</div>|' \
    page.html >wrong.html
measure wrong.html
equal 'an error of a script is noticed' "$(value errors)" 1
equal 'a wide element is noticed' "$(value width)" 700
done_testing
