"""The relay under test, as `postrider dev --json` describes it, and functions that all programs share."""

import asyncio
import json
import random
import socket
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Relay:
    """The relay's addresses, and the keys and certificates of a provider and a device."""

    provider_endpoint: tuple[str, int]
    development_endpoint: tuple[str, int]
    device_endpoint: tuple[str, int]
    ca: str
    key: str
    key_identifier: str
    team: str
    topic: str
    enrolment_key: str

    @classmethod
    def described_in(cls, path):
        """Reads the description from a file."""
        told = json.loads(Path(path).read_text())
        return cls(
            provider_endpoint=(told["host"], told["providerPort"]),
            development_endpoint=(told["host"], told["developmentProviderPort"]),
            device_endpoint=(told["host"], told["devicePort"]),
            ca=told["authorityFile"],
            key=told["keyFile"],
            key_identifier=told["keyIdentifier"],
            team=told["team"],
            topic=told["topics"][0],
            enrolment_key=told["enrolmentKey"],
        )

    @property
    def tls(self):
        """Returns a client's TLS context without ALPN, like that of aioapns."""
        return ssl.create_default_context(cafile=self.ca)


def require(condition, sentence):
    """Ends the program with a sentence if a condition is false."""
    if not condition:
        sys.exit(sentence)


async def until(condition):
    """Waits for a condition that nobody announces, such as a change of a file by another process.

    It is checked repeatedly.
    """
    while not condition():
        await asyncio.sleep(0.02)


def lasting_ports(count):
    """Returns ports that are free and stay free while nobody listens: below those that the kernel hands out."""
    found = []
    for port in random.sample(range(16_384, 32_768), 1000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            break
    return found


def say(line):
    """Tells the test which point the program has reached."""
    print(line, flush=True)
