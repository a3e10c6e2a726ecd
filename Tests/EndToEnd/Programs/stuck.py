"""A service whose stderr is a full pipe that nobody reads: it serves all the same, and ends when it is told to.

usage: stuck.py relay|agent POSTRIDER FOLDER
"""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from device import Device
from relay import Relay, require

PATIENCE = 60
TRIES = 50


def full_pipe():
    """Both ends of a pipe that takes not one byte more; its write end blocks."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b".")
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    return reader, writer


def status(postrider, *arguments):
    answer = subprocess.run(
        [postrider, *arguments, "--json"], stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
    return json.loads(answer.stdout)


async def come_and_go(relay):
    """Devices come and go, each of which is a line or two."""
    device = Device(relay, "a device")
    await asyncio.wait_for(device.enrol(), PATIENCE)
    for _ in range(TRIES):
        await asyncio.wait_for(device.connect(), PATIENCE)
        await device.disconnect()


def start_relay(postrider, folder, stderr):
    command = [
        postrider, "dev", "--json", "--log-level", "info", "--directory", folder / "dev", "--provider-port", "0",
        "--development-port", "0", "--device-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr)
    (folder / "relay.json").write_bytes(process.stdout.readline())
    return process, Relay.described_in(folder / "relay.json")


def read_on(reader, words):
    """Reads what waits until a line has these words."""
    text = b""
    while words not in text:
        data = os.read(reader, 65536)
        require(data, f"the log ends before it says {words}: {text[-2000:]}")
        text += data
    return text


def end(process):
    """It ends in good order though nobody reads."""
    process.send_signal(signal.SIGTERM)
    require(process.wait(PATIENCE) == 0, f"it ends with {process.returncode}")


def stuck_relay(postrider, folder):
    reader, writer = full_pipe()
    process, relay = start_relay(postrider, folder, writer)
    control = json.loads((folder / "relay.json").read_text())["controlAddress"]
    asyncio.run(come_and_go(relay))
    require(status(postrider, "status", "--control", control)["devices"] == 1, "the device is known")
    text = read_on(reader, b" connected, 0 pending")
    require(b"ready: " in text, "the first lines come first")
    os.set_blocking(reader, False)
    # The pipe is full again at the end.
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b".")
    except BlockingIOError:
        pass
    end(process)


def stuck_agent(postrider, folder):
    relay_process, relay = start_relay(postrider, folder, subprocess.DEVNULL)
    reader, writer = full_pipe()
    host, port = relay.device_endpoint
    socket = folder / "agent.sock"
    process = subprocess.Popen(
        [postrider, "agent", "--relay", f"{host}:{port}", "--ca", relay.ca, "--state", folder / "state",
         "--socket", socket],
        stderr=writer, env=os.environ | {"POSTRIDER_ENROLMENT_KEY": relay.enrolment_key})
    # Its first lines are about its start and its link; it answers behind them.
    while True:
        try:
            if status(postrider, "agent", "status", "--socket", socket)["isConnected"]:
                break
        except subprocess.CalledProcessError:
            require(process.poll() is None, "the agent runs")
    end(process)
    read_on(reader, b".")
    end(relay_process)


{"relay": stuck_relay, "agent": stuck_agent}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))
