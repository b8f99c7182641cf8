#!/bin/sh
# prune search: goals of every kind, methods, units, sets; the log, from which a
# search goes on; nothing depends on threads
. "${0%/*}/../lib/lib.sh"
mkdir tok
cp "$top/tests/golden/tok/digits.json" tok/tokenizer.json
llama config.json num_hidden_layers 6 num_attention_heads 4 \
    num_key_value_heads 2 initializer_range 0.4
head -n 3 "$top/corpus/en.jsonl" >en.jsonl
head -n 3 "$top/corpus/fr.jsonl" >fr.jsonl
for l in en fr; do
    tokenize -q -t tok -o $l $l.jsonl && shard write -q -o $l-data $l &&
        stream -q -B 4 -T 32 --batches 2 -o $l-rows $l-data || exit 1
done
stream -q -B 1 -T 32 --batches 1 -o one en-data &&
    student -q -m config.json -t tok -o M one || exit 1
# parameters: embedding and norm; of a block MLP, heads, norms
whole=$((1100 * 16 + 16 + 6 * (3 * 16 * 32 + (2 * 32 + 2 * 16) * 16 + 2 * 16)))

search() {
    prune search -q -m M -o choice "$@"
}
# column FILE NAME: of the trial that was taken last
column() {
    awk -F '\t' -v c="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $4 == 1 { last = $at[c] } END { print last }' "$1"
}
# without_times FILE: a log, but for the seconds
without_times() {
    cut -f 1-15,17- "$1" | grep -v '^trial'
}
at_most() {
    if awk -v x="$2" -v y="$3" 'BEGIN { exit !(x > 0 && x <= y) }'; then
        pass "$1: $2"
    else
        fail "$1: $2 > $3"
    fi
}

# --- what prune does at once ---
ok 'greedy finds a choice' \
    search --ratio 0.3 --method greedy --log greedy.tsv en-rows
mv choice greedy
ok 'prune searches by greedy at once' \
    prune -q -m M -o cut --ratio 0.3 --method greedy \
    --report cut.tsv --no-repair en-rows
equal 'prune scores the cut model as prune search does' \
    "$(awk -F '\t' '$1 == "cut" { print $7, $9 }' cut.tsv)" \
    "$(column greedy.tsv nll) $(column greedy.tsv kl)"
equal 'prune counts the parameters that prune search counts' \
    "$(awk -F '\t' '$1 == "cut" { print $6 }' cut.tsv)" \
    "$(column greedy.tsv params)"
equal 'the whole model has a KL of 0' "$(awk -F '\t' '$2 == "whole" {
    print $6, $13 }' greedy.tsv)" "$whole 0.00000000"
like 'the choice of greedy is a file' '^# retort choice 1' greedy
ok 'prune cut takes the choice of greedy' \
    prune cut -q -m M -o cut2 --choice greedy --no-repair
same 'prune cut writes the model that prune writes' \
    cut/model.safetensors cut2/model.safetensors

# --- goals ---
at_most '--ratio limits parameters' \
    "$(column greedy.tsv params)" $((whole * 7 / 10))
ok 'prune search takes --memory' search --memory 100000 --log m.tsv en-rows
at_most '--memory limits bytes' "$(column m.tsv bytes)" 100000
equal 'bytes are 4 a parameter' \
    "$(column m.tsv bytes)" $(($(column m.tsv params) * 4))
ok 'prune search takes --dtype' \
    search --memory 50000 --dtype bf16 --log m2.tsv en-rows
equal '--dtype bf16 makes bytes 2 a parameter' \
    "$(column m2.tsv bytes)" $(($(column m2.tsv params) * 2))
at_most '--memory limits bytes of bf16' "$(column m2.tsv bytes)" 50000
equal 'half the bytes of bf16 give the same choice' \
    "$(column m2.tsv key)" "$(column m.tsv key)"
