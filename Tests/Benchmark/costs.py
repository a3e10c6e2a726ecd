"""What one device, one push and one provider cost the relay, and what follows from that for a larger machine.

usage: costs.py PRODUCTS [--rounds N] [--seconds N] [--document FILE] [--derived FILE]

PRODUCTS has the programs, built for release. The relay has one shard on one processor, its clients have the other; each
figure is the median of its rounds. What is derived is calculated here, from the figures of the same run.
"""

import json
import shutil
import socket
import ssl
import statistics
import sys
import time
from pathlib import Path

import document
import tally
from harness import OPEN, Harness, disk, main_phase, parser, phase, read, used
from machine import CLIENT, SERVER, description, pss, run, start, stop, workplace

MILLION = 1_000_000
DEVICES, PROVIDERS, AWAY = 5000, 1000, 100_000
WORKS = tally.WORKS
THREADS = ["shard-0", "ledger", "trace"]

# The machine that is spoken of. A quarter of its memory is left to the system and to what comes in bursts; a core each
# to the ledger and the trace.
CORES, MEMORY_GIB, SHARDS = 16, 64, 14
KEPT = 0.75
# `fs.nr_open` of Linux: descriptors that a process may be allowed.
DESCRIPTORS = 1_048_576
# Of Sources/PostriderNotifications/Limits.swift.
KEEPALIVE_SECONDS, LETTERS = 45, 65_536
# A TLS 1.3 record besides what is in it: its head, its type and its tag.
RECORD_BYTES = 22


def busy(process):
    """Seconds for which each thread of a process has run, by its name, to the nanosecond."""
    seconds = {}
    for folder in Path(f"/proc/{process}/task").iterdir():
        name = (folder / "comm").read_text().strip()
        seconds[name] = seconds.get(name, 0) + int((folder / "schedstat").read_text().split()[0]) / 1e9
    return seconds


