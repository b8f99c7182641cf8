#!/bin/sh
# The fuzz target of chat templates over its small corpus.
. "${0%/*}/../lib/lib.sh"
replay jinja 20
done_testing
