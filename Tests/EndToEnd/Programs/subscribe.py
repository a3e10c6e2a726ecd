"""A device that subscribes to a channel and prints every broadcast, until it is ended.

usage: subscribe.py RELAY.json CHANNEL

It prints `bearer …` (a provider token), `subscribed`, and for each broadcast `broadcast` with its identity and payload.
"""

import asyncio
import base64
import signal
import sys
from uuid import UUID

from device import Device
from provider import bearer
from relay import Relay, say


async def main(relay, channel):
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    device = Device(relay, "a device with a channel")
    await device.join()
    say(bearer(relay))
    await device.subscribe(channel)
    say("subscribed")
    printed = 0
    while True:
        async with device.arrived:
            await device.arrived.wait_for(lambda: len(device.broadcasts) > printed)
        for broadcast in device.broadcasts[printed:]:
            say(f"broadcast {UUID(bytes=broadcast.identity)} {broadcast.payload.decode()}")
            printed += 1


try:
    asyncio.run(main(Relay.described_in(sys.argv[1]), base64.b64decode(sys.argv[2])))
except asyncio.CancelledError:
    pass
