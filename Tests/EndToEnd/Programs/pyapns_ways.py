"""The ways of pyapns_client: `iat` with a fraction, no push type of its own, a connection for each push, three tries.

usage: pyapns_ways.py RELAY.json
"""

import asyncio
import sys
import time

from pyapns_client import APNSClient, IOSNotification, IOSPayload, IOSPayloadAlert, exceptions

from device import Device
from relay import Relay, require, say


async def main(relay):
    device = Device(relay, "a device for pyapns_client")
    await device.join()
    await asyncio.to_thread(push, relay, device.token)
    await device.has(2)
    await device.unregister()
    await asyncio.to_thread(push_in_vain, relay, device.token)
    await device.disconnect()


def make_client(relay):
    host, port = relay.provider_endpoint
    APNSClient.BASE_URLS["relay"] = f"https://{host}:{port}"
    return APNSClient("relay", relay.ca, relay.key, relay.key_identifier, relay.team)


def notification(relay, **fields):
    payload = IOSPayload(alert=IOSPayloadAlert(title="from", body="pyapns_client"))
    return IOSNotification(payload=payload, topic=relay.topic, **fields)


def push(relay, token):
    client = make_client(relay)
    plain = notification(relay)
    require("apns-push-type" not in plain.get_headers(), f"pyapns_client says {plain.get_headers()}")
    client.push(plain, token)
    require(client._auth_token_time % 1 > 0, f"pyapns_client writes iat as {client._auth_token_time}")
    say("it pushes without a push type, with an iat that has a fraction")

    # The notification with everything that it can say.
    client.push(notification(
        relay, priority="5", expiration=str(int(time.time()) + 600), collapse_id="score",
        apns_id="9cc486ea-ea83-9351-40df-557a308816d8"), token)
    say("it pushes with every field")
    client.close()


def push_in_vain(relay, token):
    client = make_client(relay)
    for bad_token, kind in (("00", exceptions.BadDeviceTokenException), (token, exceptions.UnregisteredException)):
        try:
            client.push(notification(relay), bad_token)
            sys.exit(f"{bad_token} is accepted")
        except kind as refusal:
            require(refusal.apns_id, "a refusal has an apns-id")
            if kind is exceptions.UnregisteredException:
                age = time.time() - refusal.timestamp_datetime.timestamp()
                require(abs(age) < 3600, f"the token is gone since {refusal.timestamp_datetime}")
    say("it learns since when a token is gone")

    attempts = count_attempts(client)
    client._auth_token_storage = expired(client)
    try:
        client.push(notification(relay), token)
        sys.exit("an expired token is accepted")
    except exceptions.ExpiredProviderTokenException:
        require(len(attempts) == 3, f"it tries {len(attempts)} times")
    say("it tries three times with an expired token")
    client.close()


def expired(client):
    """The client's own token, of two hours ago."""
    now, time.time = time.time, lambda: now() - 7200
    try:
        client._auth_token_storage = None
        return client._auth_token
    finally:
        time.time = now
        client._auth_token_time = now()


def count_attempts(client):
    attempts = []
    send = client._send_request

    def send_request(**request):
        attempts.append(request)
        return send(**request)

    client._send_request = send_request
    return attempts


asyncio.run(main(Relay.described_in(sys.argv[1])))
