"""A relay on a failing disk, with its provider and its device."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
from pathlib import Path
from uuid import UUID, uuid4

import fault
from aioapns import NotificationRequest

from device import Device
from provider import make_provider
from relay import Relay, require

logging.getLogger("aioapns").setLevel(logging.CRITICAL)

# Much longer than anything takes.
PATIENCE = 40


class BurningRelay:
    """`postrider dev` in its own folder. It is restarted repeatedly, and keeps its store."""

    def __init__(self, program, folder, library):
        self.program = str(program)
        self.folder = Path(folder)
        self.library = library
        self.disk = None
        self.process = None
        self.relay = None

    @property
    def log(self):
        """Returns the log of its last run so far."""
        return (self.folder / "log").read_text()

    async def start(self, seed=0):
        """Starts it on a disk that works at first."""
        if self.disk:
            self.disk.close()
        self.disk = fault.Disk(self.library, self.folder / "control", self.folder / "dev" / "data", seed)
        await self._start("dev", self.disk.environment)

    async def start_from(self, backup):
        """Starts a relay with the certificates and keys of this one, and a backup as its store."""
        other = self.folder / "restored"
        subprocess.run(["cp", "-r", self.folder / "dev", other], check=True)
        subprocess.run(["rm", "-r", other / "data"], check=True)
        subprocess.run(["mv", backup, other / "data"], check=True)
        await self._start("restored", None)

    async def _start(self, directory, environment):
        ports = [word for name in ("provider", "development", "device") for word in (f"--{name}-port", "0")]
        with (self.folder / "log").open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                self.program, "dev", "--json", "--log-level", "info", "--directory", self.folder / directory, *ports,
                stdout=asyncio.subprocess.PIPE, stderr=log, env=environment, limit=1 << 20)
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
        require(line.startswith(b"{"), f"the relay did not start: {self.log}")
        path = self.folder / "relay.json"
        path.write_bytes(line)
        self.control = json.loads(line)["controlAddress"]
        self.relay = Relay.described_in(path)

    async def end(self):
        """Kills it if it has not ended, and returns how it ended."""
        if self.process.returncode is None:
            # The process's own kill() is not used, because it may take the exit code from other waiters.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    async def tell(self, *words):
        """Runs an operator's command, which must succeed, and returns its output."""
        code, output, errors = await self._run(*words)
        require(code == 0, f"{words[0]}: {errors}")
        return output

    async def ask(self, *words):
        """Runs an operator's command, and returns its exit code and its errors."""
        code, _, errors = await self._run(*words)
        return code, errors

    async def _run(self, *words):
        process = await asyncio.create_subprocess_exec(
            self.program, *words, "--control", self.control,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        output, errors = await asyncio.wait_for(process.communicate(), PATIENCE)
        return process.returncode, output.decode(), errors.decode()

    async def counters(self):
        """Returns the counters of its notifications, which must balance."""
        counters = json.loads(await self.tell("status", "--json"))["counters"]
        rest = sum(counters[name] for name in ("delivered", "pending", "expired", "replaced", "discarded"))
        balances = counters["accepted"] == rest + sum(counters["dropped"].values())
        require(counters["isBalanced"] and balances, f"the counters do not balance: {counters}")
        return counters


class Scene:
    """One device of a relay, and all pushes to it."""

    def __init__(self, program, folder, library):
        self.house = BurningRelay(program, folder, library)
        self.device = None
        self.provider = None
        # The result of each push by its identity: 200, another status with its reason, or None without an answer.
        self.answers = {}
        self.is_home = False

    async def end(self):
        """Ends the relay."""
        await self.house.end()

    async def prepare(self):
        """Starts the relay for the first time and enrols the device."""
        # grpcio logs every call that ended with its relay.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        await self.start()
        self.device = Device(self.house.relay, "a device in the fire")
        await self.device.enrol()
        await self.arrive()
        await self.device.register()
        await self.leave()

    async def start(self, seed=0):
        await self.house.start(seed)
        self._meet()

    async def start_from(self, backup):
        await self.house.start_from(backup)
        self._meet()

    def _meet(self):
        if self.provider:
            self.provider.pool.close()
        self.provider = make_provider(self.house.relay, attempts=1)
        if self.device:
            self.device.relay = self.house.relay

    async def arrive(self):
        await asyncio.wait_for(self.device.connect(), PATIENCE)
        self.is_home = True

    async def leave(self):
        """Disconnects the device without a goodbye, as if its battery were empty."""
        if self.is_home:
            self.is_home = False
            await self.device.disconnect(politely=False)

    async def push(self, size=0):
        """Pushes once, with this many extra bytes, and returns the status, or a pair such as `(503, reason)`.

        Returns None if there was no answer.
        """
        identity = uuid4()
        self.answers[identity.bytes] = None
        request = NotificationRequest(
            device_token=self.device.token, message={"aps": {"alert": str(identity)}, "filling": "x" * size},
            notification_id=str(identity), time_to_live=86400)
        try:
            result = await asyncio.wait_for(self.provider.send_notification(request), PATIENCE)
        except Exception:  # any error of aioapns about a relay that has ended
            return None
        answer = 200 if result.is_successful else (int(result.status), result.description)
        self.answers[identity.bytes] = answer
        return answer

    async def has_everything(self, politely=True):
        """Connects the device and waits until every accepted push has arrived; the counters balance and nothing is pending."""
        if not self.is_home:
            await self.arrive()
        require(await self.push() == 200, "a sound relay refuses a push")
        last = next(reversed(self.answers))
        await asyncio.wait_for(self.device.has_had(last), PATIENCE)
        arrived = {identity for _, identity in self.device.arrivals}
        lost = [str(UUID(bytes=identity)) for identity, answer in self.answers.items()
                if answer == 200 and identity not in arrived]
        require(not lost, f"lost: {lost}")
        invented = arrived - self.answers.keys()
        require(not invented, "the device has what nobody pushed")
        if politely:
            await self.device.disconnect()
            self.is_home = False
        counters = await self.house.counters()
        require(counters["pending"] == 0, f"something waits still: {counters}")

    async def ends_in_doubt(self, seed=0):
        """Kills the relay between a failed sync and its recovery. The next one must recover before a power cut."""
        disk = self.house.disk
        held = [await self.push() for _ in range(3)]
        require(held == [200] * 3, f"a sound relay answers {held}")
        disk.plan(0, fault.SYNC_ERROR, disk.boundaries)
        refused = await self.push()
        require(refused == (503, "ServiceUnavailable"), f"on a failing disk a push gets {refused}")
        disk.plan(1, fault.KILL, disk.boundaries, 1)
        while self.house.process.returncode is None and disk.hits(1) == 0:
            await self.push()
        code = await self.house.end()
        require(code == -9, f"the relay ended with {code}: {self.house.log}")
        await self.start(seed)
        answers = [await self.push() for _ in range(3)]
        require(answers == [200] * 3, f"the next relay answers {answers}: {self.house.log}")
        await self.ends_at(fault.CUT, 0, seed)

    async def ends_at(self, kind, boundary, seed=0):
        """Ends the relay at its n-th write boundary from now, and checks that nothing was lost."""
        disk = self.house.disk
        disk.plan(0, kind, disk.boundaries + boundary, 1)
        while self.house.process.returncode is None and disk.hits(0) == 0:
            # Pushes that are stored, pushes that the device acknowledges, and some at the same time.
            await asyncio.gather(*(self.push() for _ in range(3)))
            await self._move()
        code = await self.house.end()
        require(code == -9, f"the relay ended with {code}: {self.house.log}")
        await asyncio.gather(self.leave(), return_exceptions=True)
        await self.start(seed + 1)
        await self.has_everything()

    async def _move(self):
        """Connects or disconnects the device, unless the relay ends meanwhile."""
        move = asyncio.create_task(self.leave() if self.is_home else self.arrive())
        end = asyncio.create_task(self.house.process.wait())
        await asyncio.wait({move, end}, return_when=asyncio.FIRST_COMPLETED)
        move.cancel()
        end.cancel()
        # Any error of grpcio about a relay that has ended.
        await asyncio.gather(move, end, return_exceptions=True)

    async def lives_through(self, kind, seed=0):
        """Lets the disk fail for a while: pushes are refused, stored ones are delivered, and the relay recovers by itself.

        Then cuts the power: pushes that were accepted after the recovery must be on the disk.
        """
        disk = self.house.disk
        held = [await self.push() for _ in range(3)]
        require(held == [200] * 3, f"a sound relay answers {held}")
        disk.plan(0, kind, disk.boundaries)
        refused = [await self.push() for _ in range(3)]
        require(refused == [(503, "ServiceUnavailable")] * 3, f"on a failing disk pushes get {refused}")
        await self.arrive()
        accepted = [identity for identity, answer in self.answers.items() if answer == 200]
        for identity in accepted:
            await asyncio.wait_for(self.device.has_had(identity), PATIENCE)
        require(await self.push() == 200, "what the device acknowledges at once needs no disk")
        await self.leave()
        sentences = [line for line in self.house.log.split("\n") if "not stored for now" in line]
        require(len(sentences) == 1, f"the log says so {len(sentences)} times: {self.house.log}")
        disk.heal()
        answers = [await self.push() for _ in range(3)]
        require(answers == [200] * 3, f"on a disk that is sound again pushes get {answers}: {self.house.log}")
        require("stored again" in self.house.log, f"the log does not tell of the recovery: {self.house.log}")
        await self.house.counters()
        await self.ends_at(fault.CUT, 0, seed)