ok 'prune search takes --flops' search --flops 60K --log f.tsv en-rows
at_most '--flops limits operations' "$(column f.tsv flops)" 60000
# 2 x 1100 x 16; of a block 6 x 16 x 32, and of each of its 2 groups of 2 heads
# 2 x 16 x (2 x 16 + 2 x 8) for weights and 4 x 16 x 16 for 16 tokens before
equal 'operations of the whole model are counted' \
    "$(awk -F '\t' '$2 == "whole" { print $8 }' f.tsv)" \
    $((2 * 1100 * 16 + 6 * (6 * 16 * 32 + 2 * (2 * 16 * 48 + 4 * 16 * 16))))

# Times by shape come from the table, if it has them.
printf 'part\tsize\tseconds\nhead\t1\t0.001\nattention\t2\t0.002\n' >l.tsv.latency
for n in $(seq 1 32); do
    awk -v n="$n" 'BEGIN { printf "mlp\t%d\t%.6f\n", n, 0.0001 * n }'
done >>l.tsv.latency
cp l.tsv.latency was
ok 'prune search takes --latency' search --latency 20 --log l.tsv en-rows
equal 'latency of the whole model is a sum of times' \
    "$(awk -F '\t' '$2 == "whole" { print $9 }' l.tsv)" 0.0322
at_most '--latency limits seconds' "$(column l.tsv latency)" 0.02
same 'times that the table has are not measured' was l.tsv.latency
ok 'times that no table has are measured' \
    search --latency 1000 --log l2.tsv en-rows
like 'the table gets the time of the head' '^head	1	0\.[0-9]+$' l2.tsv.latency
like 'the table gets the time of attention' \
    '^attention	2	0\.[0-9]+$' l2.tsv.latency
printf 'part\tsize\tseconds\nhead\t1\n' >l.tsv.latency
status 3 'a damaged table of times is refused' \
    search --latency 20 --log l.tsv en-rows

# --- units ---
ok 'attention and MLPs are dropped apart' \
    search --ratio 0.1 --units attention,mlp \
    --candidates 0 --log u.tsv en-rows
like 'the choice has a block without attention or MLP' '	-' choice
at_most 'attention and MLPs meet the goal' \
    "$(column u.tsv params)" $((whole * 9 / 10))
ok 'greedy drops KV groups' search --ratio 0.1 --units groups --method greedy \
    --candidates 0 --log g.tsv en-rows
like 'the choice has a block of one group' '^[0-5]	[01]	all$' choice
status 2 'influence does not drop KV groups' \
    search --ratio 0.1 --units groups en-rows
like 'the refusal names methods that drop KV groups' \
    'by influence, .* goal; greedy and tabu drop KV groups too' err
ok 'channels are ranked over all blocks' \
    search --blocks 6 --ratio 0.2 --widths ranked \
    --log w.tsv en-rows
at_most 'ranked channels meet the goal' \
    "$(column w.tsv params)" $((whole * 8 / 10))
equal 'ranked channels leave MLPs of several widths' \
    "$(awk -F '\t' 'NR > 2 { n = 0; k = split($3, r, ",")
    for (i = 1; i <= k; i++) n += split(r[i], x, "-") == 2 ? x[2] - x[1] + 1 : 1
    if ($3 != "all") print n }' choice | sort -u | awk 'END { print (NR > 1) }')" 1
ok 'a profile is made of other text' prune profile -q -m M -o P fr-rows
ok 'a profile orders channels' \
    search --blocks 6 --ratio 0.2 -p P --log wp.tsv en-rows
at_most 'channels ordered by a profile meet the goal' \
    "$(column wp.tsv params)" $((whole * 8 / 10))
ok 'the calibration orders channels' \
    search --blocks 6 --ratio 0.2 --log wc.tsv en-rows
status 1 'the profile orders channels in another way' \
    [ "$(column wp.tsv key)" = "$(column wc.tsv key)" ]
equal 'the profile leaves as many parameters' \
    "$(column wp.tsv params)" "$(column wc.tsv params)"
ok 'a profile with gradients is made' \
    prune profile -q -m M -o G --gradient fr-rows
ok 'gradients order channels' \
    search --blocks 6 --ratio 0.2 -p G --gradient --log wg.tsv en-rows
equal 'gradients leave as many parameters' \
    "$(column wg.tsv params)" "$(column wp.tsv params)"
