"""SIGHUP: new connections see the new certificate, old ones go on, and bad files change nothing.

usage: reload.py POSTRIDER FOLDER
"""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from pathlib import Path

import h2.exceptions
from cryptography import x509

from paper import Paper
from relay import require, say
from wire import PATIENCE_SECONDS, Client

REQUEST = [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/")]


class Supervisor:
    """What systemd is to a service: it hears its states."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.bind(self.path)

    def hears(self, *expected):
        state = dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())
        require(tuple(state) == expected, f"the supervisor is told {state}, not {expected}")


class ServedRelay:
    """`postrider serve` with everything in one folder."""

    def __init__(self, postrider, folder):
        self.folder = folder
        self.paper = Paper(folder)
        self.paper.issue("first")
        (folder / "providers").mkdir()
        self.providers = Paper(folder / "providers")
        self.trust = folder / "trust.pem"
        self.trust.write_bytes(self.paper.authority.read_bytes())
        self.configure("notice")
        self.supervisor = Supervisor(folder / "notify")
        self.process = subprocess.Popen(
            [postrider, "serve", "--config", folder / "relay.yaml"], stderr=subprocess.PIPE, text=True,
            env=os.environ | {"NOTIFY_SOCKET": self.supervisor.path})
        ready = self.logged("ready:")
        # ready: providers connect to 127.0.0.1:34567, devices to 127.0.0.1:45678, …
        self.endpoints = [self.endpoint(ready, words) for words in ("providers connect to ", "devices to ")]
        self.supervisor.hears("READY")

    @staticmethod
    def endpoint(line, words):
        host, port = line.split(words)[1].split(",")[0].split(":")
        return host, int(port)

    def configure(self, level, **more):
        (self.folder / "relay.yaml").write_text("".join(f"{name}: {value}\n" for name, value in {
            "provider-address": "127.0.0.1:0",
            "device-address": "127.0.0.1:0",
            "data-directory": self.folder / "data",
            "certificate": self.paper.certificate,
            "private-key": self.paper.key,
            "provider-trust": self.trust,
            "log-level": level,
            "shards": 2,
            **{name.replace("_", "-"): value for name, value in more.items()},
        }.items()))

    def logged(self, words):
        """The next line of the log that holds these words."""
        for line in self.process.stderr:
            if words in line:
                return line
        sys.exit(f"the relay ended without a word of '{words}'")

    def reload(self, words):
        """Sends SIGHUP, and answers what the log says of it when it is over."""
        self.process.send_signal(signal.SIGHUP)
        self.supervisor.hears("RELOADING", "MONOTONIC_USEC")
        line = self.logged(words)
        self.supervisor.hears("READY")
        return line

    def clients(self):
        return [Client(endpoint, self.paper.authority) for endpoint in self.endpoints]

    def lets_in(self, certificate):
        """Whether a provider is answered that shows this certificate."""
        client = Client(self.endpoints[0], self.paper.authority, certificate=certificate)
        try:
            return answers(client)
        except (OSError, h2.exceptions.ProtocolError):
            return False
        finally:
            client.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        require(self.process.wait(PATIENCE_SECONDS) == 0, "the relay ends in good order")


def name(client):
    """Whom the certificate of a connection names."""
    certificate = x509.load_der_x509_certificate(client.socket.getpeercert(binary_form=True))
    return certificate.subject.rfc4514_string()


def answers(client):
    return client.request(REQUEST)[0] in (404, 405)


def show(relay):
    """Every connection that lives has its answer; `seen` is what a new one sees."""
    living = []

    def check(seen):
        new = relay.clients()
        living.append(new[0])
        require({name(client) for client in new} == {f"CN={seen}"}, f"a new connection sees {seen}")
        require(all(answers(client) for client in living), "every connection lives")

    check("first")
    say("the relay shows its certificate")

    relay.paper.issue("second")
    relay.reload("reloaded: ")
    check("second")
    require(name(living[0]) == "CN=first", "the old connection is as it was")
    say("a new certificate is seen by new connections, and the old ones live")

    good = relay.paper.key.read_bytes(), relay.paper.certificate.read_bytes()
    for told, spoil, file in [
        ("a certificate that is none", lambda: relay.paper.certificate.write_text("junk"), relay.paper.certificate),
        ("a certificate that is gone", relay.paper.certificate.unlink, relay.paper.certificate),
        ("a key of another certificate", lambda: relay.paper.stray_key(), relay.paper.key),
        ("a key that others can read", lambda: relay.paper.key.chmod(0o644), relay.paper.key),
        ("a trust file that is none", lambda: relay.trust.write_text("junk"), relay.trust),
        ("a setting that is wrong", lambda: relay.configure("loud"), relay.folder / "relay.yaml"),
    ]:
        spoil()
        line = relay.reload("not reloaded, ")
        require(str(file) in line, f"{told}: the log names {file}: {line}")
        check("second")
        relay.paper.key.write_bytes(good[0])
        relay.paper.key.chmod(0o600)
        relay.paper.certificate.write_bytes(good[1])
        relay.trust.write_bytes(relay.paper.authority.read_bytes())
        say(f"{told} changes nothing, and the log names it")

    provider = relay.providers.issue_to_provider("com.example.app")
    require(not relay.lets_in(provider), "nobody trusts the provider's authority yet")
    relay.paper.issue("third")
    relay.configure("debug")
    relay.trust.write_bytes(relay.providers.authority.read_bytes())
    relay.reload("reloaded: ")
    check("third")
    require(relay.lets_in(provider), "the provider's authority is trusted")
    living.pop().close()
    relay.logged("debug")
    relay.configure("debug", source_rate="fast")
    line = relay.reload("not reloaded, ")
    require("relay.yaml:9:" in line and "source-rate" in line, f"the log names file and line: {line}")
    relay.configure("notice", log_format="json", source_rate=50, shards=3)
    line = json.loads(relay.reload("reloaded: "))["message"]
    for words in ["source-rate is 50 now (it was not set)", "log-format is json now", "log-level is notice now (it was debug)",
                  "shards has changed, which counts from the next start on"]:
        require(words in line, f"the log says '{words}': {line}")
    relay.configure("notice", log_format="text")
    require(relay.reload("reloaded: ").startswith("20"), "the log is text again")
    reloads = [json.loads(line) for line in (relay.folder / "data/audit.jsonl").read_text().splitlines()]
    done = [record for record in reloads if record["outcome"] == "done"]
    require(all(record["action"] == "reload" and record["pid"] == os.getpid() for record in reloads), "reloads are audited")
    require(any(record.get("details", {}).get("source-rate") == "50" for record in done), f"with what changed: {done}")
    say("limits and the log's form change while the relay runs, and one line tells what has changed")
    say("the next good ones are taken, the trust file with them, and the log's new level")


def hang_up(postrider, folder):
    """A terminal that is closed ends the relay that runs in it."""
    arguments = [postrider, "dev", "-d", str(folder / "dev"), "--json", "--provider-port", "0", "--device-port", "0"]
    try:
        process, terminal = pty.fork()
    except OSError as error:
        # A bare chroot or container has none.
        say(f"this machine has no terminals ({error}): a relay's end with its terminal was not tried")
        return
    if process == 0:
        os.execv(postrider, arguments)
    text = b""
    while b"providerPort" not in text:
        text += os.read(terminal, 4096)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    require(os.waitstatus_to_exitcode(status) == 0, f"the relay ends with {status}")
    say("a relay ends in good order with its terminal")


def main(postrider, folder):
    relay = ServedRelay(postrider, folder)
    try:
        show(relay)
    finally:
        relay.end()
    hang_up(postrider, folder)


main(sys.argv[1], Path(sys.argv[2]))
