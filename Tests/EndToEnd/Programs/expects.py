"""Requests with `expect: 100-continue`, frame by frame, at the port of providers and at that of devices.

usage: expects.py RELAY.json
"""

import json
import sys

import h2.events

from provider import bearer
from relay import Relay, require, say
from wire import Client

EXPECT = ("expect", "100-continue")
BODY = b'{"aps":{"alert":"large"}}'


def until(client, stream, kind):
    """Reads until something of this kind has come on the stream, and answers all that has."""
    while not any(isinstance(event, kind) for event in client.events[stream]):
        data = client.socket.recv(65536)
        require(data, f"the relay closes the connection before {kind.__name__}")
        for event in client.streams.receive_data(data):
            client.events[getattr(event, "stream_id", 0)].append(event)
        client.flush()
    return client.events[stream]


def expect(endpoint, relay, headers, body):
    """Sends the body when 100 has come, and answers the status that follows."""
    client = Client(endpoint, relay.ca)
    stream = client.begin([*headers, EXPECT], end=False)
    heard = until(client, stream, h2.events.InformationalResponseReceived)
    require([dict(event.headers) for event in heard] == [{b":status": b"100"}], f"there comes {heard}")
    client.streams.send_data(stream, body, end_stream=True)
    client.flush()
    status = client.answer(stream)[0]
    client.close()
    return status


def main(relay):
    push = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/00"),
        ("authorization", bearer(relay)), ("apns-topic", relay.topic),
    ]
    require(expect(relay.provider_endpoint, relay, push, BODY) == 400, "the push is for no device")
    say("a push is told to go on")

    call = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
        (":path", "/postrider.courier.v1.Courier/Enroll"), ("content-type", "application/grpc"), ("te", "trailers"),
    ]
    require(expect(relay.device_endpoint, relay, call, b"\0\0\0\0\0") == 200, "an enrolment is answered")
    say("a call of a device is told to go on")

    client = Client(relay.provider_endpoint, relay.ca)
    stream = client.begin([*push, EXPECT], BODY)
    status, _, text, _ = client.answer(stream)
    require((status, json.loads(text)) == (400, {"reason": "BadDeviceToken"}), f"a whole push gets {status} {text}")
    kinds = [type(event) for event in client.events[stream]]
    require(h2.events.InformationalResponseReceived not in kinds, "one whose body has come is told so all the same")
    say("a push whose body has come is answered at once")


main(Relay.described_in(sys.argv[1]))
