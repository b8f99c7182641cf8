#!/usr/bin/env python3
"""A WET file as Common Crawl publishes them, and its texts, by warcio.

usage: python scripts/oracle/wet.py tests/golden/clean
Made with warcio 1.8.1 (PyPI).  Writes pages.warc.wet.gz, one gzip member a
record as in Common Crawl, and pages.txt: address and text of each page, lines
of JSON, as warcio's reader finds them.  Dates and record numbers are fixed, so
that the same bytes come out.
"""
import io
import json
import sys
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter

PAGES = [
    ("http://example.org/", "The river runs past nine stones.\nAt noon: café.\n"),
    ("https://example.org/zh?q=1", "第一行\n\nWARC/1.0\r\nWARC-Type: response\n"),
    ("https://example.org/empty", ""),
    ("https://example.org/last", "no newline at the end"),
]


def main(folder):
    out = Path(folder, "pages.warc.wet.gz")
    with open(out, "wb") as f:
        w = WARCWriter(f, gzip=True)

        def put(kind, uri, text, content, k):
            head = {
                "WARC-Date": "2026-01-02T03:04:05Z",
                "WARC-Record-ID": f"<urn:uuid:00000000-0000-0000-0000-{k:012d}>",
                "WARC-Identified-Content-Language": "eng",
            }
            w.write_record(w.create_warc_record(
                uri, kind, payload=io.BytesIO(text.encode()), warc_headers_dict=head,
                warc_content_type=content))

        put("warcinfo", "pages.warc.wet.gz", "Software-Info: x\r\n",
            "application/warc-fields", 0)
        for k, (uri, text) in enumerate(PAGES):
            put("conversion", uri, text, "text/plain", k + 1)
        put("metadata", PAGES[0][0], "fetchTimeMs: 9\r\n",
            "application/warc-fields", 9)
    with open(out, "rb") as f, open(Path(folder, "pages.txt"), "w") as g:
        for r in ArchiveIterator(f):
            if r.rec_type == "conversion":
                g.write(json.dumps([r.rec_headers["WARC-Target-URI"],
                                    r.content_stream().read().decode()],
                                   ensure_ascii=False) + "\n")


main(sys.argv[1])