def slab():
    """KiB that the kernel has for its own objects."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Slab:"))


def handshake_bytes(port, authority):
    """Bytes of TLS to a server and from it, before anything is said."""
    context = ssl.create_default_context(cafile=authority)
    context.set_alpn_protocols(["h2"])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    sent = received = 0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        while True:
            try:
                client.do_handshake()
                return sent + outgoing.pending, received
            except ssl.SSLWantReadError:
                sent += outgoing.pending
                connection.sendall(outgoing.read())
                bytes = connection.recv(65_536)
                received += len(bytes)
                incoming.write(bytes)


class Costs(Harness):
    def devices(self):
        """Devices that are there and say nothing but their keepalive; the time of one of it."""
        folder = self.folder / "devices"
        relay, values = self.relay(folder, *OPEN, pinned=SERVER)
        sent, received = handshake_bytes(values["devicePort"], values["authorityFile"])
        before = {"pss": pss(relay.pid), "slab": slab()}
        with self.holding(relay, folder, DEVICES):
            idle = sum(busy(relay.pid).values())
            time.sleep(KEEPALIVE_SECONDS)
            idle = sum(busy(relay.pid).values()) - idle
            found = {"device KiB": (pss(relay.pid) - before["pss"]) / DEVICES,
                     # Both ends are on this machine.
                     "kernel KiB": (slab() - before["slab"]) / DEVICES / 2,
                     "keepalive µs": idle / DEVICES * MILLION,
                     "TLS sent": sent, "TLS received": received}
        stop(relay)
        shutil.rmtree(folder)
        return found

    def connections(self):
        """Devices that enrol, and come again; providers."""
        enrol, again = self.returning(DEVICES)
        push = ["push", "--absent", "--now-or-never", "--devices", 10, "--for", f"{self.seconds}s", "--in-flight", 1000]
        few, many = self.own(*push, "--providers", 1), self.own(*push, "--providers", PROVIDERS)
        grown = main_phase(many)["server"]["pssKiB"] - main_phase(few)["server"]["pssKiB"]
        taken = used(phase(many, "connect")) - used(phase(few, "connect"))
        return {"enrol µs": used(enrol) / enrol["connections"] * MILLION,
                "return µs": used(again) / again["connections"] * MILLION,
                "return sent": again["bytesSent"] / again["connections"],
                "return received": again["bytesReceived"] / again["connections"],
                "provider KiB": grown / (PROVIDERS - 1), "provider µs": taken / (PROVIDERS - 1) * MILLION}

    def pushes(self):
        """µs of each thread, bytes of HTTP/2 and syncs for a push."""
        found = {}
        for work, options in WORKS.items():
            folder = self.folder / work
            relay, values = self.relay(folder, *OPEN, pinned=SERVER)
            push = ["push", "--directory", folder, "--keep-devices", "--devices", 1000, "--warm-up", "0s",
                    "--in-flight", 64, *options]
            few = main_phase(self.load(*push, "--count", 5000))
            found[f"{work} sent"] = few["bytesSent"] / few["accepted"]
            found[f"{work} received"] = few["bytesReceived"] / few["accepted"]
            # Of a run that goes on, so that what comes before and after it is not counted.
            fleet = start(self.program, "load", *push, "--for", "1h", "--processors", CLIENT)
            before = self.accepted(values)
            while self.accepted(values) < before + 5000:
                if fleet.poll() is not None:
                    sys.exit(f"the fleet that pushes ended with {fleet.returncode} before it was measured")
                time.sleep(0.1)
            first, begin = self.accepted(values), busy(relay.pid)
            time.sleep(self.seconds)
            last, end = self.accepted(values), busy(relay.pid)
            stop(fleet)
            stop(relay)
            shutil.rmtree(folder)
            for thread in THREADS:
                found[f"{work} {thread} µs"] = (end[thread] - begin[thread]) / (last - first) * MILLION
        for under_way in 1, 64, 1000:
            figures = tally.counts(self.program, self.folder / f"tally-{under_way}", under_way)
            for work in WORKS:
                found[f"{work} syncs at {under_way}"] = max(0, figures[work]["syncs"])
                found[f"{work} allocations at {under_way}"] = figures[work]["allocations"]
        return found

    def accepted(self, values):
        """Pushes that a relay has accepted so far, as it says itself."""
        status = run(self.program, "status", "--json", "--control", values["controlAddress"])
        return json.loads(status)["counters"]["accepted"]

    def waiting(self):
        """A relay that has just started, with devices that are away and what waits for them."""
        sights = []
        for devices, notifications in (1, 0), (AWAY, 0), (AWAY, 5 * AWAY):
            with self.stored(devices, notifications) as (relay, folder, _):
                sights.append((pss(relay.pid), disk(folder) / 1024))
        (none, no_disk), (some, some_disk), (many, much_disk) = sights
        return {"away bytes": (some - none) / AWAY * 1024, "away disk": (some_disk - no_disk) / AWAY * 1024,
                "waiting bytes": (many - some) / (5 * AWAY) * 1024,
                "waiting disk": (much_disk - some_disk) / (5 * AWAY) * 1024}


def push_rows(found):
    total = {work: sum(found[f"{work} {thread} µs"] for thread in THREADS) for work in WORKS}
    names = {"accepted": "accepted, now or never, the device away", "stored": "stored, the device away",
             "handed over": "delivered and acknowledged, now or never",
             "delivered": "delivered and acknowledged, kept until then"}
    for work, name in names.items():
        yield [name, *(f"{found[f'{work} {thread} µs']:.1f}" for thread in THREADS),
               f"{total[work]:.1f}", f"{found[f'{work} sent']:.0f}", f"{found[f'{work} received']:.0f}",
               " / ".join(f"{found[f'{work} syncs at {n}']:.3f}" for n in (1, 64, 1000)),
               " / ".join(f"{found[f'{work} allocations at {n}']:.0f}" for n in (1, 64, 1000))]


def measured(found):
    one = [
        ["connected device: memory of the relay", f"{found['device KiB']:.1f} KiB", "proportional set size, 5000 held"],
        ["connected device: memory of the kernel", f"{found['kernel KiB']:.1f} KiB", "slab, half of both ends"],
        ["connected device: the time of one keepalive", f"{found['keepalive µs']:.0f} µs", ""],
        ["device that enrols: connection, TLS, enrolment, registration", f"{found['enrol µs']:.0f} µs", ""],
        ["device that returns: connection, TLS, its secret", f"{found['return µs']:.0f} µs",
         f"{found['return sent']:.0f} bytes in, {found['return received']:.0f} out, of HTTP/2 after the handshake"],
        ["device that is away: memory, disk", f"{found['away bytes']:.0f} bytes, {found['away disk']:.0f} bytes",
         "one app"],
        ["notification that waits: memory, disk",
         f"{found['waiting bytes']:.0f} bytes, {found['waiting disk']:.0f} bytes", "200 bytes of payload"],
        ["provider's connection: memory of the relay", f"{found['provider KiB']:.1f} KiB", "1000 that push"],
        ["provider's connection: connection, TLS", f"{found['provider µs']:.0f} µs", ""],
        ["any connection: handshake of TLS 1.3", f"{found['TLS sent']:.0f} bytes in, {found['TLS received']:.0f} out",
         "a certificate of P-256, no chain"],
    ]
    head = ["a push (200 bytes of payload, 64 under way)", "shard, µs", "ledger, µs", "trace, µs", "together, µs",
            "bytes to the relay", "bytes from it", "syncs, with 1 / 64 / 1000 under way",
            "allocations, likewise"]
    return "\n\n".join([document.table(["one", "costs", ""], one), document.table(head, push_rows(found)),
                        "Bytes are of HTTP/2, provider's and device's side together; each TLS record adds "
                        f"{RECORD_BYTES}, each TCP segment 52."])


def derived(found):
    device = found["device KiB"] + found["kernel KiB"]
    by_memory = MEMORY_GIB * KEPT * 2**20 / device
    devices = min(by_memory, DESCRIPTORS)
    shard = {work: found[f"{work} shard-0 µs"] for work in WORKS}
    ledger = found["stored ledger µs"]
    trace = max(found[f"{work} trace µs"] for work in WORKS)
    rows = [
        ["devices that memory holds", f"{MEMORY_GIB} GiB × {KEPT} ÷ ({found['device KiB']:.1f} + "
         f"{found['kernel KiB']:.1f} KiB)", by_memory],
        ["devices that one process may have open", "`fs.nr_open`", DESCRIPTORS],
        ["processors that their keepalives take", f"{document.figure(devices)} × {found['keepalive µs']:.0f} µs ÷ "
         f"{KEEPALIVE_SECONDS} s", devices * found["keepalive µs"] / MILLION / KEEPALIVE_SECONDS],
        ["seconds until all of them are back, after a storm", f"{document.figure(devices)} × "
         f"{found['return µs']:.0f} µs ÷ {SHARDS} shards", devices * found["return µs"] / MILLION / SHARDS],
        ["pushes accepted a second, now or never: what the shards take", f"{SHARDS} shards ÷ {shard['accepted']:.1f} µs",
         SHARDS * MILLION / shard["accepted"]],
        ["pushes delivered and acknowledged a second: what the shards take", f"{SHARDS} shards ÷ {shard['delivered']:.1f} µs",
         SHARDS * MILLION / shard["delivered"]],
        ["pushes stored a second: what the ledger's thread takes", f"1 ÷ {ledger:.1f} µs", MILLION / ledger],
        ["pushes traced a second: what the trace's thread takes", f"1 ÷ {trace:.1f} µs", MILLION / trace],
        ["deliveries a second to the devices of one shard", f"1 ÷ {shard['delivered']:.1f} µs",
         MILLION / shard["delivered"]],
        ["milliseconds of stored pushes that the ledger's mailbox holds", f"{LETTERS:,} × {ledger:.1f} µs",
         LETTERS * ledger / 1000],
        ["notifications that wait, in a quarter of the memory", f"{MEMORY_GIB} GiB ÷ 4 ÷ "
         f"{found['waiting bytes']:.0f} bytes", MEMORY_GIB / 4 * 2**30 / found["waiting bytes"]],
    ]
    return document.table(["derived", "from", "is about"],
                          [[what, how, document.figure(value)] for what, how, value in rows])


def main():
    options = parser()
    options.add_argument("--derived")
    arguments = read(options, "costs")
    if arguments.derived is not None:
        document.demand(arguments.derived, "derived")
    found = {}
    with workplace() as folder:
        costs = Costs(arguments.products, folder, arguments.seconds)
        for _ in range(arguments.rounds):
            for measure in costs.devices, costs.connections, costs.pushes, costs.waiting:
                for name, value in measure().items():
                    found.setdefault(name, []).append(value)
                    print(f"  {name}: {value:,.2f}", flush=True)
    medians = {name: statistics.median(values) for name, values in found.items()}
    note = f"On {description()}; the median of {arguments.rounds} rounds, one shard on one processor:"
    document.put(arguments.document, "costs", f"\n{note}\n\n{measured(medians)}\n")
    document.put(arguments.derived, "derived", f"\n{derived(medians)}\n")


if __name__ == "__main__":
    main()
