"""The relay beside what a user would pick instead, on this machine, in turn, each pinned to one processor.

usage: bench.py PRODUCTS [--rounds N] [--seconds N] [--document FILE [--plot FILE]] [ROW...]

PRODUCTS has the programs, built for release. A peer that is not installed is left out with a word. Each row prints the
median of its rounds, and of the ratios of ours to each peer's in the same round: compare ratios, for the figures are this
machine's, at this minute.
With a document, a table is written into it, and its ratios are drawn with --plot. A benchmark, no test: it demands
nothing, except that nothing is lost.
"""

import json
import os
import statistics
from pathlib import Path

import chart
import document
import tally
from harness import OPEN, RESERVE, TOKENS, Harness, connection_kib, main_phase, parser, phase, read, scraped, used
from machine import CLIENT, SERVER, compile_c, cpu, description, missing, run, stop, workplace
from nodes import Nodes
from peers import NCHAN, POSTGRES, Peers

US = "postrider"
FLOOR = Path(__file__).with_name("floor.c")
# How many connections are made, or held; a peer's and ours alike.
CONNECTIONS = 3000
CALLERS = 2000
FLEET = 15_000
# Devices of the second half of row `storm` that connect in a second.
PACE = 400
# The time between two pushes of row `latency`.
POLLING = 500
HELD = {"idle": FLEET, "switches": FLEET, "storm": FLEET, "handshakes": CONNECTIONS}


