"""A relay with sockets of a service manager: restarts under pushes refuse no connection.

usage: activation.py RELAY.JSON POSTRIDER FOLDER TOKEN BEARER

FOLDER/dev is the folder of a `postrider dev` that has ended, and TOKEN a device token of it.
"""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import h2.exceptions

from relay import Relay, require, say
from wire import PATIENCE_SECONDS, Client

RESTARTS = 3
NAMES = ["provider", "device", "control", "metrics"]


class Sockets:
    """The sockets of socket units, which stay open whatever becomes of the service."""

    def __init__(self, folder):
        self.control = str(folder / "control.sock")
        self.all = {name: self.listen() for name in ("provider", "device", "metrics")}
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(self.control)
        unix.listen()
        self.all["control"] = unix

    @staticmethod
    def listen():
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", 0))
        listening.listen(4096)
        return listening

    def endpoint(self, name):
        return self.all[name].getsockname()

    def start(self, arguments, names=NAMES):
        """Starts a service as systemd does, and returns its process and its standard error."""
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            # Copies far above 3, so that no socket is in the way of another.
            copies = [os.dup(writing)] + [self.all[name].fileno() for name in names]
            high = [self.raised(number) for number in copies]
            os.dup2(high[0], 2)
            for number, descriptor in enumerate(high[1:], start=3):
                os.dup2(descriptor, number, inheritable=True)
            os.closerange(3 + len(names), 1024)
            environment = os.environ | {
                "LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
            os.execve(arguments[0], arguments, environment)
        os.close(writing)
        return process, os.fdopen(reading)

    @staticmethod
    def raised(number):

        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 500)


class Service:
    """`postrider serve` on the store of the ended relay."""

    def __init__(self, sockets, postrider, folder):
        self.sockets = sockets
        self.configuration = folder / "relay.yaml"
        dev = folder / "dev"
        self.configuration.write_text("".join(f"{name}: {value}\n" for name, value in {
            "data-directory": dev / "data", "certificate": dev / "relay.pem", "private-key": dev / "relay.key",
            "control-address": f"unix:{sockets.control}", "shards": 2, "log-level": "notice",
            "metrics-address": "{}:{}".format(*sockets.endpoint("metrics")),
        }.items()))
        self.arguments = [postrider, "serve", "--config", str(self.configuration)]

    def start(self):
        self.process, self.log = self.sockets.start(self.arguments)
        return self.logged("ready:")

    def logged(self, words):
        lines = []
        for line in self.log:
            lines.append(line)
            if words in line:
                return line
        sys.exit(f"the relay ended without a word of '{words}': {lines}")

    def end(self):
        os.kill(self.process, signal.SIGTERM)
        # The log is read, so that the relay never waits for it.
        text = self.log.read()
        _, status = os.waitpid(self.process, 0)
        require(os.waitstatus_to_exitcode(status) == 0, f"the relay ended with {status}: {text}")


class Provider(threading.Thread):
    """Pushes over a new connection each time. A push that no relay took is pushed again; nothing may be refused."""

    def __init__(self, sockets, relay, token, bearer):
        super().__init__(daemon=True)
        self.endpoint = sockets.endpoint("provider")
        self.ca = relay.ca
        self.headers = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", f"/3/device/{token}"),
            ("authorization", bearer), ("apns-topic", relay.topic), ("apns-expiration", "0")]
        self.accepted, self.refused, self.others = 0, [], []
        self.ending = threading.Event()

    def run(self):
        while not self.ending.is_set():
            try:
                client = Client(self.endpoint, self.ca)
            except OSError as error:
                self.refused.append(repr(error))
                continue
            try:
                status, _, body, _ = client.request(self.headers, b"{}")
                if status == 200:
                    self.accepted += 1
                elif status != 503:
                    self.others.append((status, body))
            except (OSError, h2.exceptions.ProtocolError):
                # The connection was told GOAWAY: the push comes again over the next one.
                pass
            finally:
                client.close()

    def has_pushed(self, more):
        """Waits until so many more pushes are accepted."""
        goal = self.accepted + more
        while self.accepted < goal:
            require(self.is_alive(), "the provider has ended")
            require(not self.refused and not self.others, f"refused: {self.refused}, answered: {self.others}")
            self.ending.wait(0.01)


def metrics(sockets):
    url = "http://{}:{}/readyz".format(*sockets.endpoint("metrics"))
    return urllib.request.urlopen(url, timeout=PATIENCE_SECONDS).read()


def main(description, postrider, folder, token, bearer):
    relay = Relay.described_in(description)
    sockets = Sockets(folder)
    service = Service(sockets, postrider, folder)
    ready = service.start()
    for name in ("provider", "device"):
        require("{}:{}".format(*sockets.endpoint(name)) in ready, f"the relay listens elsewhere: {ready}")
    provider = Provider(sockets, relay, token, bearer)
    provider.start()
    for _ in range(RESTARTS):
        provider.has_pushed(20)
        service.end()
        service.start()
    provider.has_pushed(20)
    require(metrics(sockets) == b"ok\n", "metrics are served on their socket")
    status = subprocess.run(
        [postrider, "status", "--control", f"unix:{sockets.control}"], capture_output=True, text=True)
    require(status.returncode == 0, f"the control socket answers: {status.stderr}")
    provider.ending.set()
    provider.join()
    require(not provider.refused and not provider.others, f"refused: {provider.refused}, {provider.others}")
    service.end()
    require(Path(sockets.control).exists(), "the file of the control socket belongs to its unit")
    say(f"{provider.accepted} pushes over as many connections, {RESTARTS} restarts, no connection refused")

    os.environ["POSTRIDER_DEVICE_ADDRESS"] = "127.0.0.1:1"
    process, log = sockets.start(service.arguments)
    text = log.read()
    _, code = os.waitpid(process, 0)
    require(os.waitstatus_to_exitcode(code) == 2, f"the relay ended with {code}: {text}")
    require("POSTRIDER_DEVICE_ADDRESS is 127.0.0.1:1, but its socket unit passes" in text, text)
    say("a socket at another address than the setting's is refused")


main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], sys.argv[5])
