"""What strangers do wrong on both ports, each of it so that the relay's log has something to tell.

usage: strangers.py RELAY.json [--proxies | --enrolments]
"""

import asyncio
import ssl
import sys

import grpc
from hyperframe.frame import GoAwayFrame, HeadersFrame, SettingsFrame

from device import Device
from raw import MAGIC, wire
from relay import Relay, require
from wire import closes, connect

PROXY_1 = b"PROXY TCP4 192.0.2.1 192.0.2.2 12345 443\r\n"
PROXY_2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 1, 0xBB])
HTTP = b"GET / HTTP/1.1\r\nhost: relay\r\n\r\n"
ENROLMENTS = 40


def secured(relay, endpoint):
    context = ssl.create_default_context(cafile=relay.ca)
    context.set_alpn_protocols(["h2"])
    return context.wrap_socket(connect(endpoint), server_hostname=endpoint[0])


def mistakes(relay):
    bad_block = HeadersFrame(1, b"\x80", flags=["END_HEADERS"])
    goaway = GoAwayFrame(0, error_code=11, additional_data=b"no\nmore")
    for said in (b"SSH-2.0-OpenSSH_9.2p1\r\n" * 2, MAGIC + wire([SettingsFrame(0), bad_block]),
                 MAGIC + wire([SettingsFrame(0), goaway])):
        peer = secured(relay, relay.provider_endpoint)
        peer.sendall(said)
        closes(peer)
    # A client that does not know the authority.
    try:
        ssl.create_default_context().wrap_socket(
            connect(relay.provider_endpoint), server_hostname=relay.provider_endpoint[0])
        require(False, "the client trusts anybody")
    except ssl.SSLCertVerificationError:
        pass


def proxies(relay):
    for endpoint in (relay.provider_endpoint, relay.device_endpoint):
        for said in (PROXY_1, PROXY_2, HTTP):
            peer = connect(endpoint)
            peer.sendall(said)
            require(closes(peer) == b"", "nobody is answered in the clear")


async def enrolments(relay):
    """Some with a wrong key, all at once; meanwhile somebody behind the same address enrols with a good one."""
    async def refused():
        try:
            await Device(relay, "stranger").enrol(key="wrong")
            require(False, "a wrong key is good")
        except grpc.aio.AioRpcError as error:
            require(error.code() == grpc.StatusCode.UNAUTHENTICATED, f"refused with {error.code()}")

    async with asyncio.TaskGroup() as group:
        strangers = [group.create_task(refused()) for _ in range(ENROLMENTS)]
        await Device(relay, "member of the fleet").enrol()
        await asyncio.gather(*strangers)


relay = Relay.described_in(sys.argv[1])
if "--proxies" in sys.argv:
    proxies(relay)
elif "--enrolments" in sys.argv:
    asyncio.run(enrolments(relay))
else:
    mistakes(relay)
