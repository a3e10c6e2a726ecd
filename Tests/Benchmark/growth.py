"""What a push costs the relay as there is more of everything: connected devices, and notifications that wait.

usage: growth.py PRODUCTS [--rounds N] [--seconds N] [--document FILE --plot FILE]

PRODUCTS has the programs, built for release. The relay has one shard on one processor, its clients have the other; each
figure is the median of its rounds, and a round goes through all sizes.
"""

import shutil
import statistics
from pathlib import Path

import document
import plot
from harness import OPEN, RESERVE, Harness, connection_kib, disk, main_phase, parser, phase, read, used
from machine import SERVER, description, pss, stop, workplace

STORED = [1000, 10_000, 100_000, 1_000_000]
# Notifications that wait for each device.
EACH = 10
MILLION = 1_000_000


# Devices that are pushed to while the others are quiet.
ACTIVE = 100


def cost(phase, what):
    """µs of the server's processor for each of these, and those of it that are spent in the kernel."""
    return {"push": used(phase) / phase[what] * MILLION,
            "kernel": phase["server"]["systemSeconds"] / phase[what] * MILLION}


class Growth(Harness):
    def connected(self, devices):
        """µs of the server's processor for a push that is delivered and acknowledged, and KiB for a device."""
        result = self.own("push", "--devices", devices, "--in-flight", 64, "--for", f"{self.seconds}s")
        pushes = main_phase(result)
        return {**cost(pushes, "delivered"),
                "connection": used(phase(result, "connect")) / devices * MILLION,
                "memory": connection_kib(pushes)}

    def quiet(self, devices):
        """The same for a push to one of 100 devices, while the others are connected and say nothing: what is due to
        there being many, and not to there being much to touch."""
        folder = self.folder / "quiet"
        relay, _ = self.relay(folder, *OPEN, pinned=SERVER)
        with self.holding(relay, folder, devices - ACTIVE):
            pushes = main_phase(self.load("push", "--directory", folder, "--devices", ACTIVE, "--in-flight", 64, "--for",
                                          f"{self.seconds}s"))
        stop(relay)
        shutil.rmtree(folder)
        return cost(pushes, "delivered")

    def waiting(self, count):
        """The start of a relay for whose devices so many wait, and µs of its processor for another one."""
        with self.stored(count // EACH, count) as (relay, folder, seconds):
            found = {"start": seconds, "memory": pss(relay.pid) / 1024, "disk": disk(folder) / 2**20}
            pushes = main_phase(self.load("push", "--absent", "--directory", folder, "--devices", 1000,
                                          "--in-flight", 64, "--for", f"{self.seconds}s"))
        return {**cost(pushes, "accepted"), **found}


def medians(rounds, sizes, measure):
    found = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            found[size].append(measure(size))
            print(f"  {size:>9,}: " + ", ".join(f"{name} {value:,.2f}" for name, value in found[size][-1].items()),
                  flush=True)
    return {size: {name: statistics.median(each[name] for each in list) for name in list[0]}
            for size, list in found.items()}


def main():
    options = parser()
    options.add_argument("--plot")
    arguments = read(options, "growth")
    most = arguments.descriptors - RESERVE
    sizes = sorted({min(size, most) for size in (100, 1000, 10_000, 19_000)})
    with workplace() as folder:
        growth = Growth(arguments.products, folder, arguments.seconds)
        print("connected devices:", flush=True)
        connected = medians(arguments.rounds, sizes, growth.connected)
        print(f"connected devices, {ACTIVE} of which are pushed to:", flush=True)
        quiet = medians(arguments.rounds, sizes[-1:], growth.quiet)
        print("notifications that wait:", flush=True)
        stored = medians(arguments.rounds, STORED, growth.waiting)
    tables = [
        f"On {description()}; the median of {arguments.rounds} rounds of {arguments.seconds} seconds, one shard on one "
        "processor, 64 pushes under way:",
        document.table(
            ["connected devices", "a push, delivered and acknowledged", "in the kernel",
             "a connection made, enrolment included", "memory for a device"],
            [[f"{size:,}", f"{found['push']:.1f} µs", f"{found['kernel']:.1f} µs", f"{found['connection']:.0f} µs",
              f"{found['memory']:.1f} KiB"] for size, found in connected.items()]
            + [[f"{size:,}, pushes to {ACTIVE} of them", f"{found['push']:.1f} µs", f"{found['kernel']:.1f} µs", "", ""]
               for size, found in quiet.items()]),
        document.table(
            ["notifications that wait", "for devices", "another one accepted and stored", "in the kernel",
             "start until it listens", "memory of the relay then", "its files"],
            [[f"{size:,}", f"{size // EACH:,}", f"{found['push']:.1f} µs", f"{found['kernel']:.1f} µs",
              f"{found['start']:.2f} s", f"{found['memory']:.0f} MiB", f"{found['disk']:.0f} MiB"]
             for size, found in stored.items()]),
    ]
    document.put(arguments.document, "growth", "\n" + "\n\n".join(tables) + "\n")
    if arguments.plot:
        plot.write(arguments.plot, [
            ("Processor time of a push that is delivered", "connected devices", " µs",
             {"delivered": [(size, found["push"]) for size, found in connected.items()]}),
            ("Processor time of a push that is stored", "notifications that wait", " µs",
             {"stored": [(size, found["push"]) for size, found in stored.items()]}),
            ("Start until it listens", "notifications that wait", " s",
             {"start": [(size, found["start"]) for size, found in stored.items()]}),
        ])
        print(f"{Path(arguments.plot)} is written", flush=True)


if __name__ == "__main__":
    main()
