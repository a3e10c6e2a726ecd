"""What a service tells systemd: that it is ready, that it is alive for as long as it is, that it reloads, that it stops.

usage: service.py relay POSTRIDER FOLDER
       service.py agent POSTRIDER FOLDER
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from relay import require, say
from wire import PATIENCE_SECONDS

SIGNS = 3
MANIFEST = "topic: com.example.kiosk\nprogram: /bin/sh\narguments: [-c, exit 0]\nbackground: true\n"


class Service:
    """A program as systemd runs it."""

    def __init__(self, arguments, folder, **environment):
        path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(PATIENCE_SECONDS)
        self.socket.bind(path)
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=os.environ | environment | {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"})

    def hears(self, expected):
        """Waits for a state, and answers how many signs of life came before it."""
        signs = 0
        while True:
            state = self.socket.recv(4096).decode().split("=")[0]
            if state == expected:
                return signs
            require(state == "WATCHDOG", f"the supervisor is told {state}, not {expected}")
            signs += 1

    def lives(self):
        for _ in range(SIGNS):
            self.hears("WATCHDOG")

    def logged(self, words):
        for line in self.process.stderr:
            if words in line:
                return line
        sys.exit(f"the service ended without a word of '{words}'")

    def reloads(self, words):
        self.process.send_signal(signal.SIGHUP)
        self.hears("RELOADING")
        line = self.logged("reloaded")
        require(words in line, f"the log says {line.strip()!r}, not {words!r}")
        self.hears("READY")

    def hangs(self):
        """One that stands still gives no sign of life."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        self.socket.setblocking(False)
        try:
            while self.socket.recv(4096):
                pass
        except BlockingIOError:
            pass
        # Five times as long as it takes: nothing comes, whatever the machine's load.
        self.socket.settimeout(0.5)
        try:
            require(not self.socket.recv(4096), "nothing comes from a process that stands still")
        except TimeoutError:
            pass
        self.socket.settimeout(PATIENCE_SECONDS)
        self.process.send_signal(signal.SIGCONT)
        self.lives()

    def ends(self):
        self.process.send_signal(signal.SIGTERM)
        self.hears("STOPPING")
        require(self.process.wait(PATIENCE_SECONDS) == 0, "it ends in good order")


def relay(postrider, folder):
    service = Service(
        [postrider, "dev", "--directory", folder / "dev", "--topic", "com.example.app", "--provider-port", "0",
         "--device-port", "0"], folder)
    service.hears("READY")
    service.lives()
    service.hangs()
    service.ends()


def agent(postrider, folder):
    apps = folder / "apps"
    apps.mkdir()
    # Nobody is there: an agent is alive without its relay.
    service = Service(
        [postrider, "agent", "--relay", "127.0.0.1:1", "--state", folder / "state", "--socket", folder / "agent.sock",
         "--apps-directory", apps], folder, POSTRIDER_ENROLMENT_KEY="enrol-nobody")
    service.hears("READY")
    service.lives()
    (apps / "kiosk.yaml").write_text(MANIFEST)
    service.reloads("1 app is declared; added com.example.kiosk")
    listed = subprocess.run(
        [postrider, "agent", "apps", "--socket", folder / "agent.sock"], capture_output=True, text=True, check=True)
    require("com.example.kiosk" in listed.stdout, "the app is known")
    (apps / "kiosk.yaml").write_text("topic: com.example.kiosk\n")
    service.reloads("not reloaded, everything stays as it was")
    (apps / "kiosk.yaml").unlink()
    service.reloads("0 apps are declared; removed com.example.kiosk")
    service.hangs()
    service.ends()


def main(scenario, postrider, folder):
    {"relay": relay, "agent": agent}[scenario](postrider, Path(folder))
    say("the supervisor has heard all")


if __name__ == "__main__":
    main(*sys.argv[1:])
