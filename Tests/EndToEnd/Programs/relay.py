"""The relay under test, as `postrider dev --json` describes it, and the bookkeeping that all programs share."""

import asyncio
import json
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Relay:
    """Where the relay listens, and what a provider and a device need to be let in."""

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
        """A client's TLS without ALPN, as aioapns has it."""
        return ssl.create_default_context(cafile=self.ca)


def require(condition, sentence):
    """Ends the program with a sentence where something did not happen as it should."""
    if not condition:
        sys.exit(sentence)


async def until(condition):
    """Returns when something is so that nobody is told of, such as what another process has done to a file.

    Asks again and again.
    """
    while not condition():
        await asyncio.sleep(0.02)


def say(line):
    """Tells the test how far the program is."""
    print(line, flush=True)