class Bench(Harness):
    """Each row yields what was measured, whose it is, and how much: ours first."""

    def __init__(self, products, folder, seconds):
        super().__init__(products, folder, seconds)
        self.peers = Peers(self.folder)

    def brokers(self):
        """Those that are installed, each with its protocol and a way to start it."""
        if not missing("mosquitto", "mosquitto"):
            yield "mosquitto, QoS 1", "mqtt", self.peers.mosquitto
        if not missing("nginx", "nginx-light") and not missing("nchan", "libnginx-mod-nchan", NCHAN):
            yield "nchan", "nchan", self.peers.nchan

    def accepts(self):
        """pushes accepted for a second of the server's processor time, now or never, to 1000 devices that are away"""
        what = "pushes"
        ours = main_phase(self.own("push", "--absent", "--now-or-never", "--devices", TOKENS, "--for", f"{self.seconds}s"))
        yield what, US, ours["accepted"] / used(ours)
        for name, program, package, server in (
            ("nghttpd, looks at nothing", "nghttpd", "nghttp2-server", lambda: self.peers.nghttpd(self.tokens)),
            ("nginx, return 200", "nginx", "nginx-light", self.peers.nginx),
        ):
            if missing(program, package):
                continue
            with server() as (process, port):
                theirs = main_phase(self.push_to(process, port))
                yield what, name, theirs["accepted"] / used(theirs)

    def deliveries(self):
        """deliveries to 1000 devices, acknowledged, for a second of the server's processor time"""
        what = "deliveries"
        ours = main_phase(self.own("push", "--devices", 1000, "--in-flight", 1000, "--for", f"{self.seconds}s"))
        yield what, US, ours["delivered"] / used(ours)
        for name, protocol, broker in self.brokers():
            with broker() as server:
                yield what, name, self.drive(protocol, server, 1000, "in-flight", 1000)["delivered/cpu-s"]
        yield what, "the kernel alone, without TLS", self.floor(1000)

    def floor(self, devices):
        """What no server of this kind can do better."""
        program = self.folder / "floor"
        compile_c(FLOOR, program, "-O2")
        return float(run(program, devices, self.seconds, SERVER, CLIENT))

    def latency(self):
        """microseconds from a push to the device's having it, 1000 devices, 2000 pushes a second (less is better)"""
        # As it comes, and as an operator sets it who has a processor for each shard.
        kinds = [("", 0), (f", busy polling for {POLLING} µs", POLLING)]
        for kind, polling in kinds:
            ours = main_phase(self.own("push", "--devices", 1000, "--rate", 2000, "--for", f"{self.seconds}s",
                                       "--relay-setting", f"busy-polling-microseconds={polling}"))
            for what in "p50", "p99":
                yield what + kind, US, ours["delivery"][what]
        for name, protocol, broker in self.brokers():
            with broker() as server:
                theirs = self.drive(protocol, server, 1000, "rate", 2000)
                for kind, _ in kinds:
                    for what in "p50", "p99":
                        yield what + kind, name, theirs[what]

    def durable(self):
        """pushes a second that are on the disk when they are accepted"""
        for under_way in 64, 1000:
            what = f"{under_way} under way"
            ours = main_phase(
                self.own("push", "--absent", "--devices", 1000, "--in-flight", under_way, "--for", f"{self.seconds}s"))
            yield what, US, ours["accepted"] / ours["seconds"]
            if missing("redis-server", "redis-server"):
                continue
            with self.peers.redis() as (_, port):
                client = ["taskset", "--cpu-list", CLIENT, "redis-benchmark", "--tls", "--cacert",
                          self.folder / "authority.pem", "--sni", "localhost", "-h", "127.0.0.1", "-p", port,
                          "-c", under_way, "-d", 200, "-t", "lpush", "--csv", "-n"]
                # Ours has pushed for a second before it is measured.
                run(*client, 40_000)
                output = run(*client, 40_000 * self.seconds)
                yield what, "Redis, log always synced", float(output.splitlines()[-1].split(",")[1].strip('"'))

    def cluster(self):
        """a store in PostgreSQL, and pushes that enter at another node than that of their devices"""
        if missing("postgres", "postgresql-15", POSTGRES):
            return
        what = "pushes a second that are stored when they are accepted, 1000 under way"
        pushing = ["push", "--absent", "--devices", 1000, "--in-flight", 1000, "--for", f"{self.seconds}s"]
        with self.peers.postgres() as database:
            ours = main_phase(self.own(*pushing, "--relay-setting", f"store={database}"))
            yield what, US, ours["accepted"] / ours["seconds"]
        files = main_phase(self.own(*pushing))
        yield what, "the same relay, with files", files["accepted"] / files["seconds"]
        with self.peers.postgres() as database, Nodes(self.program, database, self.folder / "nodes", "ab") as nodes:
            home, other = nodes.start("a"), nodes.start("b")
            nodes.settle()
            for kind, words in ("now or never", ["--now-or-never"]), ("stored", []):
                what = f"pushes that go over a link, {kind}, for a second of processor time of both nodes"
                yield what, US, self.through(other, home, *words)
                yield what, "without a link", self.through(home, home, *words)

    def through(self, entry, home, *words):
        """Returns the pushes that enter at one node, for devices of another that are away, for a second of processor time of both."""
        nodes = {entry.name: entry, home.name: home}.values()
        before = sum(node.cpu for node in nodes)
        # So few devices that their enrolment is a small part of all.
        result = self.load(
            "push", "--absent", "--devices", 100, "--in-flight", 1000, "--for", f"{self.seconds}s", *words,
            "--relay", entry.provider, "--device-relay", home.device, "--control", home.control, "--ca", home.authority)
        return sum(phase["accepted"] for phase in result["phases"]) / (sum(node.cpu for node in nodes) - before)

    def idle(self):
        """KiB of the server's memory for each of 15,000 connected devices (less is better)"""
        what = "KiB"
        yield what, US, connection_kib(main_phase(self.own("idle", "--devices", FLEET, "--for", "8s")))
        for name, protocol, broker in self.brokers():
            with broker() as server:
                yield what, name, self.drive(protocol, server, FLEET, "idle")["KiB/connection"]

    def switches(self):
        """what protocol code of our own buys: the relay, and the relay with a part of it left to the library"""
        accepting = ["push", "--absent", "--now-or-never", "--devices", TOKENS, "--for", f"{self.seconds}s"]
        delivering = ["push", "--devices", 1000, "--in-flight", 1000, "--for", f"{self.seconds}s"]
        idling = ["idle", "--devices", FLEET, "--for", "8s"]
        for what, words, measure, setting in (
            ("pushes accepted for a second of processor time", accepting,
             lambda phase: phase["accepted"] / used(phase), "request-headers=nghttp2"),
            ("deliveries for a second of processor time", delivering,
             lambda phase: phase["delivered"] / used(phase), "device-links=nghttp2"),
            ("KiB for an idle device (less is better)", idling, connection_kib, "device-links=nghttp2"),
        ):
            yield what, US, measure(main_phase(self.own(*words)))
            yield what, setting, measure(main_phase(self.own(*words, "--relay-setting", setting)))

    def governed(self):
        """what metrics that are read 50 times a second, and quotas, take of a push: the relay without them, and with them"""
        what = "pushes accepted for a second of processor time"

        def accepted(*settings):
            ours = main_phase(self.own(
                "push", "--absent", "--now-or-never", "--devices", TOKENS, "--for", f"{self.seconds}s",
                *(word for setting in settings for word in ("--relay-setting", setting))))
            return ours["accepted"] / used(ours)

        yield what, US, accepted("metrics-address=off")
        # What one reading a second takes is less than the noise, so they are read 50 times as often.
        with scraped(times=50) as address:
            yield what, "with metrics, read 50 times a second", accepted(f"metrics-address={address}")
        # As high as a limit can be, so that none refuses a push.
        limits = "pushes-per-second=1000000 pending=1000000"
        yield what, "with quotas for its team and its app", accepted(
            "metrics-address=off", f"quotas=team=* {limits},topic=* {limits}")

    def handshakes(self):
        """connections that are made, for a second of the server's processor time"""
        # Ours come again after they were cut, say who they are and are let in; a peer is asked for a page, or nothing.
        what = f"{CONNECTIONS} devices that come back"
        _, ours = self.returning(CONNECTIONS)
        yield what, US, ours["connections"] / used(ours)
        yield from self.calls(what, CONNECTIONS)
        for name, protocol, broker in self.brokers():
            with broker() as server:
                yield what, name, self.drive(protocol, server, CONNECTIONS, "idle")["connections/cpu-s"]
        # The device port answers a request that is not its own as well, but does not wait long for its own.
        what = f"{CALLERS} clients that are answered once"
        relay, told = self.relay(self.folder, *OPEN, pinned=SERVER)
        server = relay.pid, told["devicePort"]
        yield what, US, self.drive("https", server, CALLERS, "idle")["connections/cpu-s"]
        stop(relay)
        yield from self.calls(what, CALLERS)

    def calls(self, what, callers):
        """nginx, called by so many who ask for a page once"""
        if not missing("nginx", "nginx-light"):
            with self.peers.nginx() as server:
                yield what, "nginx", self.drive("https", server, callers, "idle")["connections/cpu-s"]

    def counts(self):
        """allocations of memory for a push, one at a time and 64 under way (less is better; bounds.json holds the first)"""
        for under_way in 1, 64:
            figures = tally.counts(self.program, self.folder / f"tally-{under_way}", under_way)
            if under_way == 1:
                for sentence in tally.excesses(figures, json.loads(tally.BOUNDS.read_text())["release"]):
                    print(f"  {sentence}")
            for work, kinds in figures.items():
                yield f"{work}, {under_way} under way", US, kinds["allocations"]

    def storm(self):
        """15,000 devices lose their links at once and come back, under 1000 pushes a second (less is better)"""
        # As fast as the fleet can, which takes all of its processor; and so that it, and the machine, have time to spare.
        for fleet, pace in ("", []), (f", {PACE} connecting a second", ["--connect-rate", PACE]):
            result = self.own("storm", "--devices", FLEET, "--rate", 1000, *pace)
            before, during = phase(result, "before"), phase(result, "storm")
            for when, name in (before, "before"), (during, "meanwhile"):
                yield f"p99 of a 200 {name}, µs{fleet}", US, when["acceptance"]["p99"]
                # A machine's own work every few seconds shows in few of the seconds.
                yield f"median of the p99 of each second {name}, µs{fleet}", US, statistics.median(
                    second["acceptanceP99"] for second in result["timeline"]
                    if second["phase"] == when["name"] and "acceptanceP99" in second)
            yield f"all back after, s{fleet}", US, during["seconds"]
            if "stolenSeconds" in during:
                yield f"time that the machine's host withheld (steal), %{fleet}", US, (
                    100 * during["stolenSeconds"] / during["seconds"])

    def start(self):
        """seconds from the program's start to its listening, 1,000,000 notifications stored for 100,000 devices"""
        with self.stored(100_000, 1_000_000) as (relay, _, seconds):
            yield "seconds", US, seconds
            yield "seconds of processor time", US, cpu(relay.pid)


