"""The two environments: a grpcio device changes from one to the other, and aioapns pushes to both.

usage: environments.py RELAY.json
"""

import asyncio
import sys

from aioapns import NotificationRequest

from device import Device, pb
from provider import make_provider
from relay import Relay, require, say


async def main(relay):
    device = Device(relay, "a device of a developer")
    await device.enrol()
    await device.connect()
    providers = [make_provider(relay), make_provider(relay, is_development=True)]

    async def meets(token):
        """What a push to this token gets in production and in development."""
        request = NotificationRequest(device_token=token, message={"aps": {"alert": "Hello"}})
        results = [await provider.send_notification(request) for provider in providers]
        return [result.description or result.status for result in results]

    def require_meets(told, expected):
        require(told == expected, f"the environments answer {told} instead of {expected}")

    await device.register()
    production = device.token
    require_meets(await meets(production), ["200", "BadDeviceToken"])
    await device.register(is_development=True)
    development = device.token
    require(development != production, "a token of the other environment is another token")
    require_meets(await meets(development), ["BadDeviceToken", "200"])
    require_meets(await meets(production), ["Unregistered", "BadDeviceToken"])
    await device.has(2)

    # What the relay tells when the device comes back.
    await device.disconnect()
    await device.connect()
    known = [(known.device_token.hex(), known.environment) for known in device.welcome.registrations]
    require(known == [(development, pb.DEVELOPMENT)], f"the welcome tells {known}")
    await device.register()
    require(device.token not in (production, development), "a token that is dead does not come back")
    require_meets(await meets(development), ["BadDeviceToken", "Unregistered"])
    for provider in providers:
        provider.pool.close()
    say("told apart")


asyncio.run(main(Relay.described_in(sys.argv[1])))
