# The share, in percent, of an instruction in the loop that has the most of them:
# objdump -d FILE | awk -v what=MNEMONIC -f loop-share.awk
# Loops of 64-bit Arm with 8 such instructions or more; 0: there is none.
function number(hex,   i, v) {
    for (v = i = 0; i++ < length(hex);)
        v = 16 * v + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return v
}
/^[0-9a-f]+ </ { n = 0; next }
NF < 3 || !/^ *[0-9a-f]+:\t/ { next }
{
    split($0, part, "\t")
    sub(/^ */, "", part[1]); sub(/:/, "", part[1])
    at[++n] = number(part[1])
    hit[n] = hit[n - 1] + (part[3] == what)
    if (part[3] !~ /^(b\.|cbn?z|tbn?z|b$)/ || !match(part[4], /[0-9a-f]+ </))
        next
    to = number(substr(part[4], RSTART, RLENGTH - 2))
    if (to > at[n]) next
    for (k = n; k > 1 && at[k - 1] >= to; k--)
        ;
    found = hit[n] - hit[k - 1]
    if (found >= 8 && found * all >= best * (n - k + 1)) {
        best = found
        all = n - k + 1
    }
}
END { print all ? int(100 * best / all) : 0 }
