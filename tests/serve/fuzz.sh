#!/bin/sh
# The fuzz target of request bodies over its small corpus.
. "${0%/*}/../lib/lib.sh"
if [ ! -x "$BUILD/bin/serve" ]; then
    skip 'bodies are read without a fault' 'built without libmicrohttpd (libmicrohttpd-dev)'
    done_testing
fi
replay request 17
done_testing
