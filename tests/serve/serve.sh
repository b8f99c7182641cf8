#!/bin/sh
# serve: options and errors before it listens
. "${0%/*}/../lib/lib.sh"
if [ ! -x "$BUILD/bin/serve" ]; then
    skip 'serve tells what is wrong' 'built without libmicrohttpd (libmicrohttpd-dev)'
    done_testing
fi
m=$top/tests/golden/gguf/f32-hf

status 2 'serve without a model is refused with status 2' serve
like 'the message says that -m gives a model' '^serve: .*-m' err
status 2 'an operand is refused with status 2' serve -m "$m" file
status 1 'a model that is missing is refused with status 1' serve -m none
status 2 'more tokens than the model has positions are refused with status 2' \
    serve -m "$m" --longest 500
like 'the message says how many tokens to give' '128' err
status 2 'a cache of less than a page is refused with status 2' \
    serve -m "$m" --cache 100
like 'the message says how many bytes to give' '--cache.*32768' err
status 2 'a text that does not fit into the cache is refused with status 2' \
    serve -m "$m" --cache 40000 --longest 128
like 'the message says how many bytes the text needs' '65536' err
: >empty
status 3 'an empty key file is refused with status 3' \
    serve -m "$m" --key-file empty
like 'the message names the key file' '^serve: empty: ' err
status 1 'a key file that is missing is refused with status 1' \
    serve -m "$m" --key-file none
for o in example.org https://example.org/ 'https://a b' '*' ://x; do
    status 2 "$o is refused as an origin" serve -m "$m" --port 0 --origin "$o"
done
like 'the message says how an origin is written' '--origin.*https://' err
status 2 'an address that is none is refused with status 2' \
    serve -m "$m" --host 300.1.1.1 --port 0
like 'the message names --host' '--host 300\.1\.1\.1' err
status 1 'more memory than there is is refused with status 1' \
    serve -m "$m" --port 0 --buffers 900T
like 'the message says what to give less of' '--cache or --buffers' err
like 'a note says how much memory it takes at most' 'MB at most' err

# The members of requests that the source has a row for are in the page.
sed -n 's/^    { "\([a-z_]*\)", .*/\1/p' "$top/serve/known.c" | sort -u >rows
tr -cs 'a-z_' '\n' <"$top/man/serve.1" >words
missing=$(while read -r name; do
    grep -qx "$name" words || echo "$name"
done <rows)
equal 'serve(1) names every member that a request may have' "$missing" ''
equal '... of which there are many' "$(($(wc -l <rows) > 70))" 1

# A port that is taken; a second server with the first one's name.
serve -m "$m" --port 0 --name small 2>first &
pid=$!
await grep -q listening first
like 'a note names address, port and model' \
    'listening at http://127\.0\.0\.1:[0-9]+, model small' first
port=$(sed -n 's/.*127\.0\.0\.1:\([0-9]*\),.*/\1/p' first)
status 1 'a port that is taken is refused with status 1' \
    serve -m "$m" --port "$port"
like 'the message names the port' "port $port: " err
kill $pid
wait $pid
equal 'SIGTERM ends an idle server with status 0' $? 0
done_testing
