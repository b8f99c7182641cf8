# shellcheck shell=sh
# Test Anything Protocol for shell tests.  Begin a test with
#     . "${0%/*}/../lib/lib.sh"
# and end it with done_testing.  A test runs in an empty folder of its own,
# $top is the source tree, the programs come first in PATH.  Never pipe from
# the tool under test: that hides its exit status.

top=${RETORT_TOP:-$(cd "${0%/*}/../.." && pwd)}
BUILD=${BUILD:-$top/build}
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
PATH=$BUILD/bin:$PATH
export PATH BUILD
if [ -z "${RETORT_SCRATCH:-}" ]; then       # run by hand, not by scripts/check
    RETORT_SCRATCH=$(mktemp -d)
    trap 'rm -rf "$RETORT_SCRATCH"' EXIT
fi
cd "$RETORT_SCRATCH" || exit 1

tap_count=0
tap_failed=0

pass() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $*"
}

fail() {
    tap_count=$((tap_count + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_count - $*"
}

# skip WHAT WHY: report a test that cannot run here
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# status N WHAT command ...: the command exits with N.  Its output is left in
# the files out and err.
status() {
    tap_want=$1 tap_what=$2
    shift 2
    tap_got=0
    "$@" >out 2>err || tap_got=$?
    if [ "$tap_got" = "$tap_want" ]; then
        pass "$tap_what"
    else
        fail "$tap_what"
        echo "# exit status $tap_got, not $tap_want, of: $*"
        head -n 20 err | cut -c 1-300 | sed 's/^/# /'
    fi
}

# ok WHAT command ...: the command exits with 0
ok() {
    tap_what=$1
    shift
    status 0 "$tap_what" "$@"
}

# same WHAT file file: two files have equal bytes
same() {
    if cmp -- "$2" "$3" >cmp.out 2>&1; then
        pass "$1"
    else
        fail "$1"
        sed 's/^/# /' cmp.out
    fi
}

# near WHAT SHARE A B: two tables have the same words, and numbers whose
# relative difference is at most SHARE (relative to 1e-6 if they are smaller)
near() {
    if awk -F '\t' -v share="$2" '
        NR == FNR { a[NR] = $0; n = NR; next }
        { bad += NF != split(a[FNR], was)
          for (i = 1; i <= NF; i++) {
              if ($i == was[i]) continue
              d = $i - was[i]; d = d < 0 ? -d : d
              m = $i < 0 ? -$i : $i; m = m > 1e-6 ? m : 1e-6
              if (!($i ~ /^-?[0-9]/ && was[i] ~ /^-?[0-9]/ && d <= share * m) &&
                  !bad++)
                  print "# line " FNR ": " was[i] ", not " $i
          } }
        END { exit !(bad == 0 && FNR == n && n > 0) }' "$3" "$4" >near.out; then
        pass "$1"
    else
        fail "$1"
        cat near.out
    fi
}

# like WHAT REGEX file: a line matches the extended regular expression
like() {
    if grep -Eq -e "$2" -- "$3"; then
        pass "$1"
    else
        fail "$1"
        echo "# $3 has no line that matches $2:"
        head -n 20 -- "$3" | cut -c 1-300 | sed 's/^/# /'
    fi
}

# unlike WHAT REGEX file: no line matches
unlike() {
    if grep -Eq -e "$2" -- "$3"; then
        fail "$1"
        grep -E -e "$2" -- "$3" | head -n 5 | sed "s/^/# /"
    else
        pass "$1"
    fi
}

# equal WHAT got want: two texts are equal
equal() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        fail "$1"
        printf '# got  %s\n# want %s\n' "$2" "$3"
    fi
}

# reweigh MODEL COPY BYTES: copy a model folder, and set the float BYTES bytes
# before the end of its weights to 0.5
reweigh() {
    cp -r "$1" "$2"
    tap_at=$(($(wc -c <"$1/model.safetensors") - $3))
    { head -c "$tap_at" "$1/model.safetensors" && printf '\0\0\0\77' &&
        tail -c +$((tap_at + 5)) "$1/model.safetensors"; } \
        >"$2/model.safetensors"
}

# llama FILE [KEY VALUE]...: write the config.json of a small Llama, with other
# values for these keys
llama() {
    tap_file=$1
    shift
    cat >"$tap_file" <<'EOF'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
 "vocab_size": 1100, "hidden_size": 16, "intermediate_size": 32,
 "num_hidden_layers": 2, "num_attention_heads": 2,
 "num_key_value_heads": 1, "head_dim": 8, "rms_norm_eps": 1e-5,
 "hidden_act": "silu", "max_position_embeddings": 2048,
 "tie_word_embeddings": true, "rope_theta": 10000.0, "bos_token_id": 0,
 "eos_token_id": 0, "torch_dtype": "float32", "initializer_range": 0.3}
EOF
    while [ $# -gt 0 ]; do
        sed -i "s/\"$1\": [^,}]*/\"$1\": $2/" "$tap_file"
        shift 2
    done
}

# announced OPERAND ...: a stream has as many batches as it announces
announced() {
    ok "stream $* ends with status 0" stream -q "$@" -o c
    shard dump -q c >shown
    equal "stream $* has as many batches as it says" \
        "$(sed -n 's/^  batches: //p' shown)" "$(grep -c '^#[0-9]* batch ' shown)"
}

# names: print the names of the programs, from the Makefile
names() {
    make -s -C "$top" names
}

# terminal COMMAND: run a shell command on a terminal of its own, and write what
# it shows to the file screen.  has_terminal: is that possible?  It needs
# script(1) and /dev/pts.
has_terminal() {
    timeout 20 script -qec true tty.log >screen 2>&1
}
terminal() {
    script -qec "$*" tty.log >screen 2>&1
}

# replay TARGET LEAST: run a fuzz target over its small corpus, which must have
# at least LEAST files, with a plain driver (make fuzz builds it for libFuzzer)
replay() {
    ok "$1 reads its corpus without a fault" "$BUILD/fuzz/replay-$1" \
        "$top/tests/fuzz/corpus-$1"/*
    n=$(wc -l <out)
    if [ "$n" -ge "$2" ]; then pass "$1 has a corpus of $n files"
    else fail "$1 has a corpus of $n files, fewer than $2"; fi
}

# await COMMAND ...: repeat the command until it succeeds; false after a minute
await() {
    tap_tries=0
    until "$@" 2>/dev/null || [ $tap_tries -ge 6000 ]; do
        sleep 0.01
        tap_tries=$((tap_tries + 1))
    done
    [ $tap_tries -lt 6000 ]
}

# catches ID SIGNAL: does process ID have a handler for the signal of that
# number (10: SIGUSR1)?
catches() {
    tap_mask=$(sed -n 's/^SigCgt:.*\(........\)$/\1/p' "/proc/$1/status")
    [ $((0x$tap_mask >> ($2 - 1) & 1)) = 1 ]
}

# is_long: true under make check-long
is_long() {
    [ -n "${RETORT_LONG:-}" ]
}

# done_testing: end the test; no test at all is a failure, unless skipped
done_testing() {
    [ "$tap_count" -gt 0 ] || fail 'nothing was tested'
    echo "1..$tap_count"
    [ "$tap_failed" = 0 ]
    exit
}
