#!/bin/sh
# teacher --student-tokenizer: targets in the ids of a student that has another
# tokenizer, against scripts/oracle/student_tokenizer.py
. "${0%/*}/../lib/lib.sh"
. "$top/tests/lib/train.sh"

golden=$top/tests/golden/student_tokenizer
config s.json 2 32 48
# The oracle reads b, and the teacher has random weights.
tokenize -q -t tok --split line "$golden/en.txt" "$golden/mt.txt" -o lines &&
    shard write -q -o lined lines && stream -q -B 3 -T 64 -s 1 lined -o b &&
    cp -r "$golden/teacher" other || exit 1
cp "$top/tests/golden/tok/family/gemma3.json" other/tokenizer.json
say() { teacher -q -m other --student-tokenizer tok --top 8 "$@"; }
distil() { student -q -m s.json -t tok --lr 1e-3 --schedule constant "$@"; }
# compare STREAM: print the numbers of batches, of kinds and of ids that differ,
# and three distances; the file gold gets how far TRL's GOLD is
compare() {
    "$BUILD/tests/teacher/student_tokenizer" "$1" \
        "$golden/targets.safetensors" >compared
    tail -n 1 compared >gold
    head -n 1 compared
}
# within SHARES NUMBERS: two lists; none of the numbers is above its share
within() {
    echo "$2" | awk -v most="$1" '{ n = split(most, m, " ")
        for (i = 1; i <= n; i++) if (!($i ~ /^[0-9]/ && $i <= m[i])) exit 1
        if (NF != n) exit 1 }'
}

# --- against the oracle ---
ok 'teacher --student-tokenizer writes a stream' teacher -m other --student-tokenizer tok \
    --top 8 --dtype f32 -o kd32 b
sed -n 's/^teacher: \([a-z]*\): of \([0-9]*\) predictions \([0-9.]*\) % have a distribution, \([0-9.]*\) % the next token alone, \([0-9.]*\) % no target; \([0-9.]*\) % of the mass.*/\1	\2	\3	\4	\5	\6/p' \
    err >shares
same 'the notes tell the shares of each source as the oracle counts them' \
    shares "$golden/shares.tsv"
off=$(compare kd32)
ok "kinds and ids are the oracle's, log-probabilities near ($off)" within \
    '4 0 0 3e-6 3e-6 1e-6' "$off"
ok "GOLD's exact strategy has the same probabilities, its default is off by one ($(cat gold))" \
    awk '{ exit !($1 >= 5 && $2 <= 3e-6 && $3 > 0.4) }' gold
ok 'log-probabilities are written in half precision' say -o kd b
off=$(compare kd)
ok "half precision is off by its rounding ($off)" within \
    '4 0 0 4.9e-4 3e-6 4e-4' "$off"
ok 'the teacher message has both hashes' grep -Eaq \
    '"vocab":"867","temperature":"1","tokenizer":"[0-9a-f]{32}","student_tokenizer":"[0-9a-f]{32}"' kd
ok 'a stream of tokens has no head of another tokenizer' \
    sh -c '! grep -aq "\"head\":" kd'

# --- threads, rows, ranks ---
for how in '-j 1' '-j 3' '--micro 1' '--micro 3'; do
    # shellcheck disable=SC2086 # a list
    ok "teacher runs with $how" say $how -o more b
    same "$how gives the same bytes" kd more
done
ok 'the targets are stored in shards' shard write -q -o kds kd
ok 'the shards pass shard check' shard check -q kds
ok 'shards give the stream back' sh -c \
    'stream -q -B 3 kds -o back && stream -q -B 2 kds -o two'
ok 'batches are stored in shards' shard write -q -o bs b
ok 'targets are made for batches of 2' sh -c \
    'stream -q -B 2 bs | teacher -q -m other --student-tokenizer tok --top 8 -o two2'
ok 'a student trains on stored targets in batches of 2' distil -o after two
ok 'a student trains on targets made in batches of 2' distil -o before two2
same_model 'a token has the same targets in any batch' after before

# --- the student ---
ok 'a student trains from a file' distil -o run kd
ok 'every step has a KL' awk -F '\t' 'NR > 1 && !($6 > 0) { exit 1 }
    END { exit NR != 5 }' run/metrics.tsv
ok 'a student trains from a live teacher' sh -c \
    'teacher -q -m other --student-tokenizer tok --top 8 b |
     student -q -m s.json -t tok --lr 1e-3 --schedule constant -o live'
same_model 'a live teacher gives the model of a file' run live
for how in '-j 1' '-j 2' '--micro 1' '--recompute'; do
    # shellcheck disable=SC2086 # a list
    ok "a student runs with $how" distil -o "r$how" $how kd
    same_model "$how gives the same model" run "r$how"
done
ok 'a student takes 2 steps' distil --steps 2 -o half kd
ok 'the student goes on' sh -c 'stream -q --resume half lined |
    teacher -q -m other --student-tokenizer tok --top 8 |
    student -q -m s.json -t tok --lr 1e-3 --schedule constant -o half --resume'
