"""A relay, or an agent, whose real, small file system is full loses nothing, does not end, and recovers.

usage: full_disk.py PROGRAM FOLDER {relay|pushes|doubt|agent} KIND
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import fault
from agent_fire import Scene as AgentScene
from burning import PATIENCE, BurningRelay, Scene
from relay import require, say, until
from small_disk import MIB, SmallDisk, in_namespace

REFUSED = (503, "ServiceUnavailable")
# Bytes of a push's payload, nearly as many as one may have.
LARGE = 3500
# Pushes at the same time: no more than fit into the first window of a connection, 65,535 bytes (RFC 9113, section 6.9.2).
# aioapns fails where the window ends, and does not wait.
AT_ONCE = 15
# Bytes that are too few for anything, and enough for a file whose pages get a block each, of the smallest, in advance.
LITTLE = 12 << 10


class PlainRelay(BurningRelay):
    """A relay on whatever disk its store lies."""

    async def start(self, seed=0):
        await self._start("dev", None)


class RelayScene(Scene):
    """A relay whose store is on a small file system, and one device."""

    def __init__(self, program, folder, disk):
        super().__init__(program, folder, None)
        self.house = PlainRelay(program, folder, None)
        self.disk = disk

    async def fill_with_pushes(self):
        """Pushes to the absent device until the disk is full."""
        while True:
            answers = await asyncio.gather(*(self.push(LARGE) for _ in range(AT_ONCE)))
            require(self.house.process.returncode is None, f"the relay ended: {self.house.log}")
            require(set(answers) <= {200, REFUSED}, f"on a disk that is nearly full pushes get {set(answers)}")
            if set(answers) == {REFUSED}:
                return

    async def delivers_what_it_holds(self):
        """The device comes: everything that was answered with 200 is delivered."""
        await self.arrive()
        for identity in [identity for identity, answer in self.answers.items() if answer == 200]:
            await asyncio.wait_for(self.device.has_had(identity), PATIENCE)

    def tells_seldom(self, words):
        """What is small may fit between two that do not; then the log says it a second time."""
        lines = [line for line in self.house.log.split("\n") if words in line]
        require(1 <= len(lines) <= 2, f"the log says '{words}' {len(lines)} times: {self.house.log}")

    async def starts_on_the_full_disk(self):
        """Killed and started again: it runs, or says in one sentence why it does not."""
        await self.house.end()
        try:
            await self.start()
            return True
        except SystemExit:
            code = await asyncio.wait_for(self.house.process.wait(), PATIENCE)
            errors = [line for line in self.house.log.split("\n") if "free space" in line]
            require(code == 1 and len(errors) == 1, f"the relay ended with {code}: {self.house.log}")
            return False


async def relay(program, folder, disk):
    """Another program fills the disk, and pushes what it has left."""
    scene = RelayScene(program, folder, disk)
    await scene.prepare()
    disk.fill(leave=MIB)
    await scene.fill_with_pushes()
    disk.fill()
    await scene.fill_with_pushes()
    scene.tells_seldom("notifications are not stored for now")
    await scene.delivers_what_it_holds()
    require(await scene.push() == 200, "what the device acknowledges at once needs no disk")
    await scene.leave()
    say("what was stored is delivered from a full disk")
    await scene.fill_with_pushes()
    runs = await scene.starts_on_the_full_disk()
    say("the relay runs on the full disk" if runs else "the relay says why it does not start on the full disk")
    if runs:
        await scene.delivers_what_it_holds()
        await scene.leave()
    disk.make_room()
    if not runs:
        await scene.start()
    await scene.has_everything()
    names = sorted(path.name for path in disk.place.iterdir())
    require(not [name for name in names if name.endswith("-shm")], f"the store has a mapped file: {names}")
    await scene.end()
    say("nothing is lost")


async def pushes(program, folder, disk):
    """Pushes alone fill the disk: what is delivered makes room for others."""
    scene = RelayScene(program, folder, disk)
    await scene.prepare()
    disk.fill(leave=MIB)
    for _ in range(2):
        await scene.fill_with_pushes()
        await scene.delivers_what_it_holds()
        await scene.leave()
    answer = None
    async with asyncio.timeout(PATIENCE):
        while answer != 200:
            answer = await scene.push(LARGE)
    say("what is delivered makes room")
    await scene.has_everything()
    await scene.end()
    say("nothing is lost")


async def doubt(program, folder, disk):
    """A sync fails, and when the files are opened anew the disk is full: what is stored is delivered all the same."""
    scene = RelayScene(program, folder, disk)
    scene.house = BurningRelay(program, folder, fault.build(folder))
    await scene.prepare()
    answers = [await scene.push(LARGE) for _ in range(20)]
    require(answers == [200] * 20, f"a sound relay answers {answers}")
    disk.fill()
    disk.give(LITTLE)
    scene.house.disk.plan(0, fault.SYNC_ERROR, scene.house.disk.boundaries, 1)
    # The sync fails under the first. Later ones may find the room that the relay makes.
    answers = [await scene.push(LARGE) for _ in range(4)]
    code = scene.house.process.returncode
    is_sound = code is None and answers[0] == REFUSED and set(answers) <= {200, REFUSED}
    require(is_sound, f"pushes get {answers}, the relay ended with {code}: {scene.house.log}")
    await scene.delivers_what_it_holds()
    await scene.leave()
    disk.make_room()
    await scene.has_everything()
    await scene.end()
    say("nothing is lost")


class SmallAgent(AgentScene):
    """An agent whose state is on a small file system, of a relay that has room."""

    def __init__(self, program, folder, disk):
        super().__init__(program, folder, None)
        self.house = PlainRelay(program, folder, None)

    async def start(self, seed=0):
        await self.run_agent(None)

    async def kill(self):
        os.kill(self.agent.pid, signal.SIGKILL)
        await asyncio.wait_for(self.agent.wait(), PATIENCE)

    def lines(self, words):
        return [line for line in self.log.split("\n") if words in line]

    async def logged(self, words, count=1):
        """Returns when the log says this so often."""
        async with asyncio.timeout(PATIENCE):
            await until(lambda: self.goes_on() and len(self.lines(words)) >= count)

    def goes_on(self):
        """Ends the program with a sentence where the agent has ended."""
        require(self.agent.returncode is None, f"the agent ended with {self.agent.returncode}: {self.log}")
        return True


async def agent(program, folder, disk):
    scene = SmallAgent(program, folder, disk)
    await scene.prepare()
    disk.fill()
    while not scene.lines("the agent's state is not stored for now"):
        scene.goes_on()
        await scene.push(20, LARGE)
        # The agent has time to fill its disk: the relay keeps no more than so many.
        await asyncio.sleep(0.05)
    # It asks the relay for them again and again.
    await scene.logged("connecting to", len(scene.lines("connecting to")) + 2)
    for words in ("not stored for now", "not stored"):
        require(len(scene.lines(words)) == 1, f"the log says so {len(scene.lines(words))} times: {scene.log}")
    say("an agent on a full disk says so once")

    await scene.kill()
    disk.give(LITTLE)
    await scene.start()
    async with asyncio.timeout(PATIENCE):
        await until(lambda: scene.goes_on() and (
            scene.lines("ready: apps connect") or scene.lines("is not started for now")))
    say("an agent starts on a full disk, or waits for room")
    disk.make_room()
    await scene.app.has(scene.pushed)
    await scene.push(1)
    await scene.app.has(scene.pushed)
    for words in ("not started for now", "not stored for now", "stored again"):
        require(len(scene.lines(words)) <= 1, f"the log says '{words}' more than once: {scene.log}")
    names = sorted(path.name for path in disk.place.iterdir())
    require(not [name for name in names if name.endswith("-shm")], f"the state has a mapped file: {names}")
    await scene.end()
    say("nothing is lost")


async def run(program, folder, part, kind):
    folder.mkdir(exist_ok=True)
    place = folder / ("agent" if part == "agent" else "dev/data")
    disk = SmallDisk(kind, place, folder / "image")
    await {"relay": relay, "pushes": pushes, "doubt": doubt, "agent": agent}[part](program, folder, disk)
    disk.unmount()


if __name__ == "__main__":
    in_namespace()
    asyncio.run(run(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
