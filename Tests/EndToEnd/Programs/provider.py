"""A provider: aioapns 4.0, pointed at the relay."""

import time
from pathlib import Path

import aioapns
import jwt
from aioapns.connection import APNsProductionClientProtocol


def make_provider(relay, connections=1, attempts=1000, is_development=False):
    """Returns a client for one of the relay's environments. With one connection, pushes reach the relay in the order in which they are sent."""
    host, port = relay.development_endpoint if is_development else relay.provider_endpoint

    class Protocol(APNsProductionClientProtocol):
        APNS_SERVER = host
        APNS_PORT = port

    client = aioapns.APNs(
        key=Path(relay.key).read_text(),
        key_id=relay.key_identifier,
        team_id=relay.team,
        topic=relay.topic,
        max_connections=connections,
        max_connection_attempts=attempts,
        ssl_context=relay.tls,
    )
    client.pool.protocol_class = Protocol
    return client


def bearer(relay):
    """Returns a provider token for programs with their own HTTP/2 code."""
    token = jwt.encode(
        {"iss": relay.team, "iat": int(time.time())},
        Path(relay.key).read_text(),
        algorithm="ES256",
        headers={"kid": relay.key_identifier},
    )
    return f"bearer {token}"