same_model 'two steps and the others are all steps' half run
ok 'a student trains on the text alone' distil -o alone b
status 1 'the targets change the model' \
    cmp -s alone/model.safetensors run/model.safetensors

# --- outputs of blocks ---
ok 'outputs of blocks are written' say --hidden 0,1 --dtype f32 -o hidden b
for how in '-j 1' '--micro 1'; do
    # shellcheck disable=SC2086 # a list
    ok "outputs of blocks are written with $how" say --hidden 0,1 --dtype f32 $how -o more b
    same "$how gives the same outputs" hidden more
done
ok 'a student trains on outputs of blocks' distil -o sh hidden
ok 'every step compares outputs' awk -F '\t' 'NR > 1 && !($7 > 0) { exit 1 }
    END { exit NR != 5 }' sh/metrics.tsv

# --- the same tokenizer ---
batches 4 >same.b
cp -r tok copy
ok 'a teacher of the same tokenizer writes tokens' \
    teacher -q -m teacher --top 8 -o plain same.b
ok 'the same teacher is told its own tokenizer' teacher -m teacher \
    --student-tokenizer copy --top 8 -o told same.b
like 'a note says that the tokenizers are the same' "is the teacher's tokenizer too" err
same 'with the same tokenizer the bytes are those of plain distillation' plain told

# --- a tokenizer that differs by a token of which there is no text ---
mkdir nearly
sed 's/"added_tokens": *\[/&{"id":867,"content":"qqqqqq","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},/' \
    tok/tokenizer.json >nearly/tokenizer.json
cp tok/tokenizer_config.json nearly
tokenize -q -t nearly "$top/corpus/en.jsonl" "$top/corpus/mt.jsonl" -o nearly.st &&
    shard write -q -o nearly.d nearly.st &&
    stream -q -B 4 -T 64 -s 7 --batches 4 nearly.d -o nearly.b || exit 1
ok 'a teacher makes targets for nearly its own tokenizer' teacher -m teacher \
    --student-tokenizer nearly --top 8 -o nearly.kd nearly.b
like 'all predictions have a distribution' \
    'en: of [0-9]* predictions 100.0 % have a distribution' err
ok 'a student trains by plain distillation' distil -o p plain
ok 'a student of nearly the same tokenizer trains' student -q -m s.json -t nearly \
    --lr 1e-3 --schedule constant -o n nearly.kd
cut -f 4-7 p/metrics.tsv >p.losses
cut -f 4-7 n/metrics.tsv >n.losses
near 'the losses are those of plain distillation' 2e-5 p.losses n.losses

# --- what is refused ---
status 2 '--student-tokenizer without --top is refused' teacher -q -m other \
    --student-tokenizer tok -o not b
like 'the message names --top' 'give --top' err
status 2 '--student-tokenizer with --final is refused' say --final -o not b
status 2 'another temperature than 1 is refused' say --temperature 2 -o not b
status 2 'more tokens than both vocabularies have are refused' say --top 429 -o not b
like 'the message tells their number' 'take 428 at most' err
cp "$top/tests/golden/tok/family/llama3.json" third.json
status 3 'a stream of a third tokenizer is refused' \
    teacher -q -m other --student-tokenizer third.json --top 8 -o not b
like 'the message names the tokenizer' 'another tokenizer than that of third.json' err
status 3 'a stream of another tokenizer is refused without the option' \
    teacher -q -m other --top 8 -o not b
status 3 'a student of another tokenizer refuses the targets' \
    student -q -m other -o not --lr 1e-3 kd
like 'the message tells of the tokenizer' 'another tokenizer' err

# --- ranks ---
. "$top/tests/lib/ranks.sh"
if has_ranks 'a teacher of another tokenizer over ranks'; then
    for n in 2 5; do
        ok "$n ranks write targets and outputs" mpirun -n $n teacher -q -j 1 --mpi \
            -m other --student-tokenizer tok --top 8 --hidden 0,1 --dtype f32 \
            -o over b
        same "$n ranks have the bytes of one process" hidden over
    done
    ok 'ranks with parts write targets' mpirun -n 2 teacher -q -j 1 --mpi --shard world \
        -m other --student-tokenizer tok --top 8 -o over b
    same 'ranks with parts have the bytes of one process' kd over
    ok 'a student of one process trains by --deterministic' distil --deterministic -o det two
    # shellcheck disable=SC2016 # for the shell of each rank
    ok 'each of 2 ranks makes its targets and trains' mpirun -n 2 sh -c '
        stream -q --rank "$OMPI_COMM_WORLD_RANK/2" -B 2 bs |
        teacher -q -j 1 -m other --student-tokenizer tok --top 8 |
        student -q -j 1 -m s.json -t tok --lr 1e-3 --schedule constant \
            --deterministic -o trained'
    same_model '2 ranks have the model of one process' trained det
fi
done_testing
