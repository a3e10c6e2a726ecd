"""A cluster of relays whose database fails over under Patroni, as docs/operate/cluster-database.md sets it up.

usage: patroni.py PROGRAM

Starts three PostgreSQL servers under Patroni with an etcd, and two nodes. Pushes are stored for devices that are away; meanwhile
the primary and its Patroni are killed. Then the devices come. Ends with 1 if a push that was answered with 200 is lost or comes
twice, if no other server takes over, or if the killed server does not come back as a standby.
"""

import contextlib
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Benchmark"))
from machine import finished, free_port, last_line, run, start, stop, workplace  # noqa: E402
from nodes import PARTITIONS, Nodes  # noqa: E402

PAGE = ROOT / "docs/operate/cluster-database.md"
BINARIES = Path("/usr/lib/postgresql/15/bin")
SERVERS = [1, 2, 3]
# How long may pass until another server takes changes. The page's `ttl` is 30 seconds.
PATIENCE_SECONDS = 90


def settings():
    """The settings on the page."""
    for block in PAGE.read_text().split("```yaml\n")[1:]:
        if block.startswith("# Patroni\n"):
            return yaml.safe_load(block.split("```")[0])
    sys.exit(f"{PAGE} has no settings of Patroni")


def until(what, seconds, condition):
    """Waits until a condition has a value, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.1)
    sys.exit(f"{what} after {seconds} s")


class Servers:
    """Three PostgreSQL servers under Patroni, in a folder. They do not run as root."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.user = []
        if os.getuid() == 0:
            self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.etcd = start(
            *self.user, "etcd", "--data-dir", folder / "etcd", "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.managers = {}
        for number in SERVERS:
            self.configure(number, client.removeprefix("http://"))
        self.begin(1)
        until("the first server is no primary", PATIENCE_SECONDS, self.primary)
        for number in SERVERS[1:]:
            self.begin(number)
        until("no standby is waited for", PATIENCE_SECONDS, self.has_standby)

    @staticmethod
    def host(number):
        return f"127.0.0.{10 + number}"

    def configure(self, number, etcd):
        """Writes the configuration of one server: the page's, at addresses of this machine."""
        file = settings()
        own = self.folder / f"db{number}"
        own.mkdir()
        if self.user:
            os.chown(own, pwd.getpwnam("postgres").pw_uid, -1)
        file["name"] = f"db{number}"
        file["etcd3"] = {"host": etcd}
        rest = f"{self.host(number)}:{free_port()}"
        file["restapi"] = {"listen": rest, "connect_address": rest}
        address = f"{self.host(number)}:{self.port}"
        file["bootstrap"]["pg_hba"] = ["host all all 127.0.0.0/8 trust", "host replication all 127.0.0.0/8 trust"]
        file["postgresql"] = {
            "listen": address, "connect_address": address, "data_dir": str(own / "data"), "bin_dir": str(BINARIES),
            "pgpass": str(own / "pgpass"), "parameters": {"unix_socket_directories": str(own)},
            "authentication": {name: {"username": user, "password": "unused"} for name, user in (
                ("superuser", "postgres"), ("replication", "replicator"), ("rewind", "rewinder"))},
        }
        self.file(number).write_text(yaml.safe_dump(file))

    def file(self, number):
        return self.folder / f"patroni-{number}.yml"

    def log(self, number):
        return self.folder / f"patroni-{number}.log"

    def begin(self, number):
        with self.log(number).open("a") as log:
            self.managers[number] = start(*self.user, "patroni", self.file(number), stdout=log, stderr=log)

    def running(self):
        """The numbers and the roles of the servers that run."""
        for number, manager in self.managers.items():
            if manager.poll() is not None:
                sys.exit(f"the Patroni of db{number} has ended: {last_line(self.log(number))}")
        code, output, _ = finished("patronictl", "-c", self.file(1), "list", "--format", "json")
        members = json.loads(output) if code == 0 and output.strip() else []
        return [(int(member["Member"].removeprefix("db")), member["Role"]) for member in members
                if member["State"] in ("running", "streaming")]

    def number(self, role):
        """The number of the first server that runs in this role; None if there is none."""
        return next((number for number, found in self.running() if found == role), None)

    def primary(self):
        return self.number("Leader")

    def has_standby(self):
        return self.number("Sync Standby")

    def kill(self, number):
        """Ends a server and its Patroni as a power cut does."""
        manager = self.managers.pop(number)
        manager.kill()
        stop(manager)
        lines = (self.folder / f"db{number}/data/postmaster.pid").read_text().splitlines()
        os.kill(int(lines[0]), signal.SIGKILL)

    def sql(self, number, *commands, database="postgres"):
        words = [word for command in commands for word in ("--command", command)]
        return run("psql", "--host", self.host(number), "--port", str(self.port), "--username", "postgres", "--no-align",
                   "--tuples-only", *words, database, env={**os.environ, "PGCONNECT_TIMEOUT": "5"})

    def address(self, database, user):
        hosts = ",".join(f"{self.host(number)}:{self.port}" for number in SERVERS)
        return f"postgresql://{user}@{hosts}/{database}?target_session_attrs=read-write&connect_timeout=3"

    def end(self):
        for manager in self.managers.values():
            stop(manager)
        stop(self.etcd)


def serves_all(nodes):
    return sum(nodes.served(node) for node in nodes.running) == PARTITIONS


def trial(program, servers, folder):
    first = servers.primary()
    servers.sql(first, "CREATE ROLE postrider LOGIN",
                "CREATE DATABASE postrider OWNER postrider ENCODING 'UTF8' TEMPLATE template0")
    with Nodes(program, servers.address("postrider", "postrider"), folder / "nodes", "ab") as nodes:
        entry, home = nodes.start("a"), nodes.start("b")
        nodes.settle()
        load = start(
            program, "load", "offline", "--devices", 200, "--rate", 100, "--for", "90s", "--relay", entry.provider,
            "--device-relay", home.device, "--control", entry.control, "--ca", entry.authority, "--json",
            stdout=subprocess.PIPE)
        until("too few pushes are stored", PATIENCE_SECONDS,
              lambda: int(servers.sql(first, "SELECT count(*) FROM postrider.queue", database="postrider")) > 500)
        killed = time.monotonic()
        servers.kill(first)
        until("the nodes have not noticed", PATIENCE_SECONDS, lambda: not serves_all(nodes))
        suspended = time.monotonic() - killed
        until("the nodes do not serve again", PATIENCE_SECONDS, lambda: serves_all(nodes))
        back = time.monotonic() - killed
        print(f"the primary was killed; the nodes suspended after {suspended:.1f} s, and served again after {back:.1f} s", flush=True)
        servers.begin(first)
        output, _ = load.communicate()
        verdict = json.loads(output)["verdict"]
        print(json.dumps(verdict))
        if load.returncode != 0:
            sys.exit("pushes are lost, came twice or came wrong")
    until("the killed server is no standby", PATIENCE_SECONDS, lambda: dict(servers.running()).get(first, "Leader") != "Leader")
    print(f"db{first} is a standby of db{servers.primary()}")


def main():
    program = Path(sys.argv[1]).resolve()
    with workplace() as folder, contextlib.ExitStack() as stack:
        folder = Path(folder)
        place = folder / "servers"
        place.mkdir()
        for parent in (folder, place):
            parent.chmod(0o755)
        servers = Servers(place)
        stack.callback(servers.end)
        trial(program, servers, folder)


if __name__ == "__main__":
    main()
