"""Runs a service with `log-format: journal` beside a stand-in for systemd-journald in its own mount namespace, prints
each entry as JSON, and ends the service when it is ready. Its arguments are the command to run.

The stand-in reads the journal's native protocol (systemd's "Native Journal Protocol") as journald does: a field is
`NAME=value`, or `NAME`, the length in 64 bits and a value that may have line breaks."""

import array
import json
import os
import socket
import struct
import subprocess
import sys

from small_disk import in_namespace

PLACE = "/run/systemd/journal"


def fields(data):
    """Returns the fields of an entry, in order."""
    found = []
    while data:
        line, _, rest = data.partition(b"\n")
        name, sign, value = line.partition(b"=")
        if not sign:
            size = struct.unpack("<Q", rest[:8])[0]
            value, rest = rest[8 : 8 + size], rest[9 + size :]
        found.append((name.decode(), value.decode()))
        data = rest
    return found


def receive(journal):
    """Returns the next entry; libsystemd passes a large one as a file."""
    size = array.array("i").itemsize
    data, ancillary, _, _ = journal.recvmsg(1 << 20, socket.CMSG_SPACE(size))
    for _, _, descriptors in ancillary:
        with os.fdopen(struct.unpack("i", descriptors)[0], "rb") as file:
            file.seek(0)
            data = file.read()
    return fields(data)


def main():
    in_namespace()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    os.makedirs(PLACE)
    refused = subprocess.run(sys.argv[1:], capture_output=True, text=True)
    print("refused", refused.returncode, refused.stderr.strip(), flush=True)
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind(f"{PLACE}/socket")
    service = subprocess.Popen(sys.argv[1:])
    while True:
        entry = dict(receive(journal))
        print(json.dumps(entry), flush=True)
        if entry["MESSAGE"].startswith("ready: "):
            service.terminate()
        if entry["MESSAGE"] == "ended in good order":
            break
    print("ended", service.wait(), flush=True)


if __name__ == "__main__":
    main()
