"""Network namespaces of a test's own, and the links between them, which can be cut in one direction or made slow.

Each place (a node, the database, the clients) has a namespace, and a router between them has one more. The namespaces
have no names. They are held by processes that the kernel ends with this program, even if that is killed, and end with
these, so nothing remains.

Only root may use them. A program may ask `may_make_networks` before, and use `Loopback` instead, where nothing can be cut.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import os
import random
import socket
import struct
import subprocess
from urllib.parse import urlsplit

from relay import require

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
# A private range. Nothing outside of the namespaces knows of it.
NETWORK = "10.83"
# What comes before a program that the kernel is to end with this one.
WITH_US = ["setpriv", "--pdeathsig", "KILL", "--"]


def may_make_networks():
    """Whether this user may make network namespaces with links between them on this machine."""
    trial = "ip link add one type veth peer name two && ip rule add from 10.0.0.1 blackhole"
    done = subprocess.run(["unshare", "--net", "sh", "-c", trial], capture_output=True, check=False)
    return os.geteuid() == 0 and done.returncode == 0 and os.path.exists("/dev/net/tun")


class Loopback:
    """Every place is on the loopback interface, of which Linux has all of 127.0.0.0/8."""

    can_cut = False
    clients = "127.0.0.1"
    balancer = "127.0.0.9"

    def host(self, place):
        """The address of a place."""
        return "127.0.0.1"

    def database(self, address):
        """Where the nodes reach the database of a connection string."""
        return address

    def within(self, place):
        """What comes before a command that is to run in a place, and to end with this program."""
        return WITH_US


LOOPBACK = Loopback()


class Place:
    """A network namespace, and the process by which it is named."""

    def __init__(self, name, number, process):
        self.name = name
        self.network = f"{NETWORK}.{number}.0/24"
        self.router = f"{NETWORK}.{number}.1"
        self.host = f"{NETWORK}.{number}.2"
        self.process = process

    @property
    def file(self):
        return f"/proc/{self.process}/ns/net"

    @property
    def entry(self):
        """What comes before a command that is to run there."""
        return ["nsenter", f"--net={self.file}"]


class Network:
    """The clients, the database and nodes, each in a namespace of its own. This process is in that of the clients."""

    can_cut = True

    def __init__(self, nodes, database_process):
        """
        nodes: the names of the nodes.
        database_process: a process of the database's server, which runs in a network namespace of its own and listens
        on all addresses there.
        """
        # The processes that hold namespaces.
        self.holders = []
        self.router = Place("router", 0, self.hold())
        if LIBC.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot get a network namespace")
        processes = {"clients": os.getpid(), "database": database_process}
        processes |= {name: self.hold() for name in nodes}
        self.nodes = list(nodes)
        self.places = {name: Place(name, n, process) for n, (name, process) in enumerate(processes.items(), 1)}
        self.clients = self.places["clients"].host
        self.balancer = f"{NETWORK}.1.9"
        settings = ["ip_forward=1", "conf.all.rp_filter=0", "conf.default.rp_filter=0"]
        for name, value in (setting.split("=") for setting in settings):
            self.run(self.router, "sh", "-c", f"echo {value} >/proc/sys/net/ipv4/{name.replace('.', '/')}")
        self.run(self.router, "ip", "link", "set", "lo", "up")
        for place in self.places.values():
            self.connect(place)
        self.run(self.places["clients"], "ip", "address", "add", f"{self.balancer}/24", "dev", "eth0")
        # Where packets of slow ways wait; it is made when it is needed first.
        self.detour = None

    def hold(self):
        """Returns a process in a new namespace."""
        command = [*WITH_US, "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"]
        holder = subprocess.Popen(command, stdout=subprocess.PIPE)
        holder.stdout.readline()
        self.holders.append(holder)
        return holder.pid

    def end(self):
        """Ends the namespaces, but for this process's own."""
        for holder in self.holders:
            holder.kill()
            holder.wait()

    def run(self, place, *command, text=None):
        done = subprocess.run([*place.entry, *command], capture_output=True, text=True, input=text, check=False)
        if done.returncode != 0:
            raise OSError(f"{' '.join(command)} in {place.name}: {done.stderr}")
        return done.stdout

    def connect(self, place):
        """Makes a link between a place and the router."""
        self.run(self.router, "ip", "-batch", "-", text=f"""
            link add to-{place.name} type veth peer name eth0 netns {place.process}
            address add {place.router}/24 dev to-{place.name}
            link set to-{place.name} up
            """)
        self.run(place, "ip", "-batch", "-", text=f"""
            link set lo up
            address add {place.host}/24 dev eth0
            link set eth0 up
            route add default via {place.router}
            """)

    def host(self, place):
        """The address of a place."""
        return self.places[place].host

    def database(self, address):
        """Where the nodes reach the database of a connection string."""
        parts = urlsplit(address)
        return f"postgresql://{parts.username}@{self.host('database')}{parts.path}"

    def within(self, place):
        """What comes before a command that is to run in a place, and to end with this program."""
        return [*WITH_US, *self.places[place].entry]

    # Faults

    def cut(self, *ways):
        """Lets the packets of these ways, each from a place to another, disappear: nobody is told."""
        rules = [self.way(*way) for way in ways]
        self.run(self.router, "ip", "-batch", "-", text="".join(f"rule add {rule} priority 100 blackhole\n" for rule in rules))

    def slow(self, *ways, seconds, bytes_a_second, loss=0.0):
        """Delays and limits what goes these ways."""
        if self.detour is None:
            with self.inside(self.router):
                self.detour = Detour("detour")
            self.run(self.router, "ip", "-batch", "-", text="link set detour up\nroute add default dev detour table 100\n")
        self.detour.change(seconds, bytes_a_second, loss)
        lines = [f"rule add iif to-{a} {self.way(a, b)} priority 200 table 100\n" for a, b in ways]
        self.run(self.router, "ip", "-batch", "-", text="".join(lines))

    def heal(self):
        """Ends all faults. What is on a slow way still arrives."""
        found = self.run(self.router, "ip", "rule", "list").splitlines()
        own = [line.split(":")[0] for line in found if line.startswith(("100:", "200:"))]
        self.run(self.router, "ip", "-batch", "-", text="".join(f"rule del priority {number}\n" for number in own))

    def way(self, source, target):
        return f"from {self.places[source].network} to {self.places[target].network}"

    def both(self, one, other):
        """Both ways between two places."""
        return [(one, other), (other, one)]

    def all_of(self, place):
        """All ways from and to a place."""
        return [way for other in self.places if other != place for way in self.both(place, other)]

    # Checks

    @contextlib.contextmanager
    def inside(self, place):
        """What this thread opens meanwhile is in a place, and stays there."""
        with open("/proc/thread-self/ns/net") as own, open(place.file) as other:
            self.enter(other)
            try:
                yield
            finally:
                self.enter(own)

    @staticmethod
    def enter(namespace):
        if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "this process cannot enter a network namespace")

    def prove(self, one, other):
        """Makes sure that a cut is of one way, and silent: otherwise a run would show nothing."""
        ends = {}
        for place in one, other:
            with self.inside(self.places[place]):
                ends[place] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ends[place].bind((self.host(place), 9999))
            ends[place].settimeout(30)
        for place, target in self.both(one, other):
            ends[place].connect((self.host(target), 9999))
        ends[one].send(b"before")
        require(ends[other].recv(99) == b"before", "a way lets no packets through")
        self.cut((one, other))
        ends[one].send(b"lost")
        ends[other].send(b"back")
        # A refusal of the router would come before this, as an error of the socket.
        require(ends[one].recv(99) == b"back", "a way that is not cut lets no packets through")
        self.heal()
        ends[one].send(b"after")
        require(ends[other].recv(99) == b"after", "a way that is cut lets packets through")
        for end in ends.values():
            end.close()


class Detour:
    """An interface whose packets come back after a while, as from a slow link. This kernel may have no netem."""

    # What waits longer is dropped, as by a router with a full queue.
    MOST_SECONDS = 2

    def __init__(self, name):
        self.file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.file, self.read)
        # Until when the packets of each direction keep it busy, by the addresses of both ends.
        self.busy = {}

    def change(self, seconds, bytes_a_second, loss):
        self.seconds, self.bytes_a_second, self.loss = seconds, bytes_a_second, loss
        self.busy = {}

    def read(self):
        while True:
            try:
                packet = os.read(self.file, 65536)
            except BlockingIOError:
                return
            # The addresses of IPv4; there is nothing else.
            way, now = packet[12:20], self.loop.time()
            end = max(self.busy.get(way, now), now) + len(packet) / self.bytes_a_second
            if end - now > self.MOST_SECONDS or random.random() < self.loss:
                continue
            self.busy[way] = end
            self.loop.call_at(end + self.seconds, self.write, packet)

    def write(self, packet):
        with contextlib.suppress(OSError):
            os.write(self.file, packet)
