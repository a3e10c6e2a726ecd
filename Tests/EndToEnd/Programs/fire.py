"""A relay whose disk fails and whose process ends in the middle of its writing loses nothing that it accepted.

usage: fire.py PROGRAM FOLDER {ends|errors|doubt|backup|copy|refused}
"""

import asyncio
import json
import shutil
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


async def copy(scene):
    """A backup has its name when it is whole and synced; one that ended in the middle is left as `….partial`."""
    require([await scene.push() for _ in range(3)] == [200] * 3, "a sound relay refuses a push")
    place = scene.house.folder / "dev" / "data" / "copy"
    partial = place.with_name("copy.partial")
    # The relay writes for other reasons, too: the shortest of three is the copy's own length.
    lengths = []
    for _ in range(3):
        before = scene.house.disk.boundaries
        await scene.house.tell("backup", str(place))
        lengths.append(scene.house.disk.boundaries - before)
        shutil.rmtree(place)
    length = min(lengths)
    for seed, (kind, boundary) in enumerate([
        (fault.CUT, 0), (fault.KILL, length // 3), (fault.CUT, length // 2), (fault.CUT, length - 1),
    ]):
        # A write of the relay's own may come first, so that it ends before the copy begins.
        for _ in range(10):
            scene.house.disk.plan(0, kind, scene.house.disk.boundaries + boundary, 1)
            code, _ = await scene.house.ask("backup", str(place))
            require(code != 0 and await scene.house.end() == -9, f"no end at {boundary}: {scene.house.log}")
            require(not place.exists(), f"{fault.NAMES[kind]} at {boundary} leaves {place}")
            await scene.start(seed)
            if partial.exists():
                break
        require(partial.exists(), f"{fault.NAMES[kind]} at {boundary} leaves no {partial}")
        code, errors = await scene.house.ask("backup", str(place))
        require(code == 1 and "remove it if it is left from a copy that failed" in errors, f"the next one says {errors}")
        shutil.rmtree(partial)
    # A copy whose pages are not on the disk has no name.
    scene.house.disk.plan(0, fault.SYNC_ERROR, scene.house.disk.boundaries)
    code, errors = await scene.house.ask("backup", str(place))
    require(code == 1 and "copy" in errors, f"where no page can be synced a backup says {errors}")
    require(not place.exists() and not partial.exists(), "a copy that failed leaves something")
    scene.house.disk.heal()
    await scene.house.tell("backup", str(place))
    promised = set(scene.answers)
    scene.house.disk.plan(0, fault.CUT, scene.house.disk.boundaries, 1)
    require(await scene.push() is None and await scene.house.end() == -9, "the power does not go")
    scene.answers = {identity: answer for identity, answer in scene.answers.items() if identity in promised}
    await scene.start_from(place)
    await scene.has_everything()
    say("a copy is whole or has no name")


async def refused(scene):
    """A change of the registry that was refused may be there after a restart. Done again, it is done once."""
    words = ["topics", "add", "com.example.refused", "--team-id", scene.house.relay.team]
    for goes_on in (True, False):
        scene.house.disk.plan(0, fault.SYNC_ERROR, scene.house.disk.boundaries)
        code, errors = await scene.house.ask(*words)
        require(code == 1 and "check the disk" in errors, f"on a failing disk a change gets {code}, {errors}")
        if goes_on:
            scene.house.disk.heal()
        else:
            await scene.end()
            await scene.start()
        await scene.house.tell(*words)
        topics = [topic["topic"] for topic in json.loads(await scene.house.tell("topics", "list", "--json"))]
        require(topics.count("com.example.refused") == 1, f"done again, there are {topics}")
        await scene.ends_at(fault.CUT, 0)
        topics = await scene.house.tell("topics", "list")
        require(topics.count("com.example.refused") == 1, f"after a power cut there are {topics}")
        await scene.house.tell("topics", "remove", "com.example.refused")
    say("done again, done once")


async def main(program, folder, part):
    scene = Scene(program, folder, fault.build(folder))
    await scene.prepare()
    await {"ends": ends, "errors": errors, "doubt": doubt, "backup": backup, "copy": copy, "refused": refused}[part](scene)
    await scene.end()


asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3]))
