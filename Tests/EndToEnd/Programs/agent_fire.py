"""An agent whose disk fails and whose process ends in the middle of its writing loses nothing that it acknowledged.

usage: agent_fire.py PROGRAM FOLDER {ends|errors|doubt}
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from uuid import UUID, uuid4

import fault
import grpc
from aioapns import NotificationRequest

from burning import PATIENCE, BurningRelay
from provider import make_provider
from relay import require, say, until

sys.path.insert(0, str(Path(__file__).parents[3] / "docs" / "reference"))
pb, rpc = grpc.protos_and_services("agent.proto")
courier, _ = grpc.protos_and_services("courier.proto")


class App:
    """An app at the agent's socket, which handles what it is handed over at once; it comes back whenever the agent does."""

    def __init__(self, socket, topic):
        self.socket = socket
        self.topic = topic
        self.token = None
        # How often each push was handed over.
        self.calls = {}
        self.arrived = asyncio.Condition()
        self._outbox = None
        self._run = asyncio.create_task(self._stay())

    async def has(self, identities):
        """Returns when all of these were handed over."""
        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(lambda: identities <= self.calls.keys()), PATIENCE)

    async def registered(self):
        """Returns when the app has its token."""
        async with self.arrived:
            await asyncio.wait_for(self.arrived.wait_for(lambda: self.token), PATIENCE)

    async def end(self):
        self._run.cancel()
        await asyncio.gather(self._run, return_exceptions=True)

    async def _stay(self):
        while True:
            with contextlib.suppress(grpc.aio.AioRpcError):
                await self._attach()
            # While the agent is away, the attempts leave the processor to others.
            await asyncio.sleep(0.02)

    async def _attach(self):
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with grpc.aio.insecure_channel(f"unix:{self.socket}", options) as channel:
            self._outbox = asyncio.Queue()
            self._outbox.put_nowait(pb.AppMessage(register=courier.Register(topic=self.topic)))
            async for message in rpc.AppsStub(channel).Attach(self._messages()):
                await self._take(message)

    async def _messages(self):
        while True:
            yield await self._outbox.get()

    async def _take(self, message):
        kind = message.WhichOneof("message")
        async with self.arrived:
            if kind == "registered":
                self.token = message.registered.device_token.hex()
            elif kind == "deliver":
                identity = message.deliver.identity
                self.calls[identity] = self.calls.get(identity, 0) + 1
                handled = pb.Handled(delivery=[message.deliver.delivery])
                self._outbox.put_nowait(pb.AppMessage(handled=handled))
            self.arrived.notify_all()


