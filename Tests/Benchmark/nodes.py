"""Nodes of a cluster, each a process of its own, over one database."""

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from machine import SERVER, cpu, finished, free_port, last_line, run, start, stop

HOST = "127.0.0.1"
PARTITIONS = 1024
# How long nodes may take to agree on who has which partition.
PATIENCE_SECONDS = 300


@dataclass(eq=False)
class Node:
    name: str
    process: object
    folder: Path
    provider: str
    device: str
    authority: Path

    @property
    def control(self):
        return f"unix:{self.folder}/control"

    @property
    def cpu(self):
        return cpu(self.process.pid)


class Nodes:
    """Ends them, and removes their files, at the end of a `with` statement."""

    def __init__(self, program, database, folder, names):
        """The nodes may have these names, and get certificates in this new folder."""
        self.program, self.database, self.folder = program, database, folder
        self.running = []
        folder.mkdir()
        run(program, "certificates", "make", folder / "relay", "--name", HOST)
        run(program, "certificates", "make", folder / "links", *(word for name in names for word in ("--node", name)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.running:
            stop(node.process)
        shutil.rmtree(self.folder)

    def start(self, name, *options, pinned=SERVER):
        """Starts a node of one shard."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        provider, device, links = (f"{HOST}:{free_port()}" for _ in range(3))
        with (folder / "log").open("a") as log:
            process = start(
                self.program, "serve", "--data-directory", folder / "data", "--control-address", f"unix:{folder}/control",
                "--store", self.database, "--certificate", self.folder / "relay/relay.pem",
                "--private-key", self.folder / "relay/relay.key", "--provider-address", provider, "--device-address", device,
                "--node-name", name, "--cluster-address", links,
                "--cluster-certificate", self.folder / f"links/node-{name}.pem",
                "--cluster-key", self.folder / f"links/node-{name}.key", "--cluster-trust", self.folder / "links/authority.pem",
                "--metrics-address", "off", "--shards", 1, "--source-rate", 1_000_000, "--source-connections", 1_000_000,
                "--pushes-per-second", 0, *options, pinned=pinned, stdout=log, stderr=log)
        node = Node(name, process, folder, provider, device, self.folder / "relay/authority.pem")
        self.running.append(node)
        return node

    def kill(self, node):
        """Ends a node as a power cut does."""
        node.process.kill()
        stop(node.process)
        self.running.remove(node)

    def settle(self):
        """Waits until the nodes serve all partitions, evenly, and returns the seconds that it took."""
        begin = time.monotonic()
        while (seconds := time.monotonic() - begin) < PATIENCE_SECONDS:
            served = [self.served(node) for node in self.running]
            if sum(served) == PARTITIONS and max(served) - min(served) <= 1:
                return seconds
            time.sleep(0.02)
        logs = "; ".join(f"{node.name}: {last_line(node.folder / 'log')}" for node in self.running)
        sys.exit(f"the nodes do not share the partitions after {PATIENCE_SECONDS} s, but have {served}. Their logs end with {logs}")

    def served(self, node):
        """Returns the number of partitions that a node serves: 0 while it starts."""
        code, output, _ = finished(self.program, "nodes", "list", "--json", "--control", node.control)
        if code == 0:
            return json.loads(output)["served"]
        if node.process.poll() is not None:
            sys.exit(f"node {node.name} has ended with {node.process.returncode}: {last_line(node.folder / 'log')}")
        return 0