equal 'channels of the largest gradients are kept' "$(awk -F '\t' 'NR == FNR {
    if ($2 == "down") v[$1, $3] = $4
    next
}
FNR > 2 {
    split("", kept)
    for (n = split($3, r, ","); n > 0; n--) {
        if (split(r[n], x, "-") == 1) x[2] = x[1]
        while (x[1] <= x[2]) kept[x[1]++ + 0]
    }
    for (i = 0; i < 32; i++)
        for (k in kept)
            if ($3 != "all" && !(i in kept) && v[$1, i] > v[$1, k]) bad++
    seen++
} END { print seen, bad + 0 }' G/gradients.tsv choice)" '6 0'
status 1 'gradients order channels in another way' \
    [ "$(column wg.tsv key)" = "$(column wp.tsv key)" ]
status 2 '--gradient with a profile without gradients is refused' \
    search --ratio 0.2 -p P --gradient en-rows
status 2 '--gradient without a profile is refused' \
    search --ratio 0.2 --gradient en-rows
status 1 'a profile that is not there is refused' \
    search --ratio 0.2 -p nowhere en-rows
status 2 'a unit that is none is refused' \
    search --units heads --ratio 0.3 en-rows
status 2 'a goal that groups alone cannot meet is refused' \
    search --units groups --ratio 0.9 en-rows

# --- methods, in one log ---
cp greedy.tsv all.tsv
for m in influence tabu; do
    ok "$m finds a choice" \
        search --ratio 0.3 --method $m --evals 60 --log all.tsv en-rows
    mv choice "$m"
    at_most "$m limits parameters" \
        "$(column all.tsv params)" $((whole * 7 / 10))
    equal "$m is in the log" "$(awk -F '\t' -v m=$m '$2 == m { n = 1 }
        END { print n }' all.tsv)" 1
done
ok 'tabu writes a log of its own' \
    search --ratio 0.3 --method tabu --evals 60 --log tabu.tsv en-rows
least() {
    awk -F '\t' -v share="$2" -v all="$whole" 'NR == 2 { n = $10 }
        $6 <= all * share && $10 == n && (!k++ || $14 < b) { b = $14 }
        END { print b }' "$1"
}
equal 'the best configuration that meets the goal is chosen' \
    "$(column tabu.tsv objective)" "$(least tabu.tsv 0.7)"
at_most 'tabu is no worse than greedy' "$(column tabu.tsv objective)" \
    "$(column greedy.tsv objective)"
for s in 9 9b 8; do
    ok "tabu with the seed of s$s runs" \
        search --ratio 0.3 --method tabu --evals 40 \
        -s ${s%b} --log s$s.tsv en-rows
    without_times s$s.tsv >s$s
done
same 'the same seed draws the same moves' s9 s9b
status 1 'another seed draws other moves' cmp -s s9 s8
for method in magnitude random; do
    status 2 "--method $method is refused" search --ratio 0.3 --method $method \
        en-rows
done
for option in '--jobs 2' --no-cache '--start greedy'; do
    # shellcheck disable=SC2086 # words
    status 2 "$option is refused" search --ratio 0.3 $option en-rows
done

# --- tabu from a choice ---
ok 'tabu begins with the choice of --from' search --ratio 0.3 --method tabu \
    --from greedy --evals 40 --log from.tsv en-rows
equal 'tabu scores the choice of --from first' \
    "$(awk -F '\t' '$2 != "whole" && NR > 1 {
    print $2, $3, $5; exit }' from.tsv)" "tabu from $(column greedy.tsv key)"
equal 'tabu searches on from the choice' \
    "$(awk -F '\t' '$3 == "move" { n = 1 } END { print n }' from.tsv)" 1
at_most 'tabu is no worse than the choice of --from' \
    "$(column from.tsv objective)" "$(column greedy.tsv objective)"
ok 'channels make the choice of --from meet a smaller goal' \
    search --ratio 0.35 \
    --method tabu --from greedy --evals 3 --log from2.tsv en-rows
at_most 'tabu from a choice meets the goal' "$(column from2.tsv params)" \
    $((whole * 65 / 100))
