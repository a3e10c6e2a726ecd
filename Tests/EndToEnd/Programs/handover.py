"""The agent is killed at every step of the hand-over: at each write to its disk, from a push's arrival to the last of it.

usage: handover.py RELAY.json PRODUCTS FOLDER

An app runs all the time. For each n a push is made, and the agent killed at its n-th write from then on, and started
again; until there is no n-th write. Every push reaches the app's observer, once, in order. Several devices share the
work, because an app that loses its agent again and again takes its time to come back.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import fault
from aioapns import NotificationRequest, PushType

from provider import make_provider
from relay import Relay, require, say

PATIENCE = 60
# More than a hand-over takes: a transaction for the arrival, one for the end.
MOST_STEPS = 200
DEVICES = 4


class App:
    """The example app, which prints the number of each push that its observer is given."""

    def __init__(self):
        self.numbers = []
        self.news = asyncio.Condition()
        self.token = asyncio.get_running_loop().create_future()

    async def run(self, program, topic, socket):
        self.process = await asyncio.create_subprocess_exec(
            program, "--topic", topic, "--socket", socket, stdout=asyncio.subprocess.PIPE)
        async for line in self.process.stdout:
            text = line.decode().rstrip()
            if text.startswith("device token: ") and not self.token.done():
                self.token.set_result(text.removeprefix("device token: "))
            if text.startswith("  number: "):
                async with self.news:
                    self.numbers.append(int(text.removeprefix("  number: ")))
                    self.news.notify_all()

    async def given(self, number):
        async with self.news:
            await self.news.wait_for(lambda: number in self.numbers)


class Agent:
    """The agent of one device, which is started again and again over its state."""

    def __init__(self, postrider, relay, folder, key):
        self.postrider = postrider
        self.folder = folder
        self.socket = folder / "agent.sock"
        host, port = relay.device_endpoint
        self.arguments = [
            "agent", "--relay", f"{host}:{port}", "--ca", relay.ca, "--state", folder / "agent", "--socket", self.socket]
        self.key = key
        self.library = fault.build(folder)
        self.disk = None

    async def start(self):
        if self.disk:
            self.disk.close()
        self.disk = fault.Disk(self.library, self.folder / "control", self.folder / "agent")
        self.process = await asyncio.create_subprocess_exec(
            self.postrider, *self.arguments, stderr=asyncio.subprocess.PIPE,
            env=self.disk.environment | {"POSTRIDER_ENROLMENT_KEY": self.key})
        async for line in self.process.stderr:
            if b"ready:" in line:
                break
        self.drain = asyncio.create_task(self.process.stderr.read())
        self.death = asyncio.create_task(self.process.wait())

    def die_at(self, step):
        self.disk.plan(0, fault.KILL, self.disk.boundaries + step, 1)

    async def done(self):
        """Returns when nothing waits for an app any more."""
        while True:
            process = await asyncio.create_subprocess_exec(
                self.postrider, "agent", "status", "--json", "--socket", self.socket,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
            output, _ = await process.communicate()
            if process.returncode == 0 and json.loads(output)["inbox"] == 0:
                return

    async def survives(self, work):
        """Whether it lives until some work is done."""
        work = asyncio.create_task(work)
        await asyncio.wait([work, self.death], return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        return not self.death.done()

    def send(self, number):
        if self.process.returncode is None:
            os.kill(self.process.pid, number)


async def steps(agent, app, push, first):
    """Answers how often the agent was killed."""
    for number, step in enumerate(range(first, MOST_STEPS, DEVICES), 1):
        agent.die_at(step)
        await push(number)

        async def handed_over():
            await app.given(number)
            await agent.done()

        if await agent.survives(handed_over()):
            return number - 1
        require(await agent.death == -signal.SIGKILL, "the agent ends as it was planned")
        await agent.start()
        await app.given(number)
    sys.exit("a hand-over has no end")


async def play(relay, products, folder, first):
    folder.mkdir()
    agent = Agent(products / "postrider", relay, folder, relay.enrolment_key)
    app = App()
    await agent.start()
    running = asyncio.create_task(app.run(products / "postrider-example-app", relay.topic, agent.socket))
    token = await app.token
    await agent.done()
    provider = make_provider(relay)

    async def push(number):
        result = await provider.send_notification(
            NotificationRequest(device_token=token, message={"aps": {}, "number": number}, push_type=PushType.ALERT))
        require(result.is_successful, f"the push was refused: {result.description}")

    try:
        kills = await steps(agent, app, push, first)
        agent.disk.heal()
        await push(kills + 2)
        await app.given(kills + 2)
        require(app.numbers == list(range(1, kills + 3)), f"the observer was given {app.numbers}")
        return kills
    finally:
        agent.send(signal.SIGTERM)
        app.process.terminate()
        running.cancel()
        await agent.process.wait()
        await app.process.wait()
        provider.pool.close()


async def main(file, products, folder):
    async with asyncio.timeout(PATIENCE * 3):
        relay = Relay.described_in(file)
        devices = [play(relay, Path(products), Path(folder) / f"d{first}", first) for first in range(DEVICES)]
        kills = sum(await asyncio.gather(*devices))
    require(kills > 8, "the agents were hardly killed at all")
    say(f"killed at {kills} steps, and every push was observed once")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
