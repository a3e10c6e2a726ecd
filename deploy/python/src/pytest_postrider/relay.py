"""A relay for tests: the program `postrider dev`."""

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from pathlib import Path

from . import control
from .captures import Captures
from .device import Device


class RelayError(Exception):
    """The relay could not be started, or ended too early."""


class Relay:
    """A relay that runs until it is closed, with the values that a provider needs to push to it."""

    def __init__(self, program="postrider", topics=(), options=(), keys=None):
        self._program = program
        self._folder = tempfile.mkdtemp(prefix="pr-")
        for file in Path(keys).iterdir() if keys else ():
            shutil.copy2(file, self._folder)
        self._devices = []
        self._device_count = 0
        command = [program, "dev", "--json", "--directory", self._folder, "--any-token", "--parent", str(os.getpid())]
        for port in ("provider", "development", "device"):
            command += [f"--{port}-port", "0"]
        for topic in topics:
            command += ["--topic", topic]
        self._errors = deque(maxlen=50)
        try:
            self._process = subprocess.Popen(
                [*command, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RelayError(
                f"{program} cannot be started ({error.strerror}): install Postrider, or name the program with --postrider"
            ) from error
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._read_values()
        self.captures = Captures(self._ask)

    def _read_errors(self):
        # The log is read for the message of a test that fails; the relay does not need a reader.
        for line in self._process.stderr:
            self._errors.append(line.rstrip())

    def _read_values(self):
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RelayError("postrider dev ended before it was ready:\n" + "\n".join(self._errors))
        values = json.loads(line)
        self.values = values
        self.host = values["host"]
        self.port = values["providerPort"]
        self.development_port = values["developmentProviderPort"]
        self.device_port = values["devicePort"]
        self.ca = values["authorityFile"]
        self.key = values["keyFile"]
        self.key_id = values["keyIdentifier"]
        self.team = values["team"]
        self.topics = values["topics"]
        self.topic = values["topics"][0]
        self.certificate = values["providerCertificateFile"]
        self._socket = values["controlAddress"].removeprefix("unix:")

    def rules(self, rules, seed=0):
        """Replaces all rules by these: a list, or the text of a file."""
        text = rules if isinstance(rules, str) else json.dumps({"seed": seed, "rules": rules})
        return json.loads(self._ask("PUT", "/v1/rules", text.encode()))

    def rule_counts(self):
        """How often each rule has matched: a list of {"rule", "name", "considered", "matched"}."""
        return json.loads(self._ask("GET", "/v1/rules"))

    def device(self, *topics, environment="production", timeout=30.0):
        """Registers a device of this machine for these topics, or for the relay's first. It is closed after the test."""
        self._device_count += 1
        name = f"device {self._device_count}"
        device = Device(self._program, self._folder, topics or [self.topic], environment, name, timeout)
        self._devices.append(device)
        return device

    def close_devices(self):
        """Ends all devices."""
        while self._devices:
            self._devices.pop().close()

    def reset(self):
        """Ends all devices, and removes all captures and rules."""
        self.close_devices()
        self.captures.clear()
        self.rules([])

    def keep_keys(self, folder):
        """Copies certificates and keys to a folder. Making them takes most of a start; a relay that gets them has nothing else of this one."""
        for pattern in ("*.pem", "*.key", "*.p8", "*.names"):
            for file in Path(self._folder).glob(pattern):
                if file.name != "enrolment.key":
                    shutil.copy2(file, folder)

    def log(self):
        """The last lines of the relay's log."""
        return list(self._errors)

    def close(self):
        """Ends the relay and its devices, and removes its folder."""
        self.close_devices()
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        self._process.stdout.close()
        self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _ask(self, method, target, body=b"", timeout=10.0):
        if self._process.poll() is not None:
            raise RelayError("the relay has ended:\n" + "\n".join(self._errors))
        return control.request(self._socket, method, target, body, timeout)
