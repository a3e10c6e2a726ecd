"""A provider that wants to be called: pushes with httpx, each push with the header `postrider-callback`.

usage: wants_callback.py RELAY.json TOKEN URL [--count N] [--body TEXT]

It prints the status of each answer.
"""

import argparse
import asyncio

import httpx

from provider import bearer
from relay import Relay, say

IN_FLIGHT = 20


async def main(arguments):
    relay = Relay.described_in(arguments.relay)
    host, port = relay.provider_endpoint
    fields = {
        "authorization": bearer(relay), "apns-topic": relay.topic, "apns-push-type": "alert",
        "postrider-callback": arguments.url,
    }
    payload = {"aps": {"alert": {"title": "t", "body": arguments.body}}}
    room = asyncio.Semaphore(IN_FLIGHT)
    async with httpx.AsyncClient(http1=False, http2=True, verify=relay.tls, timeout=120) as client:
        async def push():
            async with room:
                answer = await client.post(
                    f"https://{host}:{port}/3/device/{arguments.token}", headers=fields, json=payload)
                say(answer.status_code)

        async with asyncio.TaskGroup() as group:
            for _ in range(arguments.count):
                group.create_task(push())


parser = argparse.ArgumentParser()
parser.add_argument("relay")
parser.add_argument("token")
parser.add_argument("url")
parser.add_argument("--count", type=int, default=1)
parser.add_argument("--body", default="0")
asyncio.run(main(parser.parse_args()))
