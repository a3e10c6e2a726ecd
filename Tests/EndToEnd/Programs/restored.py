"""What a relay is that was restored from a backup, with the trace of the relay that it replaces moved beside its files.

usage: restored.py POSTRIDER FOLDER
"""

import asyncio
import dataclasses
import os
import re
import signal
import sys
from pathlib import Path
from uuid import uuid4

import fault
import grpc
from aioapns import NotificationRequest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from burning import PATIENCE, Scene
from device import Device
from provider import make_provider
from relay import require, say

SECOND, THIRD = "com.example.second", "com.example.third"
KEY = "REVOKED001"


class Restoration:
    """A relay, the relay from its backup, and what happened between the two."""

    def __init__(self, program, folder):
        self.folder = folder
        self.scene = Scene(program, folder, fault.build(folder))
        self.house = self.scene.house
        # Devices by what happens to them between the backup and the restoration.
        self.devices = {}

    async def join(self, name):
        """Enrols a device with the first topic, and has it leave."""
        device = self.devices[name] = Device(self.house.relay, name)
        await asyncio.wait_for(device.join(), PATIENCE)
        await device.disconnect()
        return device

    async def register(self, name, topic):
        """The device comes, registers a topic and leaves; answers the topic's token."""
        device = self.devices[name]
        device.relay = dataclasses.replace(self.house.relay, topic=topic)
        await asyncio.wait_for(device.connect(), PATIENCE)
        await asyncio.wait_for(device.register(), PATIENCE)
        await device.disconnect()
        return device.token

    async def push(self, token, topic=None, identity=None, relay=None):
        """Pushes with a provider of its own; answers the status, or the reason of a refusal."""
        relay = relay or self.house.relay
        identity = identity or uuid4()
        provider = make_provider(dataclasses.replace(relay, topic=topic or relay.topic), attempts=1)
        try:
            result = await asyncio.wait_for(provider.send_notification(NotificationRequest(
                device_token=token, message={"aps": {"alert": str(identity)}}, time_to_live=86400,
                notification_id=str(identity))), PATIENCE)
        finally:
            provider.pool.close()
        if result.is_successful and token == self.scene.device.token:
            self.scene.answers[identity.bytes] = 200
        return 200 if result.is_successful else result.description

    async def life(self, identity, until):
        """The state of a push and what happened to it, as `postrider trace` tells once it tells of `until`."""
        for _ in range(100):
            lines = (await self.house.tell("trace", str(identity))).splitlines()
            state = next(line.split()[1] for line in lines if line.startswith("state "))
            # 2026-11-21T14:44:57.997Z  0 ms      accepted: 32 bytes for …
            events = [re.split(r"  +", line)[2].split(":")[0] for line in lines if line.startswith("20")]
            if until in " | ".join(events):
                return state, events
        sys.exit(f"the trace does not say '{until}': {lines}")

    async def prepare(self):
        await self.scene.prepare()
        for topic in (SECOND, THIRD):
            await self.house.tell("topics", "add", topic, "--team-id", self.house.relay.team)
        key = ec.generate_private_key(ec.SECP256R1())
        self.key = self.folder / f"AuthKey_{KEY}.p8"
        self.key.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        self.key.chmod(0o600)
        await self.house.tell("keys", "add", str(self.key), "--team-id", self.house.relay.team)
        for name in ("removed", "unregistered", "returns", "returns otherwise"):
            await self.join(name)
        self.waiting = uuid4()
        require(await self.push(self.scene.device.token, identity=self.waiting) == 200, "a push is accepted")

    async def go_on(self):
        """What happens after the backup, and is not in it."""
        await self.scene.arrive()
        await asyncio.wait_for(self.scene.device.has_had(self.waiting.bytes), PATIENCE)
        await self.scene.leave()
        self.tokens = {name: await self.register(name, SECOND) for name in ("returns", "returns otherwise")}
        for token in self.tokens.values():
            require(await self.push(token, SECOND) == 200, "a new registration is good")
        await self.join("later")
        await self.house.tell("devices", "remove", self.devices["removed"].identity.hex())
        leaver = self.devices["unregistered"]
        await asyncio.wait_for(leaver.connect(), PATIENCE)
        await asyncio.wait_for(leaver.unregister(), PATIENCE)
        await leaver.disconnect()
        require(await self.push(leaver.token) == "Unregistered", "a registration that ended is good")
        await self.house.tell("keys", "revoke", KEY)
        require(await self.push_by_key() != 200, "a revoked key is good")
        self.lost = uuid4()
        require(await self.push(self.scene.device.token, identity=self.lost) == 200, "a push is accepted")
        state, self.events = await self.life(self.waiting, "acknowledged")
        require(state == "delivered", f"what was delivered is told of as {state}")
        await self.life(self.lost, "stored")

    async def push_by_key(self):
        relay = dataclasses.replace(self.house.relay, key=str(self.key), key_identifier=KEY)
        return await self.push(self.scene.device.token, relay=relay)

    async def restore(self, backup):
        """Ends the relay in good order, so that its trace is whole, and starts one from the backup."""
        self.house.process.send_signal(signal.SIGTERM)
        require(await asyncio.wait_for(self.house.process.wait(), PATIENCE) == 0, "the relay ends in good order")
        os.rename(self.folder / "dev" / "data" / "trace", backup / "trace")
        await self.scene.start_from(backup)
        del self.scene.answers[self.lost.bytes]
        for device in self.devices.values():
            device.relay = self.house.relay

    async def knows_nothing_later(self):
        for token in self.tokens.values():
            answer = await self.push(token, SECOND)
            require(answer == "BadDeviceToken", f"a token registered after the backup gets {answer}")
        await self.register("returns otherwise", THIRD)
        answer = await self.push(self.tokens["returns otherwise"], SECOND)
        require(answer == "DeviceTokenNotForTopic", f"where another app registered first it gets {answer}")
        for name in self.tokens:
            token = await self.register(name, SECOND)
            require(await self.push(token, SECOND) == 200, "once registered again the app has no good token")
        say("registered again")
        later = self.devices["later"]
        try:
            await asyncio.wait_for(later.connect(), PATIENCE)
            sys.exit("a device that enrolled after the backup is let in")
        except grpc.aio.AioRpcError as error:
            require(error.code() == grpc.StatusCode.UNAUTHENTICATED, f"it gets {error.code()}")
        require([goodbye.reason for goodbye in later.goodbyes] == [3], f"it is told {later.goodbyes}")
        await asyncio.wait_for(later.join(), PATIENCE)
        await later.disconnect()
        say("enrolled anew")

    async def has_what_was_taken_back(self):
        require(await self.push_by_key() == 200, "the revoked key is good again")
        for name in ("removed", "unregistered"):
            device = self.devices[name]
            require(await self.push(device.token) == 200, f"the {name} one is not there again")
            await asyncio.wait_for(device.connect(), PATIENCE)
            await asyncio.wait_for(device.has(1), PATIENCE)
            await device.disconnect()
        say("there again")

    async def delivers_again(self):
        """What was delivered after the backup, and what its provider pushes once more: the device knows both."""
        device = self.scene.device
        copies = device.copies
        await self.scene.arrive()
        await self.copy_has_come(copies + 1)
        require(await self.push(device.token, identity=self.waiting) == 200, "it may be pushed again")
        await self.copy_has_come(copies + 2)
        say("delivered again, and known")

    async def copy_has_come(self, count):
        """Waits for copies by what comes behind them: a device is sent its notifications in order."""
        identity = uuid4()
        require(await self.push(self.scene.device.token, identity=identity) == 200, "a push is accepted")
        await asyncio.wait_for(self.scene.device.has_had(identity.bytes), PATIENCE)
        copies = self.scene.device.copies
        require(copies == count, f"the device has had {copies} copies, not {count}")

    async def trace_goes_on(self):
        # As many as the relay before had rows after the backup, and more: each would meet one of an earlier push.
        for _ in range(20):
            require(await self.scene.push() == 200, "a push is accepted")
        _, events = await self.life(self.waiting, "the relay was started again | sent to ")
        require(events[:len(self.events)] == self.events, f"of {self.events} the trace tells {events}")
        state, events = await self.life(self.lost, "the relay was started again")
        require(state == "pending" and len(events) == 3, f"what nobody has any more is told of as {state}: {events}")
        say("the trace goes on")


async def main(program, folder):
    restoration = Restoration(program, folder)
    await restoration.prepare()
    backup = folder / "copy"
    await restoration.house.tell("backup", str(backup))
    await restoration.go_on()
    await restoration.restore(backup)
    # Before anybody comes: the push that was accepted after the backup is nobody's.
    counters = await restoration.house.counters()
    require(counters["pending"] == 1, f"the backup has what waited: {counters}")
    await restoration.knows_nothing_later()
    await restoration.delivers_again()
    await restoration.trace_goes_on()
    await restoration.has_what_was_taken_back()
    await restoration.house.counters()
    await restoration.scene.end()


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
