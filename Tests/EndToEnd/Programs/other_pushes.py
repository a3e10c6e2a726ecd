"""A plain send, a broadcast and a message of Web Push, each with a trace context, to a device and a browser that are connected.

usage: other_pushes.py RELAY.json POSTRIDER TRACEPARENT
"""

import asyncio
import base64
import json
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from device import Device
from provider import bearer
from relay import Relay, require, say
from web_push import Browser, Sender

FILE, POSTRIDER, PARENT = sys.argv[1:]
NAME = "kiosk-7"
relay = Relay.described_in(FILE)
told = json.loads(Path(FILE).read_text())
trace = {"traceparent": PARENT, "tracestate": "a=1"}


def operate(*words):
    return subprocess.run(
        [POSTRIDER, *words, "--control", told["controlAddress"]], check=True, capture_output=True, text=True).stdout.strip()


async def post(client, url, headers, **body):
    answer = await client.post(url, headers=headers | trace, **body)
    require(answer.status_code in (200, 201), f"{url}: {answer.status_code} {answer.text}")
    return answer


async def to_a_device():
    """A plain send and a broadcast."""
    device = Device(relay, NAME)
    await device.join()
    provider = "https://%s:%d" % relay.provider_endpoint
    async with httpx.AsyncClient(http1=False, http2=True, verify=relay.tls) as client:
        headers = {"authorization": bearer(relay)}
        created = await client.post(
            f"{provider}/1/apps/{relay.topic}/channels", headers=headers,
            json={"message-storage-policy": 0, "push-type": "LiveActivity"})
        channel = created.headers["apns-channel-id"]
        await device.subscribe(base64.b64decode(channel))
        await post(client, f"{provider}/4/broadcasts/apps/{relay.topic}", headers | {
            "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-priority": "10", "apns-expiration": "0",
        }, json={"aps": {}})
    async with device.arrived:
        await device.arrived.wait_for(lambda: device.broadcasts)
    token = operate("send-tokens", "add", "cron", "--topic", relay.topic)
    web = urlsplit(told["webURL"]).netloc
    async with httpx.AsyncClient(verify=relay.tls) as client:
        await post(
            client, f"https://{web}/send/{relay.topic}/{NAME}", {"authorization": f"Bearer {token}"}, content=b"it is done")
    await device.has(1)
    await device.disconnect()


def to_a_browser():
    browser = Browser(told["webURL"], told["authorityFile"])
    browser.connect()
    _, endpoint = browser.subscribe()
    sender = Sender(endpoint, told["authorityFile"])
    taking = threading.Thread(target=browser.receive)
    taking.start()
    answer, problem = sender.post(b"hello", **trace)
    require(answer.status == 201, f"the message gets {answer.status} {problem}")
    taking.join()
    browser.socket.close()


asyncio.run(to_a_device())
to_a_browser()
say("all have arrived")
