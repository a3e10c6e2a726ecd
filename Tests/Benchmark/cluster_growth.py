"""What a cluster takes as it has more nodes and more devices: processor time of a push, memory, and the time of a take-over.

usage: cluster_growth.py PRODUCTS [--rounds N] [--seconds N] [--document FILE]
       cluster_growth.py PRODUCTS --devices N      the take-overs of so many devices only

PRODUCTS has the programs, built for release. All nodes and PostgreSQL share one processor, their clients have the other: so
the figures are processor time and the times of take-overs, and not how much several machines do.
"""

import shutil
import time

import document
from growth import medians
from harness import Harness, parser, read
from machine import CLIENT, SERVER, description, free_port, missing, pss, run, start, stop, wait_for, workplace
from nodes import HOST, Nodes
from peers import POSTGRES, Peers

NODES = [1, 2, 4]
DEVICES = [10_000, 100_000]


class ClusterGrowth(Harness):
    def __init__(self, products, folder, seconds):
        super().__init__(products, folder, seconds)
        self.peers = Peers(self.folder)

    def pushes(self, count):
        """µs of the processor that all nodes take for a push that is stored, if it may enter at any of them."""
        names = "abcd"[:count]
        with self.peers.postgres() as database, Nodes(self.program, database, self.folder / "nodes", names) as nodes:
            all = [nodes.start(name) for name in names]
            nodes.settle()
            front = self.balancer([node.provider for node in all]), self.balancer([node.device for node in all])
            before = sum(node.cpu for node in all)
            result = self.load(
                "push", "--absent", "--devices", 200, "--providers", 16, "--in-flight", 1000, "--for", f"{self.seconds}s",
                "--relay", front[0], "--device-relay", front[1], "--control", all[0].control, "--ca", all[0].authority)
            taken = sum(node.cpu for node in all) - before
            return {"push": taken / sum(phase["accepted"] for phase in result["phases"]) * 1_000_000}

    def balancer(self, servers):
        """Starts HAProxy in front of these servers, and returns its address."""
        port = free_port()
        lines = [f"server s{number} {server}" for number, server in enumerate(servers)]
        file = self.peers.file(f"haproxy-{port}.conf", "\n".join([
            "defaults", "mode tcp", "timeout connect 5s", "timeout client 1h", "timeout server 1h", "balance roundrobin",
            "listen all", f"bind {HOST}:{port}", *lines]))
        log = self.folder / "haproxy.log"
        with log.open("w") as output:
            process = start("/usr/sbin/haproxy", "-db", "-f", file, pinned=CLIENT, stderr=output)
        wait_for(port, process, "haproxy", log)
        return f"{HOST}:{port}"

    def takeover(self, devices):
        """Seconds until one of two nodes serves the devices of the other, which was killed, and what each holds in memory. For
        each device, one notification waits."""
        folder = self.folder / "filled"
        relay, _ = self.relay(folder)
        stop(relay)
        run(self.products / "fill-store", folder / "data", "com.example.app", devices, devices)
        with self.peers.postgres() as database, Nodes(self.program, database, self.folder / "nodes", "ab") as nodes:
            run(self.program, "move", "--from", folder / "data", "--to", database)
            stored = int(run("psql", database, "--tuples-only", "--command", "SELECT pg_database_size(current_database())"))
            shutil.rmtree(folder)
            begin = time.monotonic()
            survivor = nodes.start("a")
            nodes.settle()
            alone = time.monotonic() - begin
            # The relay names devices that have none, as those of the filled store. Devices that have enrolled have names.
            while int(run("psql", database, "--tuples-only", "--command", "SELECT count(*) FROM postrider.label")) < devices:
                time.sleep(0.1)
            whole = pss(survivor.process.pid)
            other = nodes.start("b")
            shared = nodes.settle()
            half = pss(other.process.pid)
            nodes.kill(other)
            return {"start": alone, "share": shared, "takeover": nodes.settle(), "whole": whole / 1024, "half": half / 1024,
                    "stored": stored / 2**20}


def main():
    options = parser()
    options.add_argument("--devices", type=int)
    arguments = read(options, "cluster")
    if missing("postgres", "postgresql-15", POSTGRES) or missing("haproxy", "haproxy"):
        options.error("PostgreSQL and HAProxy are needed")
    with workplace() as folder:
        growth = ClusterGrowth(arguments.products, folder, arguments.seconds)
        if arguments.devices:
            print(growth.takeover(arguments.devices))
            return
        print("nodes:", flush=True)
        pushes = medians(arguments.rounds, NODES, growth.pushes)
        print("devices, each with a notification that waits:", flush=True)
        takeovers = medians(arguments.rounds, DEVICES, growth.takeover)
    if arguments.document:
        document.put(arguments.document, "cluster", "\n" + "\n\n".join([
            f"On {description()}; the median of {arguments.rounds} rounds; all nodes and PostgreSQL on one processor:",
            document.table(
                ["nodes", "a push, stored, at any node", "beside one node"],
                [[f"{size}", f"{found['push']:.1f} µs", f"{found['push'] / pushes[1]['push']:.2f}"]
                 for size, found in pushes.items()]),
            document.table(
                ["devices, a notification waiting for each", "the first node serves all after",
                 "a second one serves half of them after", "it was killed: the first serves all again after",
                 "memory of a node with all", "with half", "the database"],
                [[f"{size:,}", f"{found['start']:.1f} s", f"{found['share']:.1f} s", f"{found['takeover']:.1f} s",
                  f"{found['whole']:.0f} MiB", f"{found['half']:.0f} MiB", f"{found['stored']:.0f} MiB"]
                 for size, found in takeovers.items()]),
        ]) + "\n")


if __name__ == "__main__":
    main()
