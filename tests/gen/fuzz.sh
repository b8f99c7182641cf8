#!/bin/sh
# The fuzz targets of chat templates and schemas over their small corpora.
. "${0%/*}/../lib/lib.sh"
replay jinja 20
replay schema 25
done_testing
