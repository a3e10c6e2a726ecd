"""HAProxy in front of a relay's device port, which closes connections that are silent for some seconds (`timeout client`).

usage: silence.py RELAY.json FOLDER SECONDS

It prints `port: ` with the proxy's port. At SIGUSR1 a device connects through it that never sends a PING; the program says
when that one was cut. At the next SIGUSR1 it ends.
"""

import asyncio
import dataclasses
import signal
import socket
import subprocess
import sys
from pathlib import Path

from device import Device
from relay import Relay, say

HAPROXY = """
global
    maxconn 100
defaults
    mode tcp
    timeout connect 5s
    timeout client {seconds}s
    timeout server {seconds}s
listen devices
    bind fd@{descriptor}
    server relay {host}:{port}
"""


async def main(relay, folder, seconds):
    called = asyncio.Event()
    # Whoever has started this program may have blocked it.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, called.set)
    front = socket.create_server(("127.0.0.1", 0))
    host, port = relay.device_endpoint
    file = Path(folder) / "haproxy.conf"
    file.write_text(HAPROXY.format(seconds=seconds, descriptor=front.fileno(), host=host, port=port))
    # The proxy does not outlive this program, however it ends.
    command = ["/usr/bin/setpriv", "--pdeathsig", "KILL", "/usr/sbin/haproxy", "-db", "-f", file]
    process = subprocess.Popen(command, pass_fds=[front.fileno()])
    try:
        say(f"port: {front.getsockname()[1]}")
        await called.wait()
        called.clear()
        silent = Device(dataclasses.replace(relay, device_endpoint=front.getsockname()), "a silent one", 1800)
        await silent.join()
        await silent.end()
        say("the silent one was cut")
        await called.wait()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


asyncio.run(main(Relay.described_in(sys.argv[1]), sys.argv[2], sys.argv[3]))
