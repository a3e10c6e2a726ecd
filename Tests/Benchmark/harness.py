"""Loads the relay with `postrider load`, and brokers with other protocols with `peer-load`."""

import argparse
import contextlib
import json
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import document
from machine import CLIENT, SERVER, allow_descriptors, cpu, finished, last_line, pss, run, start, stop

TOKENS = 1000
# The descriptors that a server needs in addition to connections, with a reserve.
RESERVE = 1000
# A relay of one shard, without the limits for many devices at one address and for many pushes to one device.
OPEN = ["--shards", 1, "--source-rate", 1_000_000, "--source-connections", 1_000_000, "--pushes-per-second", 0]


class Harness:
    def __init__(self, products, folder, seconds):
        """`products` has the programs, built for release; all files are written to `folder`."""
        self.products = Path(products).resolve()
        self.program = self.products / "postrider"
        self.folder = Path(folder)
        self.seconds = seconds
        # A relay that is started and ended leaves its certificates.
        relay, _ = self.relay(self.folder)
        stop(relay)
        self.tokens = [secrets.token_hex(32) for _ in range(TOKENS)]
        (self.folder / "tokens").write_text("\n".join(self.tokens))

    def relay(self, folder, *options, **settings):
        """Yields a listening relay of `postrider dev`, and its description."""
        log = self.folder / "relay.log"
        with log.open("w") as file:
            relay = start(self.program, "dev", "--capture", "false", "--directory", folder, "--json", "--provider-port", 0,
                          "--development-port", 0, "--device-port", 0, *options, stdout=subprocess.PIPE, stderr=file,
                          **settings)
        line = relay.stdout.readline()
        if not line:
            sys.exit(f"the relay in {folder} did not start: {last_line(log)}")
        return relay, json.loads(line)

    @contextlib.contextmanager
    def stored(self, devices, notifications):
        """Yields a relay that has just started with stored notifications for this many devices, its folder, and the seconds
        that the start took."""
        folder = self.folder / f"stored-{devices}-{notifications}"
        relay, _ = self.relay(folder)
        stop(relay)
        run(self.products / "fill-store", folder / "data", "com.example.app", devices, notifications)
        begin = time.monotonic()
        relay, _ = self.relay(folder, *OPEN, pinned=SERVER)
        yield relay, folder, time.monotonic() - begin
        stop(relay)
        shutil.rmtree(folder)

    def load(self, *words):
        """Runs `postrider load` and returns its result."""
        words = [self.program, "load", *words, "--json", "--processors", CLIENT]
        code, output, errors = finished(*words)
        if code == 0:
            return json.loads(output)
        command, reason = " ".join(map(str, words)), errors.strip()
        if output and not reason:
            verdict = json.loads(output)["verdict"]
            reason = ", ".join(f"{word} {verdict[word]}" for word in ("lost", "doubled", "strayed", "altered"))
        sys.exit(f"'{command}' ended with {code}: {reason}")

    def own(self, *words):
        """Loads a relay of one shard on the server's processor."""
        return self.load(*words, "--relay-setting", "shards=1", "--relay-processors", SERVER)

    def returning(self, devices):
        """Returns the phases in which this many devices enrol, and in which they reconnect after their links were cut."""
        plan = self.folder / "return.yaml"
        plan.write_text(f"""
name: return
fleet: {{devices: {devices}, providers: 1, handshakes: 64}}
steps:
  - {{do: connect, phase: enrol}}
  - {{do: cut, phase: cut}}
  - {{do: hold, for: 2s}}
  - {{do: connect, phase: return}}
""")
        result = self.own(plan)
        return phase(result, "enrol"), phase(result, "return")

    @contextlib.contextmanager
    def holding(self, relay, folder, devices):
        """Keeps this many idle devices connected to a relay."""
        log = self.folder / "fleet.log"
        with log.open("w") as file:
            fleet = start(self.program, "load", "idle", "--directory", folder, "--keep-devices", "--devices", devices,
                          "--for", "1h", "--processors", CLIENT, stderr=file)
        descriptors = Path(f"/proc/{relay.pid}/fd")
        while len(list(descriptors.iterdir())) < devices:
            if fleet.poll() is not None:
                sys.exit(f"the fleet of {devices} devices ended with {fleet.returncode}: {last_line(log)}")
            time.sleep(0.2)
        # The last devices have not registered yet.
        time.sleep(3)
        yield
        stop(fleet)

    def push_to(self, process, port):
        """Pushes to a server with the provider API, and returns the result."""
        return self.load(
            "push", "--provider-only", "--target", f"127.0.0.1:{port}", "--server-name", "localhost",
            "--ca", self.folder / "authority.pem", "--tokens", self.folder / "tokens", "--process", process,
            "--for", f"{self.seconds}s")

    def drive(self, broker, server, subscribers, pace, number=1):
        """Connects subscribers to a broker and publishes to them. Returns the measurements, with the server's use of resources."""
        process, port = server
        before = {"cpu": cpu(process), "pss": pss(process)}
        client = start(self.products / "peer-load", broker, f"127.0.0.1:{port}", self.folder / "authority.pem",
                       subscribers, pace, number, self.seconds, pinned=CLIENT, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        seen = {}
        for line in client.stdout:
            event = json.loads(line)
            seen[event["stage"]] = {**event, "cpu": cpu(process), "pss": pss(process)}
        if client.wait() != 0:
            sys.exit(f"{broker}: {client.stderr.read().strip()}")
        measured, connected = seen["measured"], seen["connected"]
        used = measured["cpu"] - seen["measuring"]["cpu"]
        return {
            **measured,
            "delivered/cpu-s": measured["delivered"] / used if used else 0,
            "KiB/connection": (measured["pss"] - before["pss"]) / subscribers,
            "connections/cpu-s": subscribers / (connected["cpu"] - before["cpu"]),
        }


@contextlib.contextmanager
def scraped(times=1):
    """An address for a relay's metrics, which are read there so many times a second; Prometheus does it once at most."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    ended, read = threading.Event(), []

    def scrape():
        while not ended.wait(1 / times):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
                read.append(len(answer.read()))

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield address
    finally:
        ended.set()
        thread.join()
    if not read:
        sys.exit(f"nothing has served metrics at {address}")


def number(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 on, not '{text}'")
    return int(text)


def parser(rounds=3, seconds=5):
    """Returns a parser for the arguments of all measurements."""
    parser = argparse.ArgumentParser()
    parser.add_argument("products")
    parser.add_argument("--rounds", type=number, default=rounds)
    parser.add_argument("--seconds", type=number, default=seconds)
    parser.add_argument("--document")
    return parser


def read(options, *names):
    """Returns the arguments, after a check that the programs exist and that the document has a place for each table. Then this
    process may open as many files as the system allows: `arguments.descriptors`."""
    arguments = options.parse_intermixed_args()
    arguments.descriptors = allow_descriptors()
    for program in "postrider", "peer-load", "fill-store":
        if not (Path(arguments.products) / program).is_file():
            options.error(f"{arguments.products} has no {program}: build it with `make build CONFIGURATION=release`")
    if arguments.document is not None:
        document.demand(arguments.document, *names)
    return arguments


def disk(folder):
    """Returns the bytes of a relay's files."""
    return sum(file.stat().st_size for file in (folder / "data").iterdir())


def main_phase(result):
    return phase(result, result["mainPhase"])


def phase(result, name):
    return next(phase for phase in result["phases"] if phase["name"] == name)


def used(phase):
    """Returns the seconds of the server's processor time in a phase."""
    return phase["server"]["userSeconds"] + phase["server"]["systemSeconds"]


def connection_kib(phase):
    return (phase["server"]["pssKiB"] - phase["server"]["idlePSSKiB"]) / phase["server"]["connections"]