def ratio(ours, theirs):
    """Of rounds: a machine that becomes faster or slower meanwhile does so for both."""
    return statistics.median(own / other for own, other in zip(ours, theirs, strict=True))


def describe(row, title, figures):
    """Lines of the document's table: what the row measures, then each figure with ours, and each peer with the ratio."""
    lines = [] if len(figures) == 1 else [[f"`{row}`", title, "", "", ""]]
    for what, whose in figures.items():
        label = [f"`{row}`", title] if len(figures) == 1 else ["", what]
        peers = [[f"{who}: {document.figure(statistics.median(rounds))}", f"{ratio(whose[US], rounds):.2f}"]
                 for who, rounds in whose.items() if who != US] or [["", ""]]
        lines.append([*label, document.figure(statistics.median(whose[US])), *peers[0]])
        lines += [["", "", "", *peer] for peer in peers[1:]]
    return lines


def show(figures):
    """The same for whoever waits."""
    for what, whose in figures.items():
        for who, rounds in whose.items():
            label = who if len(figures) == 1 else f"{who}, {what}"
            compared = "" if who == US else f"   ours is {ratio(whose[US], rounds):.2f} of it"
            print(f"  {label:40} {statistics.median(rounds):10,.1f}   ({min(rounds):,.1f} to {max(rounds):,.1f}){compared}",
                  flush=True)


