#!/usr/bin/python3
"""The handler of wake-on-lan.yaml: sends magic packets to machines that the payload names.

usage: wake-on-lan.py NEIGHBOURS < PAYLOAD

NEIGHBOURS is a JSON object with a hardware address for each name: {"lobby": "02:00:5e:10:00:01"}. The payload is
{"aps": {"content-available": 1}, "wake": ["lobby"]}. It only needs Python's standard library.
"""

import json
import re
import socket
import sys

EX_TEMPFAIL = 75
PORT = 9  # discard, as wake-on-LAN is usually sent


def packet(address):
    if not re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", address, re.IGNORECASE):
        sys.exit(f"{address!r} in the list of neighbours is not a hardware address.")
    return b"\xff" * 6 + bytes.fromhex(address.replace(":", "")) * 16


def main(file):
    with open(file, encoding="utf-8") as text:
        neighbours = json.load(text)
    names = json.load(sys.stdin).get("wake", [])
    if not isinstance(names, list):
        sys.exit("'wake' must be a list of names.")
    unknown = [name for name in names if not isinstance(name, str) or name not in neighbours]
    if unknown:
        sys.exit(f"These are not neighbours: {unknown!r}.")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        for name in names:
            try:
                sender.sendto(packet(neighbours[name]), ("255.255.255.255", PORT))
            except OSError as error:
                print(f"{name}: {error.strerror}")
                sys.exit(EX_TEMPFAIL)
            print(f"{name} was sent a magic packet")


if __name__ == "__main__":
    main(*sys.argv[1:])
