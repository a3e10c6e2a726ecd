"""Devices of a relay for tests: the program `postrider device`.

The program is there already, because it is the relay too. A device of our own over grpcio would need a compiled package, and
would have to keep up with the protocol.
"""

import json
import os
import subprocess
import threading
from collections import deque
from dataclasses import dataclass

from .expectation import Expectable


class DeviceError(Exception):
    """A device could not register, or has ended."""


@dataclass(frozen=True)
class Notification(Expectable):
    """A notification that a device has received."""

    raw: dict

    @property
    def id(self):
        """The apns-id; letters may be small where those of the provider were capital."""
        return self.raw["id"]

    @property
    def topic(self):
        return self.raw["topic"]

    @property
    def push_type(self):
        return self.raw.get("pushType")

    @property
    def priority(self):
        return self.raw["priority"]

    @property
    def collapse_id(self):
        return self.raw.get("collapseId")

    @property
    def payload(self):
        return self.raw["payload"]

    @property
    def title(self):
        return f"notification {self.id}"

    def __str__(self):
        return f"  {self.id}: {self.push_type} {self.topic} {json.dumps(self.payload, ensure_ascii=False)}"


class Device:
    """A device that has registered its topics, and receives what is pushed to them until it is closed."""

    def __init__(self, program, folder, topics, environment="production", name="device", timeout=30.0):
        self._command = [program, "device", "--json", "--directory", folder, "--parent", str(os.getpid())]
        self._command += ["--state", os.path.join(folder, f"{name}.json"), "--name", name, "--environment", environment]
        for topic in topics:
            self._command += ["--topic", topic]
        self.name = name
        self.topics = list(topics)
        self.tokens = {}
        self._notifications = []
        self._news = threading.Condition()
        self._process = None
        self.start(timeout)

    @property
    def token(self):
        """The device token of the first topic."""
        return self.tokens[self.topics[0]]

    def start(self, timeout=30.0):
        """Connects again after ``stop()``, as the same device. Returns when its topics are registered."""
        if self._process is not None:
            return
        self._is_connected, self._has_ended, self._errors = False, False, deque(maxlen=50)
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise DeviceError(f"{self._command[0]} cannot be started ({error.strerror})") from error
        self._readers = [
            threading.Thread(target=read, args=(self._process,), daemon=True) for read in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()
        with self._news:
            self._news.wait_for(lambda: self._has_ended or self._is_ready(), timeout)
            is_ready = self._is_ready()
        if not is_ready:
            self.stop()
            said = "\n".join(self._errors) or "it said nothing"
            raise DeviceError(f"the device did not register {', '.join(self.topics)} within {timeout} seconds: {said}")

    def stop(self):
        """Ends the connection. The relay keeps what is pushed meanwhile."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for reader in self._readers:
            reader.join(5)
        self._process.stdout.close()
        self._process.stderr.close()
        self._process = None

    close = stop

    def all(self):
        """The notifications so far, oldest first."""
        with self._news:
            return list(self._notifications)

    def wait(self, count=1, timeout=5.0):
        """Waits until this many notifications have come, and returns all of them."""
        __tracebackhide__ = True
        with self._news:
            if self._news.wait_for(lambda: len(self._notifications) >= count, timeout):
                return list(self._notifications)
            came = list(self._notifications)
        list_of_all = "\n".join(map(str, came)) or "  nothing"
        raise AssertionError(
            f"{len(came)} of {count} notifications came to {self.name} within {timeout} seconds; all that came:\n{list_of_all}"
        )

    def _is_ready(self):
        return self._is_connected and all(topic in self.tokens for topic in self.topics)

    def _read(self, process):
        for line in process.stdout:
            event = json.loads(line)
            with self._news:
                self._note(event)
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def _note(self, event):
        kind = event["event"]
        if kind == "connected":
            self._is_connected = True
        elif kind == "registered":
            self.tokens[event["topic"]] = event["token"]
        elif kind == "refused":
            self._errors.append(f"the relay refused {event['topic']}: {event['reason']}")
            self._has_ended = True
        elif kind == "notification":
            self._notifications.append(Notification(event))

    def _read_errors(self, process):
        for line in process.stderr:
            self._errors.append(line.rstrip())