def main():
    rows = ["accepts", "deliveries", "latency", "durable", "cluster", "idle", "switches", "governed", "handshakes", "storm", "start", "counts"]
    options = parser(rounds=5, seconds=4)
    options.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(rows))
    options.add_argument("--plot")
    arguments = read(options, "bench")
    if unknown := [row for row in arguments.rows if row not in rows]:
        options.error(f"there is no row '{unknown[0]}': {', '.join(rows)}")
    if os.cpu_count() < 2:
        options.error("two processors are needed: one for the server, one for its clients")
    lines = []
    with workplace() as folder:
        bench = Bench(arguments.products, folder, arguments.seconds)
        for row in arguments.rows or rows:
            if arguments.descriptors < HELD.get(row, 0) + RESERVE:
                print(f"({row} is left out: it makes {HELD[row]:,} connections, and a process may have "
                      f"{arguments.descriptors:,} files open here: raise 'ulimit -Hn')", flush=True)
                continue
            measure = getattr(bench, row)
            print(f"{row}: {measure.__doc__}", flush=True)
            figures = {}
            for _ in range(arguments.rounds):
                for what, who, value in measure():
                    figures.setdefault(what, {}).setdefault(who, []).append(value)
            show(figures)
            lines += describe(row, measure.__doc__, figures)
    if arguments.document:
        head = ["row", "what is measured", "postrider", "peer", "ratio"]
        note = (f"On {description()}; medians of {arguments.rounds} rounds of {arguments.seconds} seconds, those of the "
                "ratios, too:")
        document.put(arguments.document, "bench", f"\n{note}\n\n{document.table(head, lines)}\n")
        if arguments.plot:
            chart.write(arguments.document, arguments.plot)


if __name__ == "__main__":
    main()
