#!/bin/sh
# A stopped run prints a command that resumes it: the command is run as printed.
# A resumed run removes unfinished files of a killed one
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/dpo.sh"

cp "$top/tests/golden/gguf/f32.gguf" m.gguf || exit 1
tokenize -q -t m.gguf "$top"/corpus/en.jsonl "$top"/corpus/de.jsonl \
    -o docs && shard write -q -o data docs || fail 'shards'
batches() { stream -q -T 32 -B 2 -s 1 --batches 300 data; }
file="it's \$1 \"file\""
batches >"$file" && shard write -q -o folder "$file" || fail 'batches'
ok 'an undisturbed run' student -q -m m.gguf -o whole --lr 3e-4 "$file"

# stopped RUN program ...: the program, sent SIGTERM after its third step
stopped() {
    run=$1
    shift
    exec 3<&0
    "$@" <&3 &
    pid=$!
    until [ "$(sed -n '$=' "$run/metrics.tsv" 2>/dev/null)" -gt 3 ] 2>/dev/null ||
        ! kill -0 "$pid" 2>/dev/null; do
        :
    done
    kill "$pid"
    wait "$pid"
}
# printed RUN: the command that the messages in err end with
printed() {
    sed -n "s/^.*$1: to go on, [^:]*: //p" err
}

# --- from a file and a folder ---
run='a "run"; of $1'
status 5 'a run from a file is stopped' stopped "$run" \
    student -m m.gguf --lr 3e-4 -o "$run" -- "$file"
printed "$run" >command
like 'its command has --resume before --' " '--resume=a .run|--resume='a " command
ok 'the command goes on' sh ./command
same 'the result is that of an undisturbed run' whole/model.safetensors "$run/model.safetensors"
ok 'the command of a finished run leaves it as it is' sh ./command
like 'a note says so' 'finished after step 300' err
status 5 'a run from a folder is stopped' stopped of-folder \
    student -m m.gguf --lr 3e-4 -o of-folder folder
printed of-folder >command
ok 'the command goes on with the folder' sh ./command
same 'the folder gives the result of the file' whole/model.safetensors of-folder/model.safetensors

# --- batches that are not those of the run ---
status 5 'another run is stopped' stopped short \
    student -m m.gguf --lr 3e-4 -o short --steps 250 "$file"
stream -q -T 32 -B 2 -s 2 --batches 300 data >other
status 3 'a file of other batches is refused' student -m m.gguf --lr 3e-4 \
    -o short --resume --steps 250 other
like 'the message says which batch differs' 'other: has batch [0-9]+ with hash' err
stream -q -T 32 -B 2 -s 1 --batches 1 data >first
status 3 'a file that ends before the checkpoint is refused' student -m m.gguf \
    --lr 3e-4 -o short --resume --steps 250 first

# --- from standard input ---
status 5 'a run from a redirected file is stopped' stopped redirected \
    student -m m.gguf --lr 3e-4 -o redirected <"$file"
like 'the message asks for the same input' 'with the same input: student --resume=' err
printed redirected >command
ok 'the command goes on with that input' sh ./command <"$file"
same 'its result is that of an undisturbed run' whole/model.safetensors \
    redirected/model.safetensors
mkfifo pipe
batches >pipe &
status 5 'a run from a pipe is stopped' stopped "of a pipe" \
    student -m m.gguf --lr 3e-4 -o 'of a pipe' pipe
begin=$(sed -n 's/.*begin with \(.*\), and end with: .*/\1/p' err)
sed -n 's/.* end with: //p' err >command
sh -c "$begin data" >pipe &
ok 'both commands go on' sh ./command
same 'their result is that of an undisturbed run' whole/model.safetensors \
    'of a pipe/model.safetensors'

# --- other commands ---
pairs=$golden/pairs.jsonl
ok 'a run of dpo' student dpo -m "$golden" --epochs 60 --lr 1e-4 -q -o dpo "$pairs"
status 5 'a run of dpo is stopped' stopped dpo-1 \
    student dpo -m "$golden" --epochs 60 --lr 1e-4 -o dpo-1 -- "$pairs"
printed dpo-1 >command
like 'its command has the word dpo first' '^[^ ]*student dpo --resume=dpo-1 ' command
ok 'the command of dpo goes on' sh ./command
same 'the result is that of a whole run' dpo/model.safetensors dpo-1/model.safetensors
status 5 'a run with --resume is stopped' stopped dpo-2 \
    student dpo -m "$golden" --epochs 60 --lr 1e-4 --resume dpo-2 "$pairs"
like 'the message tells to give the same command' 'give the same command again: ' err
printed dpo-2 >command
ok 'that command goes on' sh ./command

# --- files of a killed run ---
status 5 'a run is stopped for its files' stopped killed \
    student -m m.gguf --lr 3e-4 -o killed "$file"
sh -c 'echo $$' >dead
sleep 300 &
living=$!
: >"killed/options.json.tmp.$(cat dead)"
: >"killed/mine.tmp.$living"
: >killed/mine.tmp.1K
ln -s step-1 killed/best.tmp
mkdir killed/step-999.tmp killed/mine.tmp
: >killed/step-999.tmp/.unfinished
: >killed/mine.tmp/file
printed killed >command
ok 'the run goes on' sh ./command
kill "$living"
ls killed >left
unlike 'files and folders of dead processes are gone' \
    'options.json.tmp|best.tmp|step-999' left
grep '^mine' left >mine
printf 'mine.tmp\nmine.tmp.1K\nmine.tmp.%s\n' "$living" | sort >want
same 'those of others stay' mine want
done_testing
