"""Reads an HTTP Archive with haralyzer, and prints a line for each entry.

usage: har.py FILE
"""

import sys

from haralyzer import HarEntry, HarParser

archive = HarParser.from_file(sys.argv[1])
print(archive.version, archive.creator["name"])
for raw in archive.har_data["entries"]:
    entry = HarEntry(raw)
    age = entry.startTime.timestamp()
    print(
        entry.request.method, entry.request.httpVersion, entry.request.url.split("/3/")[1],
        entry.request.get_header_value("apns-topic"), entry.request.raw_entry["postData"]["text"],
        entry.response.status, entry.response.raw_entry["content"]["text"] or "no body",
        "in time" if age > 1e9 else age)
