"""The ways of kalyke: `iat` as text, a connection and a token for every push, an apns-id that it insists on.

usage: kalyke_ways.py RELAY.json
"""

import asyncio
import base64
import json
import os
import sys
from uuid import UUID

from relay import Relay, require, say

relay = Relay.described_in(sys.argv[1])
# kalyke trusts what the environment says; it is read when a client is made.
os.environ["SSL_CERT_FILE"] = relay.ca

from kalyke import ApnsClient, ApnsConfig, ApnsPushType, exceptions  # noqa: E402

from device import Device  # noqa: E402

PUSHES = 20


class Client(ApnsClient):
    """kalyke has no option for the host."""

    @property
    def _base_url(self):
        host, port = relay.provider_endpoint
        return f"https://{host}:{port}"


async def main():
    device = Device(relay, "a device for kalyke")
    await device.join()
    client = Client(
        use_sandbox=False, team_id=relay.team, auth_key_id=relay.key_identifier, auth_key_filepath=relay.key)
    config = ApnsConfig(topic=relay.topic, push_type=ApnsPushType.ALERT)

    claims = client._make_authorization().split(".")[1]
    issued = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"]
    require(isinstance(issued, str), f"kalyke writes iat as {issued!r}")
    identity = await client.send_message(device.token, {"aps": {"alert": "from kalyke"}}, config)
    await device.has_had(UUID(identity).bytes)
    say("it pushes with an iat that is text, and gets the apns-id that it needs")

    sends = [client.send_message(device.token, {"aps": {"alert": f"{number}"}}, config) for number in range(PUSHES)]
    identities = await asyncio.gather(*sends)
    require(len(set(identities)) == PUSHES, f"{PUSHES} pushes have {len(set(identities))} identities")
    for identity in identities:
        await device.has_had(UUID(identity).bytes)
    say("it pushes over a connection for each push")

    # kalyke looks its exceptions up by the reason: one that it does not know would be an AttributeError.
    for token, topic, expected in (
        ("00" * 32, relay.topic, exceptions.BadDeviceToken),
        (device.token, "org.example.stranger", exceptions.TopicDisallowed),
        (device.token, "not a topic", exceptions.BadTopic),
    ):
        try:
            await client.send_message(token, {"aps": {}}, ApnsConfig(topic=topic, push_type=ApnsPushType.ALERT))
            sys.exit(f"{topic} is accepted")
        except exceptions.ApnsProviderException as refusal:
            require(type(refusal) is expected, f"{topic} gets {type(refusal)}")
    say("it knows every reason that it gets")
    await device.disconnect()


asyncio.run(main())
