"""Many pushes from aioapns to many grpcio devices: every one arrives exactly once after de-duplication.

usage: flood.py RELAY.json [--pushes N] [--devices N] [--away] [--unordered]

With --away every other device is offline half of the time. With --unordered the relay may be killed meanwhile: pushes
that are sent again arrive in another order.
"""

import argparse
import asyncio
import logging
from uuid import UUID, uuid4

from aioapns import NotificationRequest
from h2.exceptions import ProtocolError

from device import Device
from provider import make_provider
from relay import Relay, require, say

PHASES = 8
IN_FLIGHT = 100
CONNECTIONS = 4


class Flood:
    def __init__(self, relay, arguments):
        self.relay = relay
        self.pushes = arguments.pushes
        self.goes_away = arguments.away
        self.is_ordered = not arguments.unordered
        self.devices = [Device(relay, f"device {number}") for number in range(arguments.devices)]
        # The identities pushed to each device, in order.
        self.pushed = [[] for _ in self.devices]
        self.accepted = 0
        self.progress = asyncio.Condition()

    async def run(self):
        await asyncio.gather(*(self.prepare(device) for device in self.devices))
        say(f"{len(self.devices)} devices are ready")
        self.providers = [make_provider(self.relay) for _ in range(CONNECTIONS)]
        async with asyncio.TaskGroup() as group:
            residents = [
                group.create_task(self.commute(device, number) if self.goes_away and number % 2 == 1 else device.stay())
                for number, device in enumerate(self.devices)
            ]
            await asyncio.gather(*(self.provide(number) for number in range(CONNECTIONS)))
            say("every push was accepted")
            # Everyone is at home now. What comes before a device's last push has arrived before it.
            await asyncio.gather(*(self.push(number, "the last") for number in range(len(self.devices))))
            for device, identities in zip(self.devices, self.pushed):
                await device.has_had(identities[-1])
            for resident in residents:
                resident.cancel()
        self.check()

    async def prepare(self, device):
        await device.join()
        await device.disconnect()

    async def provide(self, provider):
        """Sends the share of one connection, in order, with so many in flight. Device n is served by provider n."""
        own = range(provider, len(self.devices), CONNECTIONS)
        share = range(provider, self.pushes, CONNECTIONS)
        room = asyncio.Semaphore(IN_FLIGHT)
        # The first opens the connection; those that waited for it would overtake each other.
        await self.push(own[0], "the first")

        async def push(number):
            await self.push(own[number % len(own)], f"push {number}")
            room.release()

        async with asyncio.TaskGroup() as group:
            for number in range(len(share)):
                await room.acquire()
                group.create_task(push(number))

    async def push(self, number, text):
        identity = uuid4()
        self.pushed[number].append(identity.bytes)
        request = NotificationRequest(
            device_token=self.devices[number].token, message={"aps": {"alert": text}}, notification_id=str(identity))
        result = await self.send(self.providers[number % CONNECTIONS], request)
        require(result.is_successful, f"a push got {result.status} {result.description}")
        async with self.progress:
            self.accepted += 1
            if self.accepted % max(1, self.pushes // PHASES // 4) == 0:
                say(f"accepted {self.accepted}")
                self.progress.notify_all()

    async def send(self, provider, request):
        while True:
            try:
                result = await provider.send_notification(request)
                if result.status != "503":
                    return result
            except ProtocolError:
                # aioapns uses a connection a little longer than its GOAWAY allows, and leaves the next attempt to us.
                pass
            # A provider that is told to come later does so.
            await asyncio.sleep(0.05)

    async def commute(self, device, number):
        """Is at home in every other phase, and at last. Leaves politely or not."""
        for phase in range(PHASES):
            is_home = (phase + number // 2) % 2 == 0
            stay = asyncio.create_task(device.stay()) if is_home else None
            await self.reaches(phase + 1)
            if stay and phase % 4 < 2:
                device.leave()
                await stay
            elif stay:
                stay.cancel()
                await asyncio.wait([stay])
        await device.stay()

    async def reaches(self, phase):
        async with self.progress:
            await self.progress.wait_for(lambda: self.accepted >= self.pushes * phase // PHASES * 0.9)

    def check(self):
        copies = sum(device.copies for device in self.devices)
        for number, (device, pushed) in enumerate(zip(self.devices, self.pushed)):
            arrived = [identity for _, identity in device.arrivals]
            missing = [str(UUID(bytes=identity)) for identity in set(pushed) - set(arrived)]
            require(not missing, f"device {number} misses {missing}")
            require(len(arrived) == len(pushed), f"device {number} has {len(arrived)} of {len(pushed)}")
            if self.is_ordered:
                require(arrived == pushed, f"device {number} got its notifications in another order")
        say(f"all {sum(map(len, self.pushed))} notifications arrived once, besides {copies} copies")


parser = argparse.ArgumentParser()
parser.add_argument("relay")
parser.add_argument("--pushes", type=int, default=10_000)
parser.add_argument("--devices", type=int, default=100)
parser.add_argument("--away", action="store_true")
parser.add_argument("--unordered", action="store_true")
arguments = parser.parse_args()
logging.getLogger("aioapns").setLevel(logging.CRITICAL)
asyncio.run(Flood(Relay.described_in(arguments.relay), arguments).run())
