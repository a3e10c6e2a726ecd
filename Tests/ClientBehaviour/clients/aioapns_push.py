"""Pushes with aioapns: usage in ../measure.py."""

import asyncio
import json
import ssl
import sys
from pathlib import Path

import aioapns
from aioapns.connection import APNsProductionClientProtocol


async def main():
    relay, token, count = json.loads(Path(sys.argv[1]).read_text()), sys.argv[3], int(sys.argv[4])

    class Protocol(APNsProductionClientProtocol):
        APNS_SERVER, APNS_PORT = relay["host"], relay["providerPort"]

    client = aioapns.APNs(
        key=Path(relay["keyFile"]).read_text(), key_id=relay["keyIdentifier"], team_id=relay["team"], topic=relay["topics"][0],
        ssl_context=ssl.create_default_context(cafile=relay["authorityFile"]))
    client.pool.protocol_class = Protocol
    for number in range(1, count + 1):
        message = {"aps": {"alert": "Tea"}}
        try:
            result = await client.send_notification(
                aioapns.NotificationRequest(device_token=token, message=message, collapse_key=str(number)))
            print(number, result.status, flush=True)
        except Exception as error:
            print(number, "error", repr(error), flush=True)


asyncio.run(main())
