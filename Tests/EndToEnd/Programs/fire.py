"""A relay whose disk fails and whose process ends in the middle of its writing loses nothing that it accepted.

usage: fire.py PROGRAM FOLDER {ends|errors|doubt|backup}
"""

import asyncio
import sys
from pathlib import Path

import fault
from burning import Scene
from relay import require, say


async def ends(scene):
    """At some boundaries: killed, killed in the middle of a write, and without power."""
    for seed, (kind, boundary) in enumerate([
        (fault.KILL, 1), (fault.TEAR, 4), (fault.CUT, 2), (fault.CUT, 9), (fault.KILL, 14), (fault.CUT, 23),
    ]):
        await scene.ends_at(kind, boundary, seed)
        say(f"{fault.NAMES[kind]} at {boundary}: nothing is lost")


async def errors(scene):
    """No room, writes that fail, syncs that fail."""
    for seed, kind in enumerate([fault.FULL, fault.WRITE_ERROR, fault.SYNC_ERROR]):
        await scene.lives_through(kind, seed)
        say(f"{fault.NAMES[kind]}: nothing is lost")


async def doubt(scene):
    """The relay ends between a sync that failed and its mending, and then the power goes."""
    await scene.ends_in_doubt()
    say("killed in doubt: nothing is lost")


async def backup(scene):
    """A backup while pushes come in is a store to start from: its tokens work, and what waited is delivered."""
    waiting = [await scene.push() for _ in range(20)]
    require(waiting == [200] * 20, f"pushes get {waiting}")
    promised = set(scene.answers)
    place = scene.house.folder / "copy"
    during, _ = await asyncio.gather(
        asyncio.gather(*(scene.push() for _ in range(50))), scene.house.tell("backup", str(place)))
    require(during == [200] * 50, f"during the backup pushes get {during}")
    names = sorted((path.name, oct(path.stat().st_mode & 0o777)) for path in place.iterdir())
    files = ["queue.sqlite", "queue.sqlite-wal", "registry.sqlite", "registry.sqlite-wal"]
    require(names == [(name, "0o600") for name in files], f"the backup has {names}")
    await scene.end()
    await scene.start_from(place)
    # Of those during the backup each may be in it.
    scene.answers = {identity: 200 if identity in promised else None for identity in scene.answers}
    await scene.has_everything()
    say("a relay from the backup has everything")


async def main(program, folder, part):
    scene = Scene(program, folder, fault.build(folder))
    await scene.prepare()
    await {"ends": ends, "errors": errors, "doubt": doubt, "backup": backup}[part](scene)
    await scene.end()


asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
