"""A first meeting: a grpcio device enrols, connects, registers, receives what aioapns pushes, and acknowledges.

usage: meet.py RELAY.json
"""

import asyncio
import json
import sys
from uuid import UUID, uuid4

import grpc
from aioapns import NotificationRequest, PushType

from device import Device
from provider import make_provider
from relay import Relay, require, say


async def main(relay):
    device = Device(relay, "a device in Python")
    try:
        await device.enrol(key="not a key")
        sys.exit("a device enrolled with a key that nobody made")
    except grpc.aio.AioRpcError as refusal:
        require(refusal.code() is grpc.StatusCode.UNAUTHENTICATED, f"a bad enrolment key gets {refusal.code()}")

    await device.enrol()
    require((len(device.identity), len(device.secret)) == (12, 32), "an enrolment has an identity and a secret")
    await device.connect()
    require(1 <= device.welcome.window <= 64, f"the window is {device.welcome.window}")
    require(device.welcome.keepalive_seconds == 60, f"the keepalive is {device.welcome.keepalive_seconds} s")
    await device.register()
    require(len(device.token) == 64, f"{device.token} is no device token")
    token = device.token
    await device.register()
    require(device.token == token, "registering a topic again gives the same token")

    provider = make_provider(relay)
    identity = str(uuid4())
    message = {"aps": {"alert": {"title": "Grüße", "body": "aus aioapns"}}, "custom": [1, 2.5, None]}
    result = await provider.send_notification(NotificationRequest(
        device_token=token, message=message, notification_id=identity, priority=5, time_to_live=600,
        push_type=PushType.ALERT,
    ))
    require(result.is_successful, f"a good push gets {result.status} {result.description}")
    require(result.notification_id == identity, "the apns-id is echoed")
    await device.has(1)
    ((topic, arrived), payload), = device.arrivals.items()
    require((topic, UUID(bytes=arrived)) == (relay.topic, UUID(identity)), "topic and identity arrive")
    require(json.loads(payload) == message, "the payload arrives")

    refused = await provider.send_notification(NotificationRequest(device_token="00" * 32, message=message))
    require((refused.status, refused.description) == ("400", "BadDeviceToken"), f"a foreign token gets {refused.status}")

    # What was acknowledged does not come again.
    await device.disconnect()
    require(await device.end() == ("OK", ""), f"a goodbye ends with {await device.end()}")
    await device.connect()
    require(device.welcome.pending == 0, f"{device.welcome.pending} are pending after the acknowledgement")
    require([known.device_token.hex() for known in device.welcome.registrations] == [token], "the welcome tells the token")

    # A second connection of the same identity replaces the first.
    twin = Device(relay, "the same device")
    twin.identity, twin.secret = device.identity, device.secret
    await twin.connect()
    require((await device.end())[0] == "ABORTED", f"a replaced connection ends with {await device.end()}")
    require(device.goodbyes[-1].reason == 2, "a replaced connection gets goodbye(REPLACED)")
    await twin.disconnect(politely=False)

    stranger = Device(relay, "a stranger")
    stranger.identity, stranger.secret = device.identity, bytes(32)
    try:
        await stranger.connect()
        sys.exit("a device with a wrong secret was welcomed")
    except grpc.aio.AioRpcError as refusal:
        require(refusal.code() is grpc.StatusCode.UNAUTHENTICATED, f"a wrong secret gets {refusal.code()}")
        require(stranger.goodbyes[-1].reason == 3, "a wrong secret gets goodbye(REMOVED)")
    provider.pool.close()
    say("met")


asyncio.run(main(Relay.described_in(sys.argv[1])))
