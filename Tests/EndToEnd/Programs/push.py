"""A provider: pushes numbered notifications with aioapns.

usage: push.py RELAY.json TOKEN [--title TEXT] [--body TEXT] [--category WORD] [--collapse IDENTIFIER] [--count N] [--identity UUID]

It prints `200` with the number of each push that was accepted. With --identity all have this apns-id, and each waits for the answer of the one before.
"""

import argparse
import asyncio

from aioapns import NotificationRequest, PushType

from provider import make_provider
from relay import Relay, require, say

IN_FLIGHT = 20


async def main(arguments):
    provider = make_provider(Relay.described_in(arguments.relay))
    room = asyncio.Semaphore(1 if arguments.identity else IN_FLIGHT)

    async def push(number):
        aps = {"alert": {"title": arguments.title, "body": arguments.body}}
        if arguments.category:
            aps["category"] = arguments.category
        result = await provider.send_notification(NotificationRequest(
            device_token=arguments.token, message={"aps": aps, "number": number}, push_type=PushType.ALERT,
            collapse_key=arguments.collapse, notification_id=arguments.identity))
        require(result.is_successful, f"the push was refused: {result.status} {result.description}")
        say(f"200 {number}")
        room.release()

    async with asyncio.TaskGroup() as group:
        for number in range(1, arguments.count + 1):
            await room.acquire()
            group.create_task(push(number))
    provider.pool.close()


parser = argparse.ArgumentParser()
parser.add_argument("relay")
parser.add_argument("token")
parser.add_argument("--title", default="Hello")
parser.add_argument("--body", default="from aioapns")
parser.add_argument("--category")
parser.add_argument("--collapse")
parser.add_argument("--count", type=int, default=1)
parser.add_argument("--identity")
asyncio.run(main(parser.parse_args()))