status 2 'a choice of other blocks than --blocks is refused' search --blocks 6 \
    --ratio 0.2 --method tabu --from greedy en-rows
like 'the refusal says that the choice does not meet the goal' \
    'from greedy.*not meet the goal' err
status 2 '--from without tabu is refused' \
    search --ratio 0.3 --from greedy en-rows
status 3 'a file that is no choice is refused' \
    search --ratio 0.3 --method tabu \
    --from greedy.tsv en-rows
status 1 'a choice that is not there is refused' search --ratio 0.3 \
    --method tabu --from nowhere en-rows

# --- what is taken ---
equal 'greedy drops the part without which others score best' \
    "$(awk -F '\t' '$3 == "drop" {
    n = split($19, x, ";")
    if ($4) taken[n] = $14
    if (!(n in least) || $14 < least[n]) least[n] = $14
} END { for (n in least) if (taken[n] != least[n]) print n }' greedy.tsv)" ''
# A move of one neighbour is taken unless it changes a part that one of the last
# 6 has, and is no new best; up to the first restart.
cat >rule.awk <<'EOF'
function parts(text, s,    k, x, y) {
    split("", s)
    k = split(text, x, ";")
    while (k > 0) {
        split(x[k--], y, ":")
        if (y[2] != "-") s["a" y[1]]
        if (y[3] != "-") s["m" y[1]]
    }
}
BEGIN { tenure = 6; for (i = 0; i < 6; i++) { all["a" i]; all["m" i] } }
NR == 1 { next }
$2 != "tabu" {
    if ($3 == "mix" && (best == "" || $14 < best)) { best = $14; parts($19, now) }
    next
}
$3 != "move" || over { next }
$4 == 1 { took[move] = 1; next }
{
    judge()
    if (over) next
    move++
    parts($19, next_one)
    value = $14
    waiting = 1
}
function judge(    b, held, want) {
    if (!waiting) return
    for (b in all)
        if ((b in now) != (b in next_one) && b in until && move <= until[b])
            held = 1
    want = !held || value < best
    refused += !want
    if (want != (move in took)) wrong++
    if (want) {
        for (b in all)
            if ((b in now) != (b in next_one)) until[b] = move + tenure
        split("", now)
        for (b in next_one) now[b]
    }
    if (value < best) { best = value; since = 0 } else since++
    over = since == 12
    waiting = 0
}
END { judge(); print wrong + 0, (refused > 0), over + 0 }
EOF
ok 'tabu moves attention and MLPs' search --ratio 0.2 --method tabu \
    -s 7 --units attention,mlp --candidates 1 --evals 60 --log rule.tsv en-rows
equal 'parts stay for 6 moves, up to a restart after 12' \
    "$(awk -F '\t' -f rule.awk rule.tsv)" '0 1 1'
ok 'tabu changes ranked channels alone' \
    search --ratio 0.1 --method tabu --units channels \
    --widths ranked --candidates 4 --log shift.tsv en-rows
like 'tabu shifts channels between blocks' '	tabu	move	' shift.tsv

# --- a log is gone on with ---
tabu='--ratio 0.35 --method tabu --units blocks,channels,attention --evals 40
    --candidates 4 --widths ranked --halve'
# shellcheck disable=SC2086 # words
ok 'tabu halves candidates' search $tabu --log t.tsv en-rows
mv choice t
equal 'candidates are scored on a quarter, half and all rows' \
    "$(awk -F '\t' '$2 == "tabu" {
    n[$10] } END { k = 0; for (i in n) k++; print k }' t.tsv)" 3
equal 'the choice is scored on all rows' "$(column t.tsv tokens)" \
    "$(awk -F '\t' '$2 == "whole" { print $10 }' t.tsv)"
equal 'the choice is the best that was scored on all rows' \
    "$(column t.tsv objective)" "$(least t.tsv 0.65)"
