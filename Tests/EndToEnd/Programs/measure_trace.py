"""What the trace costs: processor time of the relay for each push, with the trace and without.

usage: measure_trace.py POSTRIDER [--pushes N] [--rounds N] [--instructions]

POSTRIDER is a program that was built for release. h2load pushes to one device of `postrider device`, which acknowledges
everything; each round has a relay of its own on the same store. A measurement, no test: it demands nothing.

With --instructions valgrind counts what the relay executes outside of the kernel, for N pushes more than for 500: that
does not depend on what else the machine does. It takes fifty times as long, so 3000 pushes are enough.
"""

import argparse
import atexit
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
TOPIC = "com.example.app"


def start(*words, **streams):
    process = subprocess.Popen([str(word) for word in words], text=True, **streams)
    atexit.register(process.kill)
    return process


def line(stream, pattern):
    for text in stream:
        if match := re.search(pattern, text):
            return match
    raise SystemExit(f"nobody says {pattern}")


def processor_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Ground:
    def __init__(self, program, folder):
        self.program = program
        self.folder = Path(folder)
        relay = start(program, "dev", "-d", folder, "--json", "--provider-port", 0, "--device-port", 0,
                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        relay.stdout.readline()
        self.bearer = subprocess.check_output([program, "token", "--directory", folder], text=True).strip()
        relay.terminate()
        relay.wait()
        (self.folder / "payload").write_text('{"aps":{"alert":{"title":"Hello","body":"from h2load, as often as it can"}}}')

    def round(self, trace, pushes, tool=()):
        """Processor seconds, pushes a second, and what the tool under which the relay runs says in the end."""
        folder = self.folder
        relay = start(
            *tool, self.program, "serve", "--certificate", folder / "relay.pem", "--private-key", folder / "relay.key",
            "--data-directory", folder / "data", "--provider-address", "127.0.0.1:0", "--device-address", "127.0.0.1:0",
            "--trace", trace, "--pushes-per-second", 0, stderr=subprocess.PIPE)
        ports = line(relay.stderr, r"ready: .*127\.0\.0\.1:(\d+), devices to 127\.0\.0\.1:(\d+)")
        device = start(
            self.program, "device", "--relay", f"127.0.0.1:{ports[2]}", "--ca", folder / "authority.pem", "--topic", TOPIC,
            "--enrolment-key-file", folder / "enrolment.key", stdout=subprocess.PIPE)
        token = line(device.stdout, r"device token for .*: ([0-9a-f]{64})")[1]
        drain = start("cat", stdin=device.stdout, stdout=subprocess.DEVNULL)
        before = processor_seconds(relay)
        load = subprocess.run(
            ["h2load", "-n", str(pushes), "-c", "2", "-m", "100", "-d", str(folder / "payload"),
             "-H", f"authorization: bearer {self.bearer}", "-H", f"apns-topic: {TOPIC}",
             f"https://127.0.0.1:{ports[1]}/3/device/{token}"], capture_output=True, text=True, check=True)
        used = processor_seconds(relay) - before
        done = int(re.search(r"status codes: (\d+) 2xx", load.stdout)[1])
        rate = float(re.search(r"([\d.]+) req/s", load.stdout)[1])
        for process in (device, drain):
            process.terminate()
            process.wait()
        relay.terminate()
        words = relay.stderr.read()
        relay.wait()
        if done != pushes:
            raise SystemExit(f"only {done} of {pushes} pushes were accepted")
        return used / done * 1e6, rate, words

    def instructions(self, trace, pushes):
        counts = []
        for count in (500, 500 + pushes):
            _, _, words = self.round(trace, count, ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"))
            counts.append(int(re.search(r"Collected : (\d+)", words)[1]))
        return (counts[1] - counts[0]) / pushes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--pushes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pr-") as folder:
        ground = Ground(arguments.program, folder)
        ground.round("false", arguments.pushes // 10)
        costs = {"false": [], "true": []}
        for _ in range(arguments.rounds):
            for trace, list in costs.items():
                if arguments.instructions:
                    cost = ground.instructions(trace, arguments.pushes)
                    print(f"trace {trace}: {cost:.0f} instructions for each push", flush=True)
                else:
                    cost, rate, _ = ground.round(trace, arguments.pushes)
                    print(f"trace {trace}: {cost:.1f} us of processor time for each push, {rate:.0f} pushes/s", flush=True)
                list.append(cost)
        for name, choose in ("least", min), ("median", statistics.median):
            off, on = (choose(costs[trace]) for trace in ("false", "true"))
            unit = "instructions" if arguments.instructions else "us"
            print(f"{name}: {off:.1f} {unit} without, {on:.1f} with the trace: {(on / off - 1) * 100:+.1f} %")


main()
