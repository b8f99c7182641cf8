#!/bin/sh
# generate run --schema: texts that are JSON documents of a schema
. "${0%/*}/../lib/lib.sh"

m=$top/tests/golden/gguf/f32-hf
say() { generate run -q -m "$m" "$@"; }
cat >s.json <<'END'
{"type": "object", "title": "A thing", "additionalProperties": false,
 "required": ["kind", "size", "tags"], "properties": {
  "kind": {"enum": ["cat", "cow", "car"]},
  "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
  "name": {"type": "string", "maxLength": 6},
  "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2}},
 "$defs": {"tag": {"type": "string", "minLength": 1, "maxLength": 3}}}
END
cat >p.jsonl <<'END'
{"prompt": "The river", "n": 4}
{"prompt": "the", "temperature": 0}
{"prompt": "A much longer prompt, which several tokens are made of: 1 2 3"}
{"prompt": "of and to", "n": 3}
END
draw() { say --prompts p.jsonl --temperature 1 -s 5 -n 80 "$@"; }

# --- documents ---
ok 'documents of a schema are written' draw --schema s.json
cp out bound
equal 'each text has a line' "$(wc -l <out)" 9
# shape: lines of texts that end and are documents of the schema
cat >shape <<'END'
"text": "\{ ?\\"kind\\": ?\\"(cat|cow|car)\\", ?\\"size\\": ?(-?[0-9]+|null), ?(\\"name\\": ?\\".*\\", ?)?\\"tags\\": ?\[.*\] ?\}", "finish_reason": "eos"
END
equal 'texts that end are documents of the schema' "$(grep -c eos bound)" \
    "$(sed 's/\\n *//g' bound | grep -cEf shape)"
status 1 'most texts end' [ "$(grep -c eos bound)" -lt 5 ]
ok 'free texts are written' draw
status 1 'free texts are others' cmp -s bound out
for how in '--at-once 1' '--at-once 3 -j 1' '--at-once 2 -j 3' '--slice 2' \
    "--draft $m" "--draft $m --guesses 9 --at-once 2" '--cache 100k'; do
    # shellcheck disable=SC2086 # a list
    ok "documents are written with $how" draw --schema s.json $how
    same "$how changes no byte of a document" bound out
done
convert -q --dtype q4_0 "$m" small.gguf
ok 'a draft that guesses wrongly helps to write documents' draw \
    --schema s.json --draft small.gguf
same 'such a draft changes no byte of a document' bound out
ok 'a prompt operand is continued by a document' say --schema s.json -n 80 \
    --temperature 1 -s 3 'The river '
like 'the document follows the prompt' '^The river \{' out
ok 'documents have log probabilities' draw --schema s.json --logprobs 2
like 'they are those of the model' '"token_logprobs": \[-[0-9]' out
echo '{"prompt": "the"}' >one.jsonl
ok 'the best of several documents is kept' say --prompts one.jsonl \
    --schema s.json -n 80 --temperature 1 --best-of 3
like 'it is a document' '"text": "\{.*"finish_reason": "eos"' out

# --- an interrupted run ---
ok 'documents are written to a file' draw --schema s.json --resume all.jsonl
same 'the file has the same documents' bound all.jsonl
head -n 4 all.jsonl >part.jsonl
printf '{"prompt": "of and' >>part.jsonl
cp all.jsonl.options.json part.jsonl.options.json
ok 'an interrupted run goes on' draw --schema s.json --resume part.jsonl
same 'the file is as that of one run' all.jsonl part.jsonl
sed 's/"maxItems": 2/"maxItems": 3/' s.json >other.json
head -n 4 all.jsonl >part.jsonl
status 2 'a run does not go on with another schema' draw --schema other.json \
    --resume part.jsonl
like 'the message names --schema' '--schema is "[0-9a-f]{32}", not ' err
status 2 'a run does not go on without the schema' draw --resume part.jsonl
like 'the message says that there is none' '--schema is null, not ' err

# --- what is refused ---
echo '{"type": "string", "pattern": "a"}' >bad.json
status 3 'a keyword that is not supported is refused with status 3' draw \
    --schema bad.json
like 'the message names the file and the keyword' \
    'bad\.json: #: the keyword pattern' err
status 3 'a schema that is no JSON is refused with status 3' draw \
    --schema "$top/README.md"
status 1 'a schema that is missing is refused with status 1' draw --schema none
status 2 'stop strings are refused with status 2' draw --schema s.json --stop x
like 'the message names both options' '--schema takes no --stop' err
echo '{"prompt": "a", "stop": "x"}' >stop.jsonl
status 3 'a stop string in a line is refused with status 3' say \
    --schema s.json --prompts stop.jsonl
like 'the message names the line and the member' 'line 1: stop: ' err
status 2 'questions are not bound by a schema' say --ask --count 2 \
    --temperature 1 --schema s.json
echo '{"const": "\u0001é"}' >bytes.json
ok 'a constant has any bytes' say --schema bytes.json -n 40 the
like 'it is written as JSON' '^the"\\u0001é"$' out
done_testing
