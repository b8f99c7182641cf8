#!/bin/sh
# student dpo: 5 steps are those of TRL's DPOTrainer in double precision
# (scripts/oracle/dpo.py), for texts and conversations, by five losses, and for
# an adapter that PEFT began
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/dpo.sh"

# near_golden NAME: compare metrics of the run NAME with those of TRL; a column
# may differ by 1e-4 of its value, or 1e-5
near_golden() {
    awk -F '\t' '
        function near(a, b, d, m) {
            d = a - b
            m = b < 0 ? -b : b
            return a ~ /^-?[0-9]/ && (d < 0 ? -d : d) <= 1e-5 + 1e-4 * m
        }
        /^#/ { next }
        FNR == NR && !names { for (i = 1; i <= NF; i++) want[i] = $i
            names = NF; next }
        FNR == NR { n++; for (i = 1; i <= NF; i++) golden[n, i] = $i; next }
        !found { for (i = 1; i <= NF; i++) at[$i] = i; found = 1; next }
        { k++; for (i = 1; i <= names; i++)
            if (!near($at[want[i]], golden[k, i])) {
                printf "# step %d: %s is %s, not %s\n", k, want[i],
                    $at[want[i]], golden[k, i]
                bad = 1
            } }
        END { exit !(k == n && n == 5 && names == 10 && !bad) }
    ' "$golden/$1.tsv" "$1/metrics.tsv"
}

while read -r name options; do
    # shellcheck disable=SC2086
    ok "5 steps by $name are made" student dpo -q -m "$golden" -o "$name" -B 5 --epochs 5 \
        --lr 1e-2 --schedule constant $options "$golden/pairs.jsonl"
    ok "loss, metrics and norms of $name are TRL's" near_golden "$name"
done <<'EOT'
sigmoid --loss sigmoid
ipo --loss ipo
robust --loss robust --label-smoothing 0.1
mixture --loss sigmoid_norm,sft:0.5
apo_down --loss apo_down --beta 0.5
lora --adapter golden/adapter
EOT
done_testing
