"""What an idle browser costs the relay in memory, beside an idle device of the device protocol.

usage: browsers.py PRODUCTS [--browsers N]

PRODUCTS has the programs, built for release. The relay has one shard. The browsers' ends of TLS are given up after hello,
so that many of them fit on the machine; their sockets stay open.
"""

import argparse
import json
import os
import socket
import ssl
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

from harness import OPEN, Harness, connection_kib, main_phase
from machine import allow_descriptors, free_port, pss, stop, workplace

HELLO = json.dumps({"messageType": "hello", "use_webpush": True}).encode()


def browser(url, context):
    """Connects a browser and says hello. Returns its socket's number when it has its identity."""
    target = urlsplit(url)
    connection = socket.create_connection((target.hostname, target.port), timeout=60)
    layer = context.wrap_socket(connection, server_hostname=target.hostname)
    layer.sendall(
        f"GET {target.path} HTTP/1.1\r\nHost: {target.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
    # A text frame with a mask of zeros (RFC 6455, section 5.2).
    layer.sendall(bytes([0x81, 0x80 | len(HELLO)]) + bytes(4) + HELLO)
    answer = b""
    while b'"uaid"' not in answer:
        received = layer.recv(4096)
        if not received:
            sys.exit(f"a browser is not let in: {answer[-200:]}")
        answer += received
    return layer.detach()


def browsers(harness, folder, count):
    """KiB of the relay's memory for each of so many idle browsers."""
    relay, told = harness.relay(folder, *OPEN, "--web-port", free_port())
    context = ssl.create_default_context(cafile=told["authorityFile"])
    context.set_alpn_protocols(["http/1.1"])
    # What the first ones need is not counted for the others.
    first = [browser(told["webURL"], context) for _ in range(10)]
    time.sleep(2)
    before = pss(relay.pid)
    numbers = [browser(told["webURL"], context) for _ in range(count)]
    time.sleep(8)
    kib = (pss(relay.pid) - before) / count
    for number in first + numbers:
        os.close(number)
    stop(relay)
    return kib


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("products")
    options.add_argument("--browsers", type=int, default=15_000)
    given = options.parse_args()
    if allow_descriptors() < given.browsers + 1000:
        sys.exit(f"{given.browsers} browsers need as many open files: raise the limit (ulimit -n)")
    with workplace() as place:
        harness = Harness(given.products, place, 1)
        print(f"{browsers(harness, Path(place) / 'web', given.browsers):6.2f} KiB for an idle browser")
        links = connection_kib(main_phase(harness.own("idle", "--devices", given.browsers, "--for", "8s")))
        print(f"{links:6.2f} KiB for an idle device")


if __name__ == "__main__":
    main()
