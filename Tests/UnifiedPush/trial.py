"""An app with KDE's connector library, first with this tree's agent as its distributor, then with KDE's own, which is a device of the
relay over a WebSocket. Each line of the output is a sentence that has been found true, the last but for one that was not.

usage: trial.py POSTRIDER FOLDER    (FOLDER/machine is the Debian, with the app in /srv/trial/app)
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "EndToEnd" / "Programs"))

import pywebpush

from relay import Relay, require, say, until

SERVICE = "org.example.postrider.Kde"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type><listen>unix:path={place}/bus</listen><auth>EXTERNAL</auth>
  <servicedir>{place}/services</servicedir>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""


class Trial:
    """The relay, a distributor and the bus, and the app that the bus starts."""

    def __init__(self, postrider, folder, distributor):
        self.postrider = postrider
        self.distributor = distributor
        self.machine = Path(folder) / "machine"
        self.folder = Path(folder) / distributor
        self.folder.mkdir()
        # What the programs in the Debian have: its path there, and here.
        self.inside = f"/srv/{distributor}"
        self.place = self.machine / "srv" / distributor
        self.place.mkdir()
        self.told = self.place / "told"
        self.programs = {}
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": self.inside, "XDG_CONFIG_HOME": self.inside,
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.inside}/bus", "UNIFIEDPUSH_DISTRIBUTOR": distributor,
        }

    def start(self, name, *command, **more):
        self.programs[name] = subprocess.Popen(command, **more)
        return self.programs[name]

    def kill(self, name):
        program = self.programs.pop(name)
        program.kill()
        program.wait()

    def start_relay(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        relay = self.start(
            "relay", self.postrider, "dev", "--json", "--directory", str(self.folder / "dev"), "--provider-port", "0",
            "--development-port", "0", "--device-port", "0", "--web-port", str(port), stdout=subprocess.PIPE, text=True)
        line = next(line for line in relay.stdout if line.startswith("{"))
        (self.folder / "relay.json").write_text(line)
        self.description = json.loads(line)
        self.relay = Relay.described_in(self.folder / "relay.json")

    def start_bus(self):
        self.place.joinpath("bus.conf").write_text(BUS.format(place=self.inside))
        self.place.joinpath("services").mkdir()
        self.place.joinpath("services", f"{SERVICE}.service").write_text(
            f"[D-BUS Service]\nName={SERVICE}\nExec=/srv/trial/app {SERVICE} {self.inside}/told\n")
        self.told.touch()
        self.start_inside("bus", "dbus-daemon", f"--config-file={self.inside}/bus.conf", "--nofork", "--nopidfile")

    def start_inside(self, name, *command):
        self.start(name, "chroot", str(self.machine), *command, env=self.environment)

    def start_distributor(self):
        if self.distributor == "kde":
            return self.start_inside("distributor", "kunifiedpush-distributor")
        host, port = self.relay.device_endpoint
        self.start(
            "distributor", self.postrider, "agent", "--relay", f"{host}:{port}", "--ca", self.relay.ca, "--state",
            str(self.folder / "agent"), "--socket", str(self.folder / "agent.sock"), "--session-bus",
            f"unix:path={self.place}/bus", "--unifiedpush", "true",
            env=os.environ | {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere", "POSTRIDER_ENROLMENT_KEY": self.relay.enrolment_key})

    def configure_kde(self):
        """Points KDE's distributor at the relay, and lets Qt trust its authority."""
        url = self.description["webURL"].replace("wss:", "https:")
        settings = self.place / "KDE" / "kunifiedpush-distributor.conf"
        settings.parent.mkdir()
        settings.write_text(f"[PushProvider]\nType=Autopush\n\n[Autopush]\nUrl={url}\n")
        digest = subprocess.run(
            ["openssl", "x509", "-hash", "-noout", "-in", self.relay.ca], capture_output=True, text=True, check=True)
        authorities = self.machine / "etc" / "ssl" / "certs"
        authorities.mkdir(parents=True, exist_ok=True)
        authorities.joinpath(f"{digest.stdout.strip()}.0").write_bytes(Path(self.relay.ca).read_bytes())

    def told_by(self, *command):
        """Runs a command of postrider, and returns the JSON that it prints."""
        return json.loads(subprocess.run([self.postrider, *command], capture_output=True, text=True, check=True).stdout)

    def is_settled(self):
        """Returns whether relay and distributor hold no message any more."""
        status = self.told_by("status", "--json", "--control", self.description["controlAddress"])
        if status["counters"]["pending"]:
            return False
        socket = str(self.folder / "agent.sock")
        return self.distributor == "kde" or not self.told_by("agent", "inbox", "--json", "--socket", socket)

    def ask_bus(self, *arguments):
        """Calls the bus itself, and returns the words of its answer."""
        answer = subprocess.run(
            ["chroot", str(self.machine), "dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.DBus",
             "/org/freedesktop/DBus", *arguments], env=self.environment, capture_output=True, text=True)
        return answer.stdout.split()

    def has_distributor(self):
        return self.ask_bus("org.freedesktop.DBus.NameHasOwner", f"string:org.unifiedpush.Distributor.{self.distributor}") == [
            "boolean", "true"]

    def start_app(self):
        self.ask_bus("org.freedesktop.DBus.StartServiceByName", f"string:{SERVICE}", "uint32:0")

    def end_app(self):
        """Ends the app, and waits until the bus knows."""
        os.kill(int(self.lines("pid")[-1]), signal.SIGKILL)
        while self.ask_bus("org.freedesktop.DBus.NameHasOwner", f"string:{SERVICE}") != ["boolean", "false"]:
            pass

    def lines(self, kind):
        told = [line.split(" ", 1) for line in self.told.read_text().splitlines()]
        return [line[1] for line in told if line[0] == kind]

    async def gets(self, messages):
        """Waits until the app has all of these messages, in this order, and nobody holds another one."""
        await until(lambda: set(self.lines("message")) >= set(messages))
        await until(self.is_settled)
        got = self.lines("message")
        if self.distributor == "kde":
            # When it starts, it opens a second connection before it has acknowledged what came over the first.
            got = list(dict.fromkeys(got))
        require(got == messages, f"the app has got {got}")

    def send(self, text):
        """Encrypts a message for the app, and posts it, as a server does."""
        endpoint, key, secret = self.lines("endpoint")[-1].split()
        subscription = {"endpoint": endpoint, "keys": {"p256dh": key, "auth": secret}}
        answer = pywebpush.WebPusher(subscription, verbose=False).send(text.encode(), ttl=600, timeout=30)
        require(answer.status_code == 201, f"a message is answered with {answer.status_code}")


