"""A relay behind stock proxies that end TLS and speak HTTP/2 to both sides: nginx with `grpc_pass`, HAProxy in `mode http`.

The proxies' settings are those of docs/operate/proxies.md.

usage: proxies.py nginx|haproxy RELAY.json FOLDER
"""

import asyncio
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from aioapns import NotificationRequest

from device import Device
from provider import bearer, make_provider
from relay import Relay, require, say
from wire import Client

DEVICES = 3
PUSHES = 300
BATCH = 30
RECONNECTS = 5

NGINX = """
daemon off;
{user}
error_log stderr notice;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000;
    http2_max_concurrent_streams 1000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    grpc_ssl_verify on;
    grpc_ssl_trusted_certificate {authority};
    grpc_ssl_name localhost;
    server {{
        listen {device_front} ssl http2;
        client_max_body_size 0;
        client_body_timeout 1d;
        grpc_read_timeout 1d;
        grpc_send_timeout 1d;
        location / {{ grpc_pass grpcs://{device_back}; }}
    }}
    upstream relay-providers {{
        server {provider_back};
        keepalive 64;
        keepalive_requests 1000000;
    }}
    server {{
        listen {provider_front} ssl http2;
        location / {{ grpc_pass grpcs://relay-providers; }}
    }}
}}
"""

HAPROXY = """
global
    maxconn 100
defaults
    mode http
    timeout connect 5s
    timeout client 1d
    timeout server 1d
frontend devices
    bind fd@{device_descriptor} ssl crt {folder}/proxy.pem alpn h2
    default_backend relay-devices
backend relay-devices
    http-reuse never
    server relay {device_back} ssl verify required ca-file {authority} alpn h2 sni str(localhost)
frontend providers
    bind fd@{provider_descriptor} ssl crt {folder}/proxy.pem alpn h2
    default_backend relay-providers
backend relay-providers
    server relay {provider_back} ssl verify required ca-file {authority} alpn h2 sni str(localhost)
"""


TEMPLATES = {"nginx": NGINX, "haproxy": HAPROXY}


def start_nginx(template, values):
    """nginx at two free ports; it has said that it listens."""
    ports = subprocess.check_output([sys.executable, Path(__file__).with_name("ports.py")], text=True).split()
    values |= {"device_front": f"127.0.0.1:{ports[0]}", "provider_front": f"127.0.0.1:{ports[1]}",
               # Otherwise it lets somebody else do the work who may not enter the test's folder.
               "user": "user root;" if os.geteuid() == 0 else ""}
    folder = values["folder"]
    file = folder / "nginx.conf"
    file.write_text(template.format(**values))
    process = subprocess.Popen(["/usr/sbin/nginx", "-c", file, "-p", folder], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "start worker process " in line:
            threading.Thread(target=lambda: sys.stderr.writelines(process.stderr), daemon=True).start()
            return process, [int(port) for port in ports]
    sys.exit("nginx has ended")


def start_haproxy(template, values):
    """HAProxy at two sockets that listen before it is started."""
    fronts = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    descriptors = [front.fileno() for front in fronts]
    values |= {"device_descriptor": descriptors[0], "provider_descriptor": descriptors[1]}
    folder = values["folder"]
    pem = folder / "proxy.pem"
    pem.touch(mode=0o600)
    pem.write_bytes(values["certificate"].read_bytes() + values["key"].read_bytes())
    file = folder / "haproxy.conf"
    file.write_text(template.format(**values))
    process = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", file], pass_fds=descriptors)
    ports = [front.getsockname()[1] for front in fronts]
    for front in fronts:
        front.close()
    return process, ports


class Proxy:
    """A proxy in front of both ports of a relay. `relay`: how clients find the relay behind it."""

    def __init__(self, kind, relay, folder, templates=None):
        certificate, key = (Path(relay.ca).with_name(name) for name in ("relay.pem", "relay.key"))
        start = {"nginx": start_nginx, "haproxy": start_haproxy}[kind]
        self.process, ports = start((templates or TEMPLATES)[kind], {
            "folder": folder, "authority": relay.ca, "certificate": certificate, "key": key,
            "device_back": f"127.0.0.1:{relay.device_endpoint[1]}",
            "provider_back": f"127.0.0.1:{relay.provider_endpoint[1]}",
        })
        host = relay.device_endpoint[0]
        self.relay = dataclasses.replace(relay, device_endpoint=(host, ports[0]), provider_endpoint=(host, ports[1]))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def message(number):
    return {"aps": {"alert": f"{number}" + "x" * (number % 500)}}


async def push(provider, token, number):
    result = await provider.send_notification(NotificationRequest(device_token=token, message=message(number)))
    require(result.status == "200", f"a push gets {result.status} {result.description}")


def push_through(relay, tokens):
    """Pushes through the proxy. Not by aioapns: without ALPN nginx speaks HTTP/1.1."""
    client = Client(relay.provider_endpoint, relay.ca)
    authorization = bearer(relay)
    for start in range(0, PUSHES, BATCH):
        streams = [
            client.begin([
                (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", f"/3/device/{token}"),
                ("authorization", authorization), ("apns-topic", relay.topic), ("apns-collapse-id", f"unique {number}"),
            ], json.dumps(message(number)).encode())
            for number in range(start, start + BATCH) for token in tokens]
        statuses = {client.answer(stream)[0] for stream in streams}
        require(statuses == {200}, f"pushes through the proxy get {statuses}")
    client.close()


async def main(kind, relay, folder):
    proxy = Proxy(kind, relay, Path(folder))
    try:
        devices = [Device(proxy.relay, f"behind {kind} {number}") for number in range(DEVICES)]
        for device in devices:
            await device.join()
        say("devices enrol, connect and register")

        direct = make_provider(relay)
        for start in range(0, PUSHES, BATCH):
            await asyncio.gather(*(
                push(direct, device.token, number) for device in devices for number in range(start, start + BATCH)))
        await asyncio.to_thread(push_through, proxy.relay, [device.token for device in devices])
        for device in devices:
            await device.has(2 * PUSHES)
        say("pushes reach them, from providers behind the proxy as well")

        for _ in range(RECONNECTS):
            for device in devices:
                await device.disconnect()
            for device in devices:
                await device.connect()
                await device.register()
        await push(direct, devices[0].token, 1)
        await devices[0].has(2 * PUSHES + 1)
        say("they come back")
        for device in devices:
            await device.disconnect()
        direct.pool.close()
    finally:
        proxy.end()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Relay.described_in(sys.argv[2]), sys.argv[3]))
