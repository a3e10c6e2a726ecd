"""KDE's connector library against this tree's agent and relay. Each line of the output is a sentence that has been found true, the last but
for one that was not.

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
  <type>session</type><listen>unix:path=/srv/trial/bus</listen><auth>EXTERNAL</auth>
  <servicedir>/srv/trial/services</servicedir>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""


class Trial:
    """The relay, the agent and the bus, and the app that the bus starts."""

    def __init__(self, postrider, folder):
        self.postrider = postrider
        self.folder = Path(folder)
        self.machine = self.folder / "machine"
        self.place = self.machine / "srv" / "trial"
        self.told = self.place / "told"
        self.programs = {}

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
        self.relay = Relay.described_in(self.folder / "relay.json")

    def start_bus(self):
        self.place.joinpath("bus.conf").write_text(BUS)
        self.place.joinpath("services").mkdir()
        self.place.joinpath("services", f"{SERVICE}.service").write_text(
            f"[D-BUS Service]\nName={SERVICE}\nExec=/srv/trial/app {SERVICE} /srv/trial/told\n")
        self.told.touch()
        self.start(
            "bus", "chroot", str(self.machine), "dbus-daemon", "--config-file=/srv/trial/bus.conf", "--nofork", "--nopidfile",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/srv/trial", "XDG_CONFIG_HOME": "/srv/trial"})

    def start_agent(self):
        host, port = self.relay.device_endpoint
        self.start(
            "agent", self.postrider, "agent", "--relay", f"{host}:{port}", "--ca", self.relay.ca, "--state",
            str(self.folder / "agent"), "--socket", str(self.folder / "agent.sock"), "--session-bus",
            f"unix:path={self.place}/bus", "--unifiedpush", "true",
            env=os.environ | {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere", "POSTRIDER_ENROLMENT_KEY": self.relay.enrolment_key})

    def ask_bus(self, *arguments):
        """Calls the bus itself, and returns the words of its answer."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/srv/trial/bus"}
        answer = subprocess.run(
            ["chroot", str(self.machine), "dbus-send", "--session", "--print-reply=literal", "--dest=org.freedesktop.DBus",
             "/org/freedesktop/DBus", *arguments], env=environment, capture_output=True, text=True)
        return answer.stdout.split()

    def has_distributor(self):
        return self.ask_bus("org.freedesktop.DBus.NameHasOwner", "string:org.unifiedpush.Distributor.Postrider") == [
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
        await until(lambda: len(self.lines("message")) >= len(messages))
        require(self.lines("message") == messages, f"the app has got {self.lines('message')}")

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
    trial.start_agent()
    await until(trial.has_distributor)
    trial.start_app()
    await until(lambda: trial.lines("endpoint"))
    say("KDE's connector registers with the agent.")
    for text in ("one", "two", "three"):
        trial.send(text)
    await trial.gets(["one", "two", "three"])
    say("It gets three messages, and decrypts them.")
    trial.end_app()
    trial.send("four")
    await trial.gets(["one", "two", "three", "four"])
    require(len(trial.lines("endpoint")) == 1, "its address has changed")
    say("A message starts the app when it does not run.")
    trial.kill("agent")
    trial.end_app()
    trial.send("five")
    trial.start_agent()
    trial.send("six")
    await trial.gets(["one", "two", "three", "four", "five", "six"])
    require(len(trial.lines("endpoint")) == 1, "its address has changed")
    say("The agent is killed between two messages: none is lost, and none comes twice.")
    say("All of it.")


def main():
    trial = Trial(sys.argv[1], sys.argv[2])
    try:
        asyncio.run(asyncio.wait_for(run(trial), 120))
    finally:
        if trial.told.exists() and trial.lines("pid"):
            trial.end_app()
        for name in list(trial.programs):
            trial.kill(name)


if __name__ == "__main__":
    main()