async def run(trial):
    trial.start_relay()
    os.environ["REQUESTS_CA_BUNDLE"] = trial.relay.ca
    trial.start_bus()
    await until((trial.place / "bus").exists)
    if trial.distributor == "kde":
        trial.configure_kde()
    trial.start_distributor()
    await until(trial.has_distributor)
    trial.start_app()
    await until(lambda: trial.lines("endpoint"))
    say(f"{trial.distributor}: an app with KDE's connector registers.")
    for text in ("one", "two", "three"):
        trial.send(text)
    await trial.gets(["one", "two", "three"])
    say("It gets three messages, and decrypts them.")
    trial.end_app()
    trial.send("four")
    await trial.gets(["one", "two", "three", "four"])
    say("A message starts the app when it does not run.")
    trial.kill("distributor")
    trial.end_app()
    trial.send("five")
    trial.start_distributor()
    trial.send("six")
    await trial.gets(["one", "two", "three", "four", "five", "six"])
    require(len(trial.lines("endpoint")) == 1, "its address has changed")
    say(
        "The distributor is killed between two messages: none is lost"
        + ("." if trial.distributor == "kde" else ", and none comes twice."))


def main():
    for distributor in ("Postrider", "kde"):
        trial = Trial(sys.argv[1], sys.argv[2], distributor)
        try:
            asyncio.run(asyncio.wait_for(run(trial), 120))
        finally:
            if trial.told.exists() and trial.lines("pid"):
                trial.end_app()
            for name in list(trial.programs):
                trial.kill(name)
    say("All of it.")


if __name__ == "__main__":
    main()
