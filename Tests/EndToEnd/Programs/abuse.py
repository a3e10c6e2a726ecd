"""Every abuse of docs/internals/hardening.md against a live relay: each is met as it says there. A good provider and a good
device beside them miss nothing, and the relay is afterwards what it was before.

usage: abuse.py RELAY.json
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

from device import Device
from floods import Floods
from provider import bearer
from relay import Relay, require, say, until
from stalls import Stalls
from wire import Client, PATIENCE_SECONDS

# Memory that a relay may keep after everything: pools, tables and what the allocator does not give back. MiB.
KEPT_MEBIBYTES = 64


class Process:
    """The relay's process, as the kernel sees it."""

    def __init__(self, number):
        self.folder = Path("/proc") / str(number)

    def descriptors(self):
        return len(os.listdir(self.folder / "fd"))

    def mebibytes(self):
        pages = int((self.folder / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def has_sanitizer(self):
        """A sanitizer keeps memory on purpose."""
        program = (self.folder / "exe").read_bytes()
        return b"__asan_init" in program or b"__tsan_init" in program


class Witness:
    """A good provider that pushes all the time, one push after the other on one connection."""

    def __init__(self, relay, device):
        self.relay = relay
        self.device = device
        self.pushed = []
        self.is_over = False

    def run(self):
        client = Client(self.relay.provider_endpoint, self.relay.ca)
        authorization = bearer(self.relay)
        while not self.is_over:
            identity = uuid4()
            status, head, body, _ = client.request([
                (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
                (":path", f"/3/device/{self.device.token}"), ("authorization", authorization),
                ("apns-topic", self.relay.topic), ("apns-id", str(identity)),
            ], b'{"aps":{"alert":"good"}}')
            require((status, body) == (200, b""), f"a good push gets {status} {body}")
            require(head["apns-id"] == str(identity), "a good push is answered as another")
            self.pushed.append(identity.bytes)
            # A witness is no flood: 50 pushes in a second.
            time.sleep(0.02)
        client.close()
        return "all answered"


def met(name, abuse):
    """Runs an abuse, and tells how it was met."""
    try:
        say(f"{name}: {abuse()}")
    except (Exception, SystemExit) as failure:
        # At once: others are at work in threads of their own.
        print(f"{name}: {failure!r}", file=sys.stderr, flush=True)
        os._exit(1)


async def main(path):
    relay = Relay.described_in(path)
    process = Process(json.loads(Path(path).read_text())["process"])
    device = Device(relay, "a bystander")
    await device.join()
    witness, floods, stalls = Witness(relay, device), Floods(relay), Stalls(relay)
    # What is allocated once is allocated now.
    await asyncio.to_thread(floods.honest_resets)
    before = process.descriptors(), process.mebibytes()

    crowd = ThreadPoolExecutor(max_workers=32)
    loop = asyncio.get_running_loop()
    pushing = loop.run_in_executor(crowd, met, "good pushes", witness.run)
    # Those that take their time take it together.
    waiting = [loop.run_in_executor(crowd, met, name, abuse) for name, abuse in stalls.all()]
    for name, abuse in floods.all():
        await loop.run_in_executor(crowd, met, name, abuse)
    await asyncio.gather(*waiting)
    witness.is_over = True
    await pushing
    for identity in witness.pushed:
        await device.has_had(identity)
    say(f"{len(witness.pushed)} good pushes were answered and arrived meanwhile")

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(until(lambda: process.descriptors() <= before[0]), PATIENCE_SECONDS)
    after = process.descriptors(), process.mebibytes()
    require(after[0] <= before[0], f"of {after[0]} descriptors {before[0]} are needed")
    if not process.has_sanitizer():
        grown = after[1] - before[1]
        require(grown < KEPT_MEBIBYTES, f"the relay has grown by {grown:.0f} MiB")
    say(f"the relay has {after[0]} descriptors, {before[0]} before, and {after[1]:.0f} MiB, {before[1]:.0f} before")
    await device.disconnect()


asyncio.run(main(sys.argv[1]))
