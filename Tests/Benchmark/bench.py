"""The relay beside what a user would pick instead, on this machine, in turn, each pinned to one processor.

usage: bench.py POSTRIDER [--rounds N] [--seconds N] [ROW...]

POSTRIDER is a program that was built for release; `postrider load` is everybody's client, on another processor. A peer
that is not installed is left out with a word. Each row prints the median of its rounds and the ratio of ours to each
peer's: compare ratios, for the figures are this machine's, today's. A benchmark, no test: it demands nothing, except that
nothing is lost.
"""

import argparse
import atexit
import contextlib
import json
import os
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER, CLIENT = "0", "1"
TOKENS = 1000


def start(*words, pinned=None, **streams):
    pin = ["taskset", "--cpu-list", pinned] if pinned else []
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    process = subprocess.Popen([*pin, *map(str, words)], text=True, **streams)
    atexit.register(process.kill)
    return process


def stop(process):
    process.terminate()
    process.wait()


def free_port():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise SystemExit(f"nobody listens on port {port}")


def missing(program, package):
    if shutil.which(program) or Path("/usr/sbin", program).exists():
        return False
    print(f"  ({program} is left out: the package {package} is not installed)", flush=True)
    return True


class Bench:
    def __init__(self, program, folder, seconds):
        self.program = Path(program).resolve()
        self.folder = Path(folder)
        self.seconds = seconds
        relay = start(self.program, "dev", "--directory", self.folder, "--json", "--provider-port", 0,
                      "--device-port", 0, stdout=subprocess.PIPE)
        relay.stdout.readline()
        stop(relay)
        self.tokens = self.folder / "tokens"
        self.tokens.write_text("\n".join(secrets.token_hex(32) for _ in range(TOKENS)))

    def load(self, *words):
        """What `postrider load` says, as JSON."""
        words = [self.program, "load", *words, "--json", "--processors", CLIENT]
        result = subprocess.run(list(map(str, words)), capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}\n{result.stderr}")
        return json.loads(result.stdout)

    def own(self, *words):
        """Drives a relay of one shard on the server's processor."""
        return self.load(*words, "--relay-setting", "shards=1", "--relay-processors", SERVER)

    def pushed_to(self, process, port):
        """Pushes to a peer. taskset replaces itself, so that its process is the server's."""
        return self.load(
            "push", "--provider-only", "--target", f"127.0.0.1:{port}", "--server-name", "localhost",
            "--ca", self.folder / "authority.pem", "--tokens", self.tokens, "--process", process,
            "--for", f"{self.seconds}s")

    @contextlib.contextmanager
    def nghttpd(self):
        files = self.folder / "www/3/device"
        files.mkdir(parents=True, exist_ok=True)
        for token in self.tokens.read_text().split():
            (files / token).touch()
        port = free_port()
        server = start("nghttpd", "--workers=1", "--max-concurrent-streams=1000", f"--htdocs={self.folder / 'www'}",
                       "--address=127.0.0.1", port, self.folder / "relay.key", self.folder / "relay.pem", pinned=SERVER)
        wait_for(port)
        yield server.pid, port
        stop(server)

    @contextlib.contextmanager
    def nginx(self):
        port = free_port()
        configuration = self.folder / "nginx.conf"
        configuration.write_text(f"""
            daemon off; master_process off; worker_processes 1; pid {self.folder}/nginx.pid; error_log /dev/null;
            events {{ worker_connections 20000; }}
            http {{
                access_log off; keepalive_requests 1000000000; http2_max_concurrent_streams 1000;
                client_body_temp_path {self.folder}/body;
                server {{
                    listen 127.0.0.1:{port} ssl http2; ssl_session_tickets off;
                    ssl_certificate {self.folder}/relay.pem; ssl_certificate_key {self.folder}/relay.key;
                    location / {{ return 200; }}
                }}
            }}""")
        server = start("/usr/sbin/nginx", "-c", configuration, pinned=SERVER)
        wait_for(port)
        yield server.pid, port
        stop(server)

    @contextlib.contextmanager
    def redis(self):
        port = free_port()
        server = start("redis-server", "--port", 0, "--tls-port", port, "--bind", "127.0.0.1", "--tls-auth-clients", "no",
                       "--tls-cert-file", self.folder / "relay.pem", "--tls-key-file", self.folder / "relay.key",
                       "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir", self.folder,
                       pinned=SERVER)
        wait_for(port)
        yield port
        stop(server)

    # The rows: each yields (who, figure) for what is there, ours first.

    def accepts(self):
        """pushes accepted for each second of the server's processor time, now or never, to 1000 devices that are away"""
        ours = self.own("push", "--absent", "--now-or-never", "--devices", TOKENS, "--for", f"{self.seconds}s")
        yield "postrider", accepted_for_cpu(ours)
        for name, package, server in ("nghttpd", "nghttp2-server", self.nghttpd), ("nginx", "nginx-light", self.nginx):
            if missing(name, package):
                continue
            with server() as (process, port):
                yield name, accepted_for_cpu(self.pushed_to(process, port))

    def deliveries(self):
        """deliveries to 1000 devices, acknowledged, for each second of the server's processor time"""
        result = self.own("push", "--devices", 1000, "--in-flight", 1000, "--for", f"{self.seconds}s")
        phase = main_phase(result)
        yield "postrider", phase["delivered"] / cpu(phase)

    def latency(self):
        """microseconds from a push to the device's having it, at 2000 a second: the median (p99 besides)"""
        phase = main_phase(self.own("push", "--devices", 1000, "--rate", 2000, "--for", f"{self.seconds}s"))
        yield "postrider", phase["delivery"]["p50"]
        yield "postrider, p99", phase["delivery"]["p99"]

    def durable(self):
        """pushes a second that are on the disk when they are accepted, 64 under way"""
        phase = main_phase(
            self.own("push", "--absent", "--devices", 1000, "--in-flight", 64, "--for", f"{self.seconds}s"))
        yield "postrider", phase["accepted"] / phase["seconds"]
        if missing("redis-server", "redis-server"):
            return
        with self.redis() as port:
            words = ["taskset", "--cpu-list", CLIENT, "redis-benchmark", "--tls", "--cacert", self.folder / "authority.pem",
                     "--sni", "localhost", "-h", "127.0.0.1", "-p", port, "-c", 64, "-n", 40_000 * self.seconds, "-d", 200,
                     "-t", "lpush", "--csv"]
            output = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True).stdout
            yield "redis, AOF always", float(output.splitlines()[-1].split(",")[1].strip('"'))

    def idle(self):
        """KiB of the relay's memory for each of 5000 connected devices"""
        result = self.own("idle", "--devices", 5000, "--for", "2s")
        server = main_phase(result)["server"]
        yield "postrider", (server["pssKiB"] - server["idlePSSKiB"]) / 5000


