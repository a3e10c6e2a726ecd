"""A device that saves power, asks and ignores; what is held back for it comes when it is due, in its order.

usage: hold.py RELAY.json
"""

import asyncio
import json
import sys

from aioapns import NotificationRequest, PushType

from device import Device, pb
from provider import make_provider
from relay import Relay, require


async def main(relay):
    device = Device(relay, "a device that saves power")
    await device.join()
    provider = make_provider(relay)

    async def push(name, priority):
        result = await provider.send_notification(NotificationRequest(
            device_token=device.token, message={"aps": {"alert": name}, "name": name}, push_type=PushType.ALERT,
            priority=priority))
        require(result.is_successful, f"the push was refused: {result.status} {result.description}")

    async def arrive(*names):
        await device.has(len(names))
        got = [json.loads(payload)["name"] for payload in device.arrivals.values()]
        require(got == list(names), f"{got} arrived, not {names}")
        device.arrivals.clear()

    async def rest():
        # Answers come in the order of the questions: what was to be sent before has been sent.
        await device.register()
        require(not device.arrivals, f"{list(device.arrivals.values())} arrived too early")

    device.say(reception=pb.Reception(saves_power=True))
    await rest()
    await push("considerate", 5)
    await push("low", 1)
    await rest()
    await push("immediate", 10)
    await arrive("immediate", "considerate", "low")
    await push("considerate", 5)
    await rest()
    device.say(fetch=pb.Fetch())
    await arrive("considerate")

    device.say(reception=pb.Reception(ignored=[relay.topic]))
    await rest()
    await push("ignored", 10)
    device.say(fetch=pb.Fetch())
    await rest()
    device.say(reception=pb.Reception())
    await arrive("ignored")
    await push("at once", 5)
    await arrive("at once")
    provider.pool.close()
    await device.disconnect()


asyncio.run(main(Relay.described_in(sys.argv[1])))
