"""The ways of aapns: a client certificate and no token, ALPN, the stream limit at its word, GOAWAY as an error.

usage: aapns_ways.py RELAY.json TOKEN FOLDER, in the environment of aapns. FOLDER is for the certificates.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from aapns import errors
from aapns.api import Server
from aapns.models import Alert, Notification

from relay import require, say

PUSHES = 200
DEVELOPMENT, PRODUCTION = 1, 2
# Of Apple's extensions: good in one environment, and for one topic.
EXTENSIONS = """
extendedKeyUsage=clientAuth
1.2.840.113635.100.6.3.{environment}=ASN1:NULL
1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics
[topics]
1=UTF8:{topic}
2=SEQUENCE:app
[app]
1=UTF8:app
"""


async def main(relay, token, folder):
    topic = relay["topics"][0]
    both = folder / "both.pem"
    both.write_text(
        Path(relay["providerCertificateFile"]).read_text() + Path(relay["providerCertificateKeyFile"]).read_text())
    client = await make_client(relay, both)
    connection, = client.pool.active
    protocol = connection.write_stream.get_extra_info("ssl_object").selected_alpn_protocol()
    require(protocol == "h2", f"ALPN chose {protocol}")

    identity = str(uuid4())
    notification = Notification(alert=Alert(title="from", body="aapns"))
    echo = await client.send_notification(token, notification, apns_id=identity, topic=topic)
    require(echo == identity, f"the apns-id comes back as {echo}")
    require(connection.max_concurrent_streams == 1000, f"the stream limit is {connection.max_concurrent_streams}")
    say(f"pushed {identity}")

    # It writes a header that belongs into the payload.
    await client.send_notification(token, notification, topic=topic, time_sensitive=True)
    identities = await asyncio.gather(
        *(client.send_notification(token, notification, topic=topic) for _ in range(PUSHES)))
    require(len(set(identities)) == PUSHES, f"{PUSHES} pushes have {len(set(identities))} identities")
    say("it pushes two hundred at once, with a certificate and no token")

    for bad_token, bad_topic, reason in (
        ("00", topic, "BadDeviceToken"), (token, "org.example", "TopicDisallowed"), (token, None, "MissingTopic"),
    ):
        try:
            await client.send_notification(bad_token, notification, topic=bad_topic)
            sys.exit(f"{bad_token} is accepted for {bad_topic}")
        except errors.ResponseError as refusal:
            # Reasons that aapns does not know come as its UnknownResponseError.
            require(refusal.reason == reason and refusal.apns_id, f"{bad_token} for {bad_topic} gets {refusal.reason}")
    say("it understands refusals")
    await client.close()

    client = await make_client(relay, issue(relay, PRODUCTION, folder))
    await client.send_notification(token, notification)
    say("it pushes without a topic where its certificate has but one")
    await client.close()

    client = await make_client(relay, issue(relay, DEVELOPMENT, folder))
    try:
        while True:
            await client.send_notification(token, notification)
    except errors.Closed as end:
        require(str(end) == "BadCertificateEnvironment", f"a certificate for development ends with {end}")
    say("it learns that its certificate is for the other environment")
    await client.close()


async def make_client(relay, certificate):
    server = Server(
        client_cert_path=str(certificate), host=relay["host"], port=relay["providerPort"],
        ca_file=relay["authorityFile"], pool_size=1)
    return await server.create_client()


def issue(relay, environment, folder):
    """A certificate of the relay's own authority, for one environment and one topic, with its key."""
    authority = Path(relay["authorityFile"])
    topic = relay["topics"][0]
    key, request, extensions, file = (folder / name for name in ("key.pem", "request.pem", "extensions", "one.pem"))
    extensions.write_text(EXTENSIONS.format(environment=environment, topic=topic))

    def run(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    run("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
    run("req", "-new", "-key", key, "-subj", f"/CN=provider/UID={topic}", "-out", request)
    run("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority.with_suffix(".key"), "-set_serial", "7",
        "-days", "1", "-extfile", extensions, "-out", file)
    file.write_text(file.read_text() + key.read_text())
    return file


description, device_token, place = sys.argv[1:]
asyncio.run(main(json.loads(Path(description).read_text()), device_token, Path(place)))