def main_phase(result):
    return next(phase for phase in result["phases"] if phase["name"] == result["mainPhase"])


def cpu(phase):
    return phase["server"]["userSeconds"] + phase["server"]["systemSeconds"]


def accepted_for_cpu(result):
    phase = main_phase(result)
    return phase["accepted"] / cpu(phase)


def main():
    rows = ["accepts", "deliveries", "latency", "durable", "idle"]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("rows", nargs="*", default=rows, metavar="ROW", help=" ".join(rows))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    arguments = parser.parse_args()
    if unknown := [row for row in arguments.rows if row not in rows]:
        parser.error(f"there is no row '{unknown[0]}': {', '.join(rows)}")
    if os.cpu_count() < 2:
        parser.error("two processors are needed: one for the server, one for its clients")
    with tempfile.TemporaryDirectory(prefix="pr-") as folder:
        bench = Bench(arguments.program, folder, arguments.seconds)
        for row in arguments.rows:
            measure = getattr(bench, row)
            print(f"{row}: {measure.__doc__}", flush=True)
            figures = {}
            for _ in range(arguments.rounds):
                for who, figure in measure():
                    figures.setdefault(who, []).append(figure)
            own = statistics.median(figures["postrider"])
            for who, list in figures.items():
                median = statistics.median(list)
                ratio = "" if who.startswith("postrider") else f"   ours is {own / median:.2f} of it"
                print(f"  {who:20} {median:10,.1f}   ({min(list):,.1f} to {max(list):,.1f}){ratio}", flush=True)


main()
