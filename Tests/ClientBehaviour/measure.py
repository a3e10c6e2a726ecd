#!/usr/bin/env python3
"""Measures what stock clients do under each kind of rule, and writes the table of docs/reference/client-behaviour.md.

usage: measure.py PROGRAMS [--document PAGE] [--client NAME] [--rule NAME]

Each client pushes five times, one push after the other, and the rule is for the third request. A client is a program in `clients`:

    PROGRAM RELAY.json BEARER TOKEN COUNT

which prints a line for each push: its number, and the status or "error" with a reason. The number is the collapse identifier of
the push, by which its requests are found among the captures.
"""

import argparse
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOKEN, PUSHES, HIT = "ab" * 32, 5, 3
# A client that prints nothing for this time hangs. It is longer than every timeout that these clients have by themselves.
PATIENCE_SECONDS = 12

# Name in the table, and what the rule does.
RULES = [
    ("`status: 503`", {"status": 503}),
    ("`status: 500, reason: InternalServerError`", {"status": 500, "reason": "InternalServerError"}),
    ("`status: 429, retryAfter: 1s`", {"status": 429, "retryAfter": "1s"}),
    ("`status: 410`", {"status": 410}),
    ("`status: 403, reason: ExpiredProviderToken`", {"status": 403, "reason": "ExpiredProviderToken"}),
    ("`delay: 2s`", {"delay": "2s"}),
    ("`delay: 1h` (no answer)", {"delay": "1h"}),
    ("`status: 503, stall: forever`", {"status": 503, "stall": "forever"}),
    ("`goaway: before`", {"goaway": "before"}),
    ("`goaway: after`", {"goaway": "after"}),
    ("`goaway: {when: before, lastStream: previous}`", {"goaway": {"when": "before", "lastStream": "previous"}}),
    ("`goaway: {when: after, lastStream: 0}`", {"goaway": {"when": "after", "lastStream": 0}}),
    ("`reset: REFUSED_STREAM`", {"reset": "REFUSED_STREAM"}),
    ("`reset: INTERNAL_ERROR`", {"reset": "INTERNAL_ERROR"}),
    ("`close: clean`", {"close": "clean"}),
    ("`close: abrupt`", {"close": "abrupt"}),
    ("`expiredCertificate: next, goaway: after`", {"expiredCertificate": "next", "goaway": "after"}),
    ("`settings: {maxConcurrentStreams: 0, for: 3s}`", {"settings": {"maxConcurrentStreams": 0, "for": "3s"}}),
    ("`settings: {maxConcurrentStreams: 0}`", {"settings": {"maxConcurrentStreams": 0}}),
    ("`settings: {headerTableSize: 0}`", {"settings": {"headerTableSize": 0}}),
    ("`settings: {initialWindowSize: 10}`", {"settings": {"initialWindowSize": 10}}),
    ("`window: {bytes: 0, for: 3s}`", {"window": {"bytes": 0, "for": "3s"}}),
    ("`window: 0`", {"window": 0}),
    ("`stopReading: 3s`", {"stopReading": "3s"}),
    ("`stopReading: forever`", {"stopReading": "forever"}),
    ("`lose: true`", {"lose": True}),
]


def version(command, pattern=r"\d+\.\d+(\.\d+)?"):
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    return re.search(pattern, said.stdout + said.stderr)[0]


class Client:
    def __init__(self, name, needs, command, version_of):
        self.name, self.needs, self.command, self.version_of = name, needs, command, version_of

    @property
    def title(self):
        return f"{self.name} {self.version_of()}"


