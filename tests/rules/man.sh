#!/bin/sh
# Man pages say what the programs do: SYNOPSIS, options, sections, references
. "${0%/*}/../lib/lib.sh"

if ! command -v mandoc >/dev/null; then
    skip 'man pages say what the programs do' 'no mandoc'
    done_testing
fi

# The page as plain text: what is struck over to be bold or underlined goes
render() {
    mandoc -T ascii -O width=1000 "$1" | sed 's/.\x08//g'
}

# The section $1 of a rendered page, as one line
section() {
    awk -v want="$1" '/^[A-Z]/ { on = $0 == want; next } on' |
        tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}

# Pages of programs, and of what a program's first operand makes another one
subs=$(cd "$top/man" && printf '%s\n' *-*.1 | sed 's/\.1$//')
for p in $(names) $subs; do
    page=$top/man/$p.1
    if [ ! -e "$page" ]; then
        fail "there is no $p.1"
        continue
    fi
    render "$page" >text
    case $p in
    *-*) "${p%%-*}" "${p#*-}" -h >help ;;
    *) "$p" -h >help ;;
    esac
    equal "$p.1: SYNOPSIS equals the usage" "$(section SYNOPSIS <text)" \
        "$(awk 'NR == 1 { sub(/^usage: /, "") } NR > 1 && !/^ / { exit }
            { $1 = $1; printf "%s%s", gap, $0; gap = " " }' help)"
    for s in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES 'SEE ALSO'; do
        grep -qx "$s" text || fail "$p.1 has no section $s"
    done
    like "$p.1 has a NAME line with a description" "^ +$p - [a-z]" text

    # Every option of -h is described: its letter and its name.
    sed '1,/^DESCRIPTION/d' text >body
    sed -nE '/^  ( |-)/{
        s/^  (-.)?(, |    )?(--[a-z0-9-]+)?.*/\1 \3/
        p
    }' help | tr ' ' '\n' | grep -e '^-' | sort -u >options
    for o in $(cat options); do
        case $o in --help|--quiet|--verbose|--version) continue ;; esac
        grep -Eq -e "(^|[^a-zA-Z0-9-])$o([^a-zA-Z0-9-]|$)" body ||
            fail "$p.1 does not describe $o"
    done
    # And every option that the page lists exists.
    sed -n 's/^\.It Fl//p' "$page" | tr ' ' '\n' | awk '
        /^-[a-z]/ { print "-" $0 } /^[a-zA-Z0-9]$/ && !arg { print "-" $0 }
        { arg = $0 == "Ar" }' | sort -u >listed
    for o in $(cat listed); do
        grep -qxe "$o" options || fail "$p.1 lists $o, which -h does not"
    done
    pass "$p.1 describes $(wc -l <options) options of -h"
done

# References among our own pages lead somewhere.
ours=" $(names | sed 's/ /.1 /g').1 "
for page in "$top"/man/*.[157]; do
    dead=''
    for ref in $(sed -nE 's/^\.Xr ([^ ]+) ([157]).*/\1.\2/p' "$page"); do
        case $ref in
        retort*) ;;
        *) case $ours in *" $ref "*) ;; *) continue ;; esac ;;
        esac
        [ -e "$top/man/$ref" ] || dead="$dead $ref"
    done
    equal "${page##*/} refers to pages that exist" "$dead" ''
done
done_testing