class Scene:
    """A sound relay, an agent on a disk that fails, and its app."""

    def __init__(self, program, folder, library):
        self.program = str(program)
        self.folder = Path(folder)
        self.library = library
        self.house = BurningRelay(program, folder, library)
        self.disk = None
        self.agent = None
        self.pushed = set()
        # Hand-overs of what had been handed over, where the agent ended before it had written down that it was handled.
        self.again = 0

    @property
    def log(self):
        return (self.folder / "agent.log").read_text()

    async def prepare(self):
        # grpcio tells of every call that ended with its agent.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await self.house.start()
        relay = self.house.relay
        (self.folder / "key").write_text(relay.enrolment_key)
        self.provider = make_provider(relay, attempts=1)
        await self.start()
        self.app = App(self.folder / "agent.sock", relay.topic)
        await self.app.registered()
        await self.push(1)
        await self.app.has(self.pushed)

    async def start(self, seed=0):
        """Starts the agent on a disk that is sound for now."""
        if self.disk:
            self.disk.close()
        self.disk = fault.Disk(self.library, self.folder / "agent.control", self.folder / "agent", seed)
        await self.run_agent(self.disk.environment)

    async def run_agent(self, environment):
        host, port = self.house.relay.device_endpoint
        with (self.folder / "agent.log").open("wb") as log:
            self.agent = await asyncio.create_subprocess_exec(
                self.program, "agent", "--relay", f"{host}:{port}", "--ca", self.house.relay.ca, "--state",
                self.folder / "agent", "--socket", self.folder / "agent.sock", "--enrolment-key-file",
                self.folder / "key", "--log-level", "debug", stdout=log, stderr=log, env=environment)

    async def push(self, count, size=0):
        """Pushes so many, each with so many bytes more than is needed; the relay takes them on whether the agent does or not."""
        requests = []
        for _ in range(count):
            identity = uuid4()
            self.pushed.add(identity.bytes)
            requests.append(self.provider.send_notification(NotificationRequest(
                device_token=self.app.token, message={"aps": {"alert": "fire"}, "filling": "x" * size},
                notification_id=str(identity), time_to_live=86400)))
        results = await asyncio.wait_for(asyncio.gather(*requests), PATIENCE)
        require(all(result.is_successful for result in results), "a sound relay refuses a push")

    async def ends_at(self, kind, boundary, seed):
        """Lets the agent end at its n-th write boundary from now; the next one has everything."""
        self.disk.plan(0, kind, self.disk.boundaries + boundary, 1)
        while self.agent.returncode is None and self.disk.hits(0) == 0:
            await self.push(3)
            # The relay is not flooded while the agent writes.
            await asyncio.sleep(0.05)
        code = await asyncio.wait_for(self.agent.wait(), PATIENCE)
        require(code == -signal.SIGKILL, f"the agent ended with {code}: {self.log}")
        await self.start(seed + 1)
        await self.has_everything()

    async def has_everything(self):
        """Everything pushed was handed over to the app; what it has handled, and the agent has made safe, once."""
        await self.app.has(self.pushed)
        invented = self.app.calls.keys() - self.pushed
        require(not invented, f"the app has what nobody pushed: {[str(UUID(bytes=one)) for one in invented]}")
        # Whatever is handed over a second time came before this one.
        await self.push(1)
        await self.app.has(self.pushed)
        repeated = sum(count - 1 for count in self.app.calls.values())
        require(repeated - self.again <= 64, f"{repeated - self.again} were handed over twice at one end of the agent")
        self.again = repeated

    async def lives_through(self, kind, seed):
        """The disk fails for a while: nothing is acknowledged, nothing is lost, and the agent recovers by itself.

        Then the power goes: what it has acknowledged after the recovery is on the disk.
        """
        known = set(self.app.calls)
        again = self.again
        self.disk.plan(0, kind, self.disk.boundaries)
        await self.push(5)
        await until(lambda: self.disk.hits(0))
        # The relay keeps what is not acknowledged.
        counters = await self.house.counters()
        require(counters["pending"] >= 5, f"the agent acknowledged what is not safe: {counters}")
        require(self.app.calls.keys() == known, "the app has what is not safe")
        self.disk.heal()
        await self.has_everything()
        require(self.again == again, "without an end of the agent something was handed over twice")
        if kind == fault.SYNC_ERROR:
            require("it is in use again" in self.log, f"the log does not tell of the recovery: {self.log}")
        await self.ends_at(fault.CUT, 1, seed)

    async def ends_in_doubt(self, seed):
        """The agent is killed between a failed sync and its mending; after the next one's power cut all is there."""
        self.disk.plan(0, fault.SYNC_ERROR, self.disk.boundaries)
        await self.push(3)
        await until(lambda: self.disk.hits(0))
        self.disk.plan(1, fault.KILL, self.disk.boundaries, 1)
        code = await asyncio.wait_for(self.agent.wait(), PATIENCE)
        require(code == -signal.SIGKILL, f"the agent ended with {code}: {self.log}")
        await self.start(seed)
        await self.has_everything()
        await self.ends_at(fault.CUT, 0, seed)

    async def end(self):
        await self.app.end()
        if self.agent.returncode is None:
            os.kill(self.agent.pid, signal.SIGKILL)
            await self.agent.wait()
        await self.house.end()


async def main(program, folder, part):
    scene = Scene(program, folder, fault.build(folder))
    await scene.prepare()
    if part == "ends":
        for seed, (kind, boundary) in enumerate([
            (fault.KILL, 0), (fault.KILL, 1), (fault.TEAR, 2), (fault.CUT, 0), (fault.CUT, 3), (fault.KILL, 5),
        ]):
            await scene.ends_at(kind, boundary, seed)
            say(f"{fault.NAMES[kind]} at {boundary}: nothing is lost")
    elif part == "errors":
        for seed, kind in enumerate([fault.FULL, fault.WRITE_ERROR, fault.SYNC_ERROR]):
            await scene.lives_through(kind, seed)
            say(f"{fault.NAMES[kind]}: nothing is lost")
    else:
        await scene.ends_in_doubt(7)
        say("killed in doubt: nothing is lost")
    await scene.end()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
