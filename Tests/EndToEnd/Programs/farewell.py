"""SIGTERM with open pushes: each is answered before the relay says goodbye and closes.

usage: farewell.py RELAY.json
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from uuid import uuid4

import h2.events

from device import Device
from provider import bearer
from relay import Relay, require, say
from wire import Client

PUSHES = 300


async def main(path):
    relay = Relay.described_in(path)
    device = Device(relay, "a device that is sent away")
    await device.join()
    await asyncio.to_thread(push_and_end, relay, device.token, json.loads(Path(path).read_text())["process"])

    require((await device.end())[0] == "UNAVAILABLE", f"the device's connection ends with {await device.end()}")
    require(device.goodbyes[-1].reason == 1, "the device gets goodbye(SHUTDOWN)")
    require(device.goodbyes[-1].retry_after_milliseconds > 0, "the goodbye says when to return")
    say("everybody was told")


def push_and_end(relay, token, process):
    client = Client(relay.provider_endpoint, relay.ca)
    headers = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", f"/3/device/{token}"),
        ("authorization", bearer(relay)), ("apns-topic", relay.topic),
    ]
    body = b'{"aps":{"alert":"open"}}'
    # This one keeps the connection open: its body is still to come.
    half = client.begin([*headers, ("apns-id", str(uuid4()))], body[:9], end=False)
    open_pushes = [client.begin([*headers, ("apns-id", str(uuid4()))], body) for _ in range(PUSHES)]
    os.kill(process, signal.SIGTERM)
    statuses = [client.answer(stream)[0] for stream in open_pushes]
    require(set(statuses) <= {200, 503}, f"open pushes are answered with {set(statuses)}")
    # The relay has begun to end when it says so.
    while (answer := client.request(headers, body))[0] == 200:
        pass
    require((answer[0], json.loads(answer[2])) == (503, {"reason": "Shutdown"}), f"a late push gets {answer}")
    client.streams.send_data(half, body[9:], end_stream=True)
    client.flush()
    status, _, text, _ = client.answer(half)
    require((status, json.loads(text)) == (503, {"reason": "Shutdown"}), f"a half push gets {status} {text}")
    while data := client.socket.recv(65536):
        for event in client.streams.receive_data(data):
            client.events[getattr(event, "stream_id", 0)].append(event)
        client.flush()
    farewells = [event for event in client.events[0] if isinstance(event, h2.events.ConnectionTerminated)]
    streams = [farewell.last_stream_id for farewell in farewells]
    require(streams == [2**31 - 1, client.streams.highest_outbound_stream_id], f"GOAWAY names {streams}")
    for farewell in farewells:
        require(farewell.error_code == 0, f"GOAWAY has the error {farewell.error_code}")
        require(json.loads(farewell.additional_data) == {"reason": "Shutdown"}, "GOAWAY says Shutdown")


asyncio.run(main(sys.argv[1]))
