"""Back-pressure: a grpcio device that stops reading keeps its notifications, and gets all of them later.

usage: patient.py RELAY.json
"""

import asyncio
import sys
from uuid import uuid4

from aioapns import NotificationRequest

from device import Device
from provider import make_provider
from relay import Relay, require, say

PUSHES = 400


async def main(relay):
    device = Device(relay, "a device that stops reading")
    await device.join()
    provider = make_provider(relay)
    # 400 payloads of 3 KiB are more than the window of deliveries and every buffer on the way.
    message = {"aps": {"alert": "x" * 3000}}

    device.reads.clear()
    # One read is under way and ends with the first notification.
    pushed = []

    async def push():
        identity = uuid4()
        pushed.append(identity.bytes)
        request = NotificationRequest(device_token=device.token, message=message, notification_id=str(identity))
        result = await provider.send_notification(request)
        require(result.is_successful, f"a push got {result.status} {result.description}")

    await push()
    for _ in range(PUSHES // 16):
        await asyncio.gather(*(push() for _ in range(16)))
    require(len(device.arrivals) <= 1, "a device that does not read has nothing")
    say("every push was accepted while the device did not read")

    device.reads.set()
    await device.has(len(pushed))
    require([identity for _, identity in device.arrivals] == pushed, "what waited arrives in order")
    require(device.copies == 0, f"{device.copies} came twice on one connection")
    await device.disconnect()
    provider.pool.close()
    say("all arrived later")


asyncio.run(main(Relay.described_in(sys.argv[1])))
