"""Counts a relay's allocations of memory, system calls for reading, writing and waiting, and syncs for one push. The numbers
do not depend on the machine's speed, so that a test can compare them with bounds.json.

usage: tally.py POSTRIDER FOLDER {debug|release}

POSTRIDER was built in that configuration; files are written to FOLDER. A relay of one shard gets a number of pushes, one at
a time, and then twice as many; the difference counts, so that connections and starts have no effect. Prints a line for each
kind of push, and a sentence for each exceeded bound; then the exit code is 1.
"""

import json
import mmap
import struct
import subprocess
import sys
from pathlib import Path

from machine import compile_c, last_line, run, start, stop

SOURCE = Path(__file__).with_name("tally.c")
BOUNDS = Path(__file__).with_name("bounds.json")
# As in tally.c.
WORDS = ["allocations", "bytes", "reads", "writes", "waits", "syncs"]
PUSHES = 2000

WORKS = {
    # Now or never, to an absent device.
    "accepted": ["--absent", "--now-or-never"],
    # To an absent device.
    "stored": ["--absent"],
    # Now or never, to a device that acknowledges.
    "handed over": ["--now-or-never"],
    # To a device that acknowledges, and kept until then: whether it has to be stored is a race between the device and the
    # disk, and so its figures depend on who has a processor. It is looked at and not held: its parts are, by the others.
    "delivered": [],
}


def build(folder):
    library = folder / "tally.so"
    compile_c(SOURCE, library, "-shared", "-fPIC", "-O1")
    return library


def counts(program, folder, under_way=1):
    folder.mkdir(parents=True, exist_ok=True)
    figures = {}
    for work, options in WORKS.items():
        # Each kind has its own relay, so that none finds the data of another.
        place, tally, log = folder / work, folder / f"{work}.tally", folder / f"{work}.log"
        tally.write_bytes(bytes(8 * len(WORDS)))
        with log.open("w") as file:
            relay = start(
                program, "dev", "--capture", "false", "--directory", place, "--json", "--provider-port", 0,
                "--development-port", 0,
                "--device-port", 0, "--shards", 1, "--pushes-per-second", 0, stdout=subprocess.PIPE, stderr=file,
                env={"LD_PRELOAD": str(build(folder)), "POSTRIDER_TALLY": str(tally)})
        try:
            if not relay.stdout.readline():
                sys.exit(f"the relay in {place} did not start: {last_line(log)}")
            figures[work] = difference(program, place, tally, options, under_way)
        finally:
            stop(relay)
    return figures


def difference(program, place, tally, options, under_way):
    with tally.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as words:
        seen = []
        # The first run fills caches.
        for pushes in PUSHES, PUSHES, 2 * PUSHES:
            # Stored notifications would be counted once more when they are dropped with their devices.
            run(program, "load", "push", "--directory", place, "--keep-devices", "--devices", 10, "--providers", 1,
                "--warm-up", "0s", "--count", pushes, "--in-flight", under_way, *options)
            seen.append(struct.unpack(f"{len(WORDS)}Q", words[:]))
    (first, second, third) = seen
    return {word: ((third[n] - second[n]) - (second[n] - first[n])) / PUSHES for n, word in enumerate(WORDS)}


def excesses(figures, bounds):
    """Returns a sentence for each figure above its bound."""
    for work, kinds in bounds.items():
        for kind, bound in kinds.items():
            if figures[work][kind] > bound:
                yield (f"A push that is {work} takes {figures[work][kind]:.2f} {kind}, and {bound} is the most. Find what "
                       f"asks for more (valgrind --tool=dhat names who allocates); if it is worth that, raise the bound in "
                       f"Tests/Benchmark/bounds.json and say why in the commit.")


def main(program, folder, configuration):
    figures = counts(program, Path(folder))
    for work, kinds in figures.items():
        print(f"{work}: " + ", ".join(f"{figure:.2f} {kind}" for kind, figure in kinds.items()), flush=True)
    found = list(excesses(figures, json.loads(BOUNDS.read_text())[configuration]))
    print("\n".join(found) or "no bound is exceeded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
