"""A provider: pushes one alert with aioapns.

usage: alert.py RELAY.json TOKEN --title TEXT [--body TEXT] [--collapse IDENTIFIER] [--category CATEGORY]
"""

import argparse
import asyncio

from aioapns import NotificationRequest, PushType

from provider import make_provider
from relay import Relay, require


async def main(arguments):
    provider = make_provider(Relay.described_in(arguments.relay))
    aps = {"alert": {"title": arguments.title, "body": arguments.body}, "category": arguments.category}
    result = await provider.send_notification(NotificationRequest(
        device_token=arguments.token, message={"aps": aps}, push_type=PushType.ALERT,
        collapse_key=arguments.collapse))
    require(result.is_successful, f"the push was refused: {result.status} {result.description}")
    provider.pool.close()


parser = argparse.ArgumentParser()
parser.add_argument("relay")
parser.add_argument("token")
parser.add_argument("--title", required=True)
parser.add_argument("--body", default="from aioapns")
parser.add_argument("--collapse")
parser.add_argument("--category", default="")
asyncio.run(main(parser.parse_args()))