equal 'the last line taken is the choice' "$(column t.tsv step)" choice
equal 'the better half of the candidates goes on' \
    "$(awk -F '\t' 'function judge(    i, k) {
    for (i in low) for (k in low)
        if (i in high && !(k in high)) { judged = 1; bad += low[k] < low[i] }
}
$2 != "tabu" || $3 != "move" || $4 == 1 { next }
$10 != level {
    judge()
    split("", low)
    for (i in high) if ($10 > level) low[i] = high[i]
    split("", high)
    level = $10
}
{ high[$5] = $14 }
END { judge(); print judged, bad + 0 }' t.tsv)" '1 0'
equal 'channels use what the goal leaves' \
    "$(awk -F '\t' -v most=$((whole * 65 / 100)) \
    '$2 == "tabu" && $6 <= most - 48 {
        gsub(/[0-9]+:(all|-|[0-9]+):(all|-)(;|$)/, "", $19) # none is cut
        if ($19 != "") print }' t.tsv)" ''
without_times t.tsv >want
size=$(wc -c <t.tsv)
for part in 3 2 1; do
    head -c $((size * part / 4)) t.tsv >p.tsv
    # shellcheck disable=SC2086
    ok "a search goes on with $part quarters of its log" \
        search $tabu --log p.tsv en-rows
    same "$part quarters of a log lead to the same choice" t choice
    without_times p.tsv >got
    same "$part quarters of a log become the same log" want got
done
# shellcheck disable=SC2086
prune search -q -m M -o choice $tabu --log k.tsv en-rows &
pid=$!
twenty() { [ "$(wc -l <k.tsv)" -ge 20 ]; }
await twenty
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
# shellcheck disable=SC2086
ok 'a search goes on after it was killed' search $tabu --log k.tsv en-rows
same 'a killed search comes to the same choice' t choice
without_times k.tsv >got
same 'a killed search comes to the same log' want got
# What the log says is believed: scores there that are not true.
awk -F '\t' -v OFS='\t' 'NR > 1 && $2 != "whole" { $21 = "1,1," 100 - $14 ",0" }
    { print }' t.tsv >lie.tsv
# shellcheck disable=SC2086
ok 'a search believes its log' search $tabu --log lie.tsv en-rows
status 1 'other scores in a log lead to another choice' cmp -s t choice

# Scores of other kernels are taken, and that is said.
awk -F '\t' -v OFS='\t' 'NR > 1 { $22 = "elsewhere" }
    $2 == "whole" { split($21, x, ","); $21 = x[1] + 1e-6 "," x[2] ",1,0" }
    { print }' t.tsv >moved.tsv
# shellcheck disable=SC2086
ok 'a log of other kernels is continued' prune search -m M -o choice $tabu \
    --log moved.tsv en-rows
like 'a warning names the kernels of the log' \
    'moved\.tsv: .*kernels elsewhere' err
same 'a log of other kernels leads to the same choice' t choice
# shellcheck disable=SC2086
env RETORT_KERNELS=ref prune search -q -m M -o choice $tabu --log plain.tsv \
    en-rows
# shellcheck disable=SC2086
ok 'a log of plain C is continued' search $tabu --log plain.tsv en-rows
like 'a log of plain C names its kernels' '	ref$' plain.tsv
# One weight of the last block is another, the head is as it was.
reweigh M changed 4000
# shellcheck disable=SC2086
status 2 'a log of a model of other weights is refused' \
    prune search -m changed \
    -o choice $tabu --log t.tsv en-rows
like 'the refusal says that the search is another' 'another search.*model' err
rm -r changed
cp -r M changed
sed 's/"rope_theta": [0-9.]*/"rope_theta": 500.0/' M/config.json >changed/config.json
# shellcheck disable=SC2086
status 2 'a log of the same weights in another configuration is refused' \
    prune search -m changed -o choice $tabu --log t.tsv en-rows
like 'the refusal of another configuration says so too' \
    'another search.*model' err

# --- what must not matter ---
for how in '-j 1' '-j 2'; do
    # shellcheck disable=SC2086
    ok "tabu runs with $how" search $tabu $how --log h.tsv en-rows
    without_times h.tsv >got
    same "$how leads to the same log" want got
    same "$how leads to the same choice" t choice
    rm h.tsv
done

