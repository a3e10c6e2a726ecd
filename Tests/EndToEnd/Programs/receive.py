"""A device that prints its token, then every notification, until it is ended.

usage: receive.py RELAY.json [--development]

It prints `token …`, `bearer …` (a provider token for whoever pushes), and for each notification `received` with its
identity and its payload.
"""

import asyncio
import signal
import sys
from uuid import UUID

from device import Device
from provider import bearer
from relay import Relay, say


async def main(relay):
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    device = Device(relay, "a device that prints")
    await device.join("--development" in sys.argv)
    say(bearer(relay))
    say(f"token {device.token}")
    printed = 0
    while True:
        await device.has(printed + 1)
        for (_, identity), payload in list(device.arrivals.items())[printed:]:
            say(f"received {UUID(bytes=identity)} {payload.decode()}")
            printed += 1


try:
    asyncio.run(main(Relay.described_in(sys.argv[1])))
except asyncio.CancelledError:
    pass
