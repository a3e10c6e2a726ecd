"""The ways of aioapns, each met by the relay: no ALPN, `host`, pushed streams allowed, its own apns-id, its idle close.

usage: aioapns_ways.py RELAY.json
"""

import asyncio
import sys
from uuid import uuid4

from aioapns import NotificationRequest
from h2.settings import SettingCodes

from device import Device
from provider import make_provider
from relay import Relay, require, say, until


async def main(relay):
    device = Device(relay, "a device for aioapns")
    await device.join()
    provider = make_provider(relay)
    sent = record_headers(provider)

    await reason_of(provider, device.token, "200", None)
    connection, = provider.pool.connections
    tls = connection.transport.get_extra_info("ssl_object")
    require(tls.selected_alpn_protocol() is None, f"ALPN chose {tls.selected_alpn_protocol()}")
    require(connection.conn.local_settings[SettingCodes.ENABLE_PUSH] == 1, "aioapns allows pushed streams")
    require(sent[0]["host"] and ":authority" not in sent[0], f"aioapns sends {sent[0]}")
    require("content-type" not in sent[0], "aioapns says no content type")
    say("it pushes without ALPN and :authority")

    for identity in (str(uuid4()), str(uuid4()).upper(), "aBcDeF01-2345-6789-AbCd-eF0123456789"):
        # An answer with another spelling would be for a notification that aioapns does not know, and never come.
        result = await push(provider, device.token, notification_id=identity)
        require((result.status, result.notification_id) == ("200", identity), f"{identity} comes back as {result}")
        refused = await push(provider, "00", notification_id=identity)
        require(refused.notification_id == identity, f"{identity} comes back as {refused.notification_id}")
    say("its apns-id comes back as it was spelled")

    await reason_of(provider, "00" * 32, "400", "BadDeviceToken")
    await reason_of(provider, device.token, "400", "BadPriority", priority=7)
    await reason_of(provider, device.token, "400", "BadCollapseId", collapse_key="x" * 65)
    await reason_of(provider, device.token, "400", "BadMessageId", notification_id="7")
    await reason_of(provider, device.token, "413", "PayloadTooLarge", message={"aps": {"alert": "x" * 5000}})
    result = await push(provider, device.token, apns_topic="org.example.stranger")
    require(result.status == "400", f"a stranger's topic gets {result.status} {result.description}")
    require(len(provider.pool.connections) == 1, "refusals leave the connection open")
    say("it understands every refusal")

    provider.pool.connections[0].INACTIVITY_TIME = 0.05
    await reason_of(provider, device.token, "200", None)
    await until(lambda: not provider.pool.connections)
    await reason_of(provider, device.token, "200", None)
    say("it closes when it is idle, and comes again")

    await device.unregister()
    result = await push(provider, device.token)
    require((result.status, result.description) == ("410", "Unregistered"), f"a token of the past gets {result.status}")
    require(isinstance(result.timestamp, int) and result.timestamp > 1_600_000_000_000, f"since {result.timestamp}")
    say("it learns since when a token is gone")
    provider.pool.close()
    await device.disconnect()


def record_headers(provider):
    """The header fields of every request that aioapns is going to send."""
    sent = []

    class Protocol(provider.pool.protocol_class):
        def connection_made(self, transport):
            send = self.conn.send_headers

            def send_headers(stream_id, headers, **more):
                sent.append(dict(headers))
                send(stream_id, headers, **more)

            self.conn.send_headers = send_headers
            super().connection_made(transport)

    provider.pool.protocol_class = Protocol
    return sent


async def push(provider, token, message=None, **fields):
    message = message or {"aps": {"alert": "from aioapns"}}
    return await provider.send_notification(NotificationRequest(device_token=token, message=message, **fields))


async def reason_of(provider, token, status, reason, **fields):
    result = await push(provider, token, **fields)
    got = (result.status, result.description)
    require(got == (status, reason), f"{fields} gets {got}, not {(status, reason)}")


asyncio.run(main(Relay.described_in(sys.argv[1])))
