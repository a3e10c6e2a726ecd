"""A relay behind stock load balancers that forward TCP and name each client in a header of the PROXY protocol: HAProxy with version 2,
and nginx, which sends version 1. The relay must have `load-balancers: 127.0.0.1`.

Their settings are those of docs/operate/load-balancers.md.

usage: balancers.py nginx|haproxy RELAY.json FOLDER
"""

import asyncio
import socket
import ssl
import sys
from pathlib import Path

from device import Device
from provider import make_provider
from proxies import Proxy, push
from relay import Relay, require, say
from wire import PATIENCE_SECONDS, closes

PUSHES = 100
# Linux has all of 127.0.0.0/8 on the loopback interface.
CLIENT = "127.0.0.9"

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
{user}
error_log stderr notice;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
stream {{
    server {{
        listen {device_front};
        proxy_pass {device_back};
        proxy_protocol on;
        proxy_timeout 1d;
    }}
    server {{
        listen {provider_front};
        proxy_pass {provider_back};
        proxy_protocol on;
        proxy_timeout 1d;
    }}
}}
"""

HAPROXY = """
global
    maxconn 100
defaults
    mode tcp
    timeout connect 5s
    timeout client 1d
    timeout server 1d
frontend devices
    bind fd@{device_descriptor}
    default_backend relay-devices
backend relay-devices
    server relay {device_back} send-proxy-v2 check
frontend providers
    bind fd@{provider_descriptor}
    default_backend relay-providers
backend relay-providers
    server relay {provider_back} send-proxy-v2 check
"""

# From 192.0.2.1 (section 2.2 of the specification).
HEADER = b"\r\n\r\n\0\r\nQUIT\n" + bytes([0x21, 0x11, 0, 12, 192, 0, 2, 1, 192, 0, 2, 2, 0x30, 0x39, 0x01, 0xBB])


def connect(endpoint, source):
    return socket.create_connection(endpoint, PATIENCE_SECONDS, (source, 0))


def break_protocol(relay):
    """Opens TLS through the load balancer from another address, and speaks no HTTP/2."""
    raw = connect(relay.provider_endpoint, CLIENT)
    port = raw.getsockname()[1]
    with ssl.create_default_context(cafile=relay.ca).wrap_socket(raw, server_hostname="localhost") as client:
        client.sendall(b"x" * 100)
        closes(client)
    return port


async def main(kind, relay, folder):
    proxy = Proxy(kind, relay, Path(folder), {"nginx": NGINX, "haproxy": HAPROXY})
    try:
        device = Device(proxy.relay, f"behind {kind}")
        await device.join()
        provider = make_provider(proxy.relay)
        await asyncio.gather(*(push(provider, device.token, number) for number in range(PUSHES)))
        await device.has(PUSHES)
        await device.disconnect()
        await device.connect()
        await device.register()
        await push(provider, device.token, 1)
        await device.has(PUSHES + 1)
        await device.disconnect()
        provider.pool.close()
        say("pushes reach a device through the load balancer")

        port = await asyncio.to_thread(break_protocol, proxy.relay)
        with connect(relay.provider_endpoint, "127.0.0.1") as client:
            client.sendall(b"\x16\x03\x01\x02\x00\x01")
            closes(client)
        with connect(relay.provider_endpoint, CLIENT) as client:
            client.sendall(HEADER)
            require(b"h2" not in closes(client), "a stranger chooses his source")
        say(f"{CLIENT}:{port}")
    finally:
        proxy.end()


asyncio.run(main(sys.argv[1], Relay.described_in(sys.argv[2]), sys.argv[3]))
