#!/bin/sh
# Options of all programs and subcommands: a name has one meaning, one kind of
# value and one sentence; a program has a limited number of them
. "${0%/*}/../lib/lib.sh"

# Names that may differ, each with the reason.
cat >excused <<'EOF'
model what a program does with its model is its own: measure, cut, train
output what a program writes is its own: a stream, a model, a report
method what a method does is its command's own: remove parts, merge models
system a person types it as a text in a chat, a pipeline keeps it in a file
EOF

# table COMMAND...: its options, as name, letter, value, sentence, command.
# Defaults, the words of a choice and a remark in parentheses are left out.
table() {
    "$@" -h | awk -v command="$*" '
        function end() {
            sub(/ *\(default[^(]*(\([^)]*\))?[^)]*\)$/, "", text)
            sub(/ *\([^()]*\)$/, "", text)
            sub(/: [^ ,]+(, [^ ,]+)+$/, "", text)
            sub(/ *\(default:[^()]*\)$/, "", text)
            if (name != "") {
                printf "%s\t%s\t%s\t%s\t%s\n", name, letter, value, text,
                    command
            }
            name = ""
        }
        /^  (-.,|   ) --/ {
            end()
            letter = substr($0, 3, 1) == "-" ? substr($0, 4, 1) : "-"
            sub(/^ *(-., )? *--/, "")
            sub(/$/, " ")
            name = substr($0, 1, index($0, " ") - 1)
            text = substr($0, length(name) + 2)
            value = substr(text, 1, 1) == " " ? "none" : \
                substr(text, 1, index(text, " ") - 1)
            if (value != "none") text = substr(text, length(value) + 1)
            gsub(/^ +| +$/, "", text)
            gsub(/[][]/, "", value)     # a value that may be left out
            next
        }
        name != "" && /^                     / {
            gsub(/^ +| +$/, "")
            text = text (text == "" ? "" : " ") $0
            next
        }
        { end() }
        END { end() }'
}

for p in $(names); do
    table "$p" >>options
    for c in $("$p" -h | sed -n '/^commands/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        table "$p" "$c" >>options
    done
done
for p in 'shard write' 'prune sparsify' 'generate bench' tokenize; do
    like "options of $p are in the table" "	$p\$" options
done

# --- one name ---
cut -d ' ' -f 1 excused >allowed
equal 'a letter stands for one name' "$(cut -f 1,2 options | sort -u |
    awk '$2 != "-" { print $2 }' | sort | uniq -d)" ''
equal 'a name has one letter, or none, in all programs' \
    "$(cut -f 1,2 options | sort -u | awk '{ print $1 }' | uniq -d |
        grep -vxFf allowed)" ''
# Names with several values or sentences, each with those that have it.
sort options | awk -F '\t' '
    { meaning = $3 "  " $4; key = $1 "\t" meaning
      if (!(key in who)) { n[$1]++; list[$1] = list[$1] "\n" meaning }
      who[key] = who[key] (who[key] == "" ? "" : ", ") $5 }
    END {
        for (name in n) {
            if (n[name] < 2) continue
            split(substr(list[name], 2), one, "\n")
            for (i = 1; i <= n[name]; i++)
                printf "%s\t%s\t[%s]\n", name, one[i], who[name "\t" one[i]]
        }
    }' | sort >differ
awk -F '\t' 'NR == FNR { ok[$1] = 1; next } !($1 in ok)' allowed differ >bad
equal 'a name has one value and one sentence in all programs' "$(cat bad)" ''
awk -F '\t' 'NR == FNR { differs[$1] = 1; next }
    !($1 in differs) { print $1 }' differ allowed >agreed
equal 'an excused name differs' "$(cut -d ' ' -f 1 excused |
    grep -xFf agreed)" ''

# --- their number ---
# most N PROGRAM: options of a program, without -h, -q, -v and -V
most() {
    got=$(awk -F '\t' -v p="$2" '$5 == p && $1 !~ \
        /^(help|quiet|verbose|version)$/' options | grep -c '')
    if [ "$got" -le "$1" ]; then
        pass "$2 has at most $1 options"
    else
        fail "$2 has $got options, at most $1"
    fi
}
most 27 tokenize
most 25 teacher
most 24 evalppl
most 63 student
distinct=$(cut -f 1 options | sort -u | grep -c '')
if [ "$distinct" -le 282 ]; then
    pass 'all programs together have at most 282 names of options'
else
    fail "all programs together have $distinct names of options, at most 282"
fi
done_testing