# --- sets ---
nll() {
    log=$2
    ok "a search takes $1" \
        search --blocks 6 --log "$log" --calib "$3" ${4+--calib "$4"}
    awk -F '\t' '$2 == "whole" { print $11 }' "$log" >"$log.nll"
}
nll 'a calibration set' s1.tsv x=1:en-rows
nll 'another calibration set' s2.tsv x=1:fr-rows
nll 'both calibration sets' s3.tsv x=1:en-rows y=3:fr-rows
equal 'losses of two sets are averaged by weight' \
    "$(awk 'FNR == 1 { s[++n] = $1 } END {
    d = s[3] - (s[1] + 3 * s[2]) / 4; print (d < 2e-8 && d > -2e-8) }' \
    s1.tsv.nll s2.tsv.nll s3.tsv.nll)" 1
equal 'losses of the sets differ' \
    "$(sort -u s[123].tsv.nll | wc -l | tr -d ' ')" 3
# by_set NAME option ...: choices by one set each, and by both with next to no
# weight for the second
by_set() {
    set_name=$1
    shift
    search "$@" --calib x=1:fr-rows && mv choice first &&
        search "$@" --calib x=1:en-rows && mv choice second &&
        search "$@" --calib x=1:fr-rows --calib y=1e-9:en-rows ||
        fail "$set_name: a search"
    same "$set_name: a set of next to no weight does not count" first choice
    status 1 "$set_name: alone it chooses otherwise" cmp -s first second
}
by_set channels --units channels --ratio 0.2
by_set 'ranked channels' --units channels --widths ranked --ratio 0.2
for bad in x x=1 x=0:en-rows =1:en-rows x=1: x=a:en-rows; do
    status 2 "--calib '$bad' is refused" search --ratio 0.3 --calib "$bad"
done
status 2 'a set beside an input is refused' \
    search --ratio 0.3 --calib x=1:en-rows fr-rows
status 2 'the log of other text is refused' \
    search --ratio 0.3 --log greedy.tsv fr-rows
echo hello >foreign
status 3 'a file that is no log is refused' \
    search --ratio 0.3 --log foreign en-rows
equal 'the file that is no log stays as it was' "$(cat foreign)" hello
ok 'the objective is the KL and the loss' awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { d = $at["objective"] - $at["kl"] - $at["nll"]
      if (!(d * d <= 1e-8)) bad = 1 }
    END { exit !(!bad && NR > 1) }' greedy.tsv

# --- goals met at an edge ---
ok 'influence tries every number of blocks with ranked channels' \
    search --ratio 0.1 \
    --widths ranked --log ranks.tsv en-rows
equal 'influence ends when no channels have to go' \
    "$(awk -F '\t' '$3 == "mix" && $4 == 0 { print $17 }' \
    ranks.tsv | tr '\n' ' ')" '6 5 4 '
ok 'influence drops the most that attention and channels give' \
    search --blocks 6 --params 26000 \
    --units blocks,channels,attention --log least.tsv en-rows
at_most 'influence meets the smallest goal' "$(column least.tsv params)" 26000
ok 'greedy drops the most that attention and channels give' \
    search --blocks 6 --params 26000 --units channels,attention \
    --method greedy --log least2.tsv en-rows
at_most 'greedy meets the smallest goal' "$(column least2.tsv params)" 26000
equal 'greedy keeps all blocks that have parts' \
    "$(column least2.tsv blocks)" "$(column least.tsv blocks)"
ok 'a count below 1 before its suffix is read' \
    search --params 0.03M --log count.tsv en-rows
at_most 'a count of 0.03M limits parameters to 30,000' \
    "$(column count.tsv params)" 30000
# --- misuse ---
status 2 '--width with ranked channels is refused' \
    search --width 16 --widths ranked en-rows
status 2 'a search without a goal is refused' search en-rows
status 2 'a search without a model is refused' prune search --ratio 0.3 en-rows
status 2 'more blocks than the model has are refused' search --blocks 7 en-rows
status 2 'fewer parameters than possible are refused' \
    search --params 500 en-rows
status 1 'an input that is not there is refused' search --ratio 0.3 nofile
done_testing