def clients(folder):
    python = str(ROOT / ".build/venv/bin/python")
    at = HERE / "clients"

    def package(name):
        return lambda: version([python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"])

    go = folder / "push-go"
    return [
        Client("aioapns", python, [python, at / "aioapns_push.py"], package("aioapns")),
        Client("pyapns-client", python, [python, at / "pyapns_push.py"], package("pyapns-client")),
        Client("httpx", python, [python, at / "httpx_push.py"], package("httpx")),
        Client("curl --retry 2", "curl", [sys.executable, at / "curl_push.py"], lambda: version(["curl", "--version"])),
        Client("PHP curl", "php", ["php", at / "push.php"], lambda: version(["php", "--version"])),
        Client("Ruby Typhoeus", "ruby", ["ruby", at / "push.rb"], lambda: version(
            ["ruby", "-e", "require 'typhoeus'; puts Typhoeus::VERSION"])),
        Client("Node http2", "node", ["node", at / "push.mjs"], lambda: version(["node", "--version"])),
        Client("Go net/http", "go", [go], lambda: version(["go", "version"])),
        Client("Java java.net.http", "java", ["java", "-cp", folder, "Push"], lambda: version(["java", "-version"])),
    ]


def build(client, folder):
    """Compiles what is to be compiled."""
    if client.needs == "go":
        subprocess.run(["go", "build", "-o", folder / "push-go", HERE / "clients/push.go"], check=True)
    elif client.needs == "java":
        subprocess.run(["javac", "-d", folder, HERE / "clients/Push.java"], check=True)


class Relay:
    def __init__(self, programs, folder):
        self.program = str(Path(programs) / "postrider")
        command = [self.program, "dev", "--json", "--temporary", "--parent", str(os.getpid()), "--any-token",
                   "--captures-address", "127.0.0.1:0", "--provider-port", "0", "--device-port", "0", "--log-level", "error"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.file = folder / "relay.json"
        self.file.write_text(line)
        self.values = json.loads(line)
        self.bearer = subprocess.run(
            [self.program, "token", "--directory", str(Path(self.values["authorityFile"]).parent)],
            capture_output=True, text=True, check=True).stdout.strip()

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://{self.values['capturesAddress']}{path}", method=method, data=body and json.dumps(body).encode())
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def close(self):
        self.process.terminate()
        self.process.wait()


def run(client, relay):
    """Runs a client, and returns what it reported for each push; a push without a report is missing."""
    words = [*map(str, client.command), str(relay.file), relay.bearer, TOKEN, str(PUSHES)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    reports, rest = {}, b""
    while len(reports) < PUSHES and select.select([process.stdout], [], [], PATIENCE_SECONDS)[0]:
        received = os.read(process.stdout.fileno(), 65536)
        if not received:
            sys.exit(f"{client.name} ended after these reports: {reports}")
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            number, word, *_ = line.decode().split(" ", 2)
            reports[int(number)] = word
    process.kill()
    process.wait()
    process.stdout.close()
    return reports


def cell(reports, captures):
    """What a client did, in a few words."""
    def of(number):
        return [each for each in captures
                if {"name": "apns-collapse-id", "value": str(number)} in each["headers"]]

    def arrived(number):
        return sum(each["outcome"] == "captured" for each in of(number))

    requests, report = len(of(HIT)), reports.get(HIT)
    repeated = f"repeats ({requests} requests), " if requests > 1 else ""
    if report is None:
        words = "hangs"
    elif report == "200":
        words = f"{repeated}arrives" if arrived(HIT) else f"{repeated}**reports 200, lost**"
    elif report.isdigit() and report != "000":
        words = f"{repeated}reports {report}"
    else:
        words = f"{repeated}fails, lost" if not arrived(HIT) else f"{repeated}**fails, and arrives**"
    if arrived(HIT) > 1:
        words += f", **arrives {arrived(HIT)} times**"
    if report is not None and HIT + 1 not in reports:
        words += "; **the next push hangs**"
    elif report is not None and (failing := [each for each in range(HIT + 1, PUSHES + 1) if not arrived(each)]):
        words += f"; **{len(failing)} of the next {PUSHES - HIT} fail, lost**"
    return words


def settled(relay):
    """The captures, when every request has an outcome: the relay may learn a moment later that a client has gone."""
    for _ in range(50):
        captures = relay.ask("GET", "/v1/captures")["captures"]
        if all(each["outcome"] != "open" for each in captures):
            break
        time.sleep(0.1)
    return captures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--document", type=Path)
    parser.add_argument("--client")
    parser.add_argument("--rule")
    order = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pr-") as name:
        folder = Path(name)
        chosen = [each for each in clients(folder) if order.client in (None, each.name)]
        for client in [each for each in chosen if shutil.which(each.needs) is None]:
            print(f"{client.name} is left out: {client.needs} is not installed", file=sys.stderr)
            chosen.remove(client)
        for client in chosen:
            build(client, folder)
        relay = Relay(order.programs, folder)
        try:
            rows = table(relay, chosen, [rule for rule in RULES if order.rule is None or order.rule in rule[0]])
        finally:
            relay.close()
    text = "\n".join(rows)
    print(text)
    if order.document:
        page = order.document.read_text()
        begin, end = "<!-- clients: measured -->\n", "<!-- clients: end -->"
        head, rest = page.split(begin)
        order.document.write_text(f"{head}{begin}\n{text}\n\n{end}{rest.split(end)[1]}")


def table(relay, chosen, rules):
    titles = [client.title for client in chosen]
    rows = ["| the third push meets | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]
    for name, action in [("nothing", None), *rules]:
        cells = []
        for client in chosen:
            relay.ask("PUT", "/v1/rules", {"rules": [{"match": {"nth": HIT}, "do": action}] if action else []})
            relay.ask("DELETE", "/v1/captures")
            reports = run(client, relay)
            cells.append(cell(reports, settled(relay)))
            if action is None and (cells[-1] != "arrives" or set(reports.values()) != {"200"}):
                sys.exit(f"{client.name} does not push as it should: {reports}")
        print(name, cells, file=sys.stderr)
        if action:
            rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


if __name__ == "__main__":
    main()
