"""Puts the store and the relay under fire for some minutes, and says what was done and found.

usage: torture.py PRODUCTS [--minutes N] [--seed N]

PRODUCTS is the folder with the programs `postrider` and `store-under-fire`. Half of the time belongs to the store, with a
fault of every kind at every write boundary of a script, seed after seed; a quarter to a whole relay, with pushes from
aioapns and a device of grpcio; a quarter to an agent of a sound relay, with an app of grpcio. Before that, real small
file systems are filled under both, once each. Ends with 1 where anything was found.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "EndToEnd" / "Programs"))

import agent_fire  # noqa: E402
import burning  # noqa: E402
import fault  # noqa: E402
from earlier_cases import EarlierCases  # noqa: E402
from full_disks import full_disks  # noqa: E402
from relay import say  # noqa: E402
from store_cases import SHAPES, Account, StoreCases  # noqa: E402

WORKERS = 2


def drawn(seed, number):
    """A seed of its own for each number of a seed: neighbours have none in common."""
    return random.Random(f"{seed} {number}").getrandbits(32)


def store_part(program, folder, end, seed):
    """Every shape at every boundary, with the seed and then with ones drawn from it, until the time is over."""
    cases = StoreCases(program, folder)
    earlier = EarlierCases(program, folder)
    total = Account()
    with ThreadPoolExecutor(WORKERS) as workers:
        for kind in (fault.KILL, fault.TEAR, fault.CUT, fault.FULL, fault.WRITE_ERROR, fault.SYNC_ERROR):
            for account in workers.map(lambda b, k=kind: earlier.run(k, b, drawn(seed, b)), range(earlier.boundaries + 1)):
                total.add(account)
        say(f"a store of the first schema: {total.cases} interruptions of its opening, at each of "
            f"{earlier.boundaries} write boundaries")
        for number in count():
            round_seed = drawn(seed, number) if number else seed
            boundaries = cases.boundaries(round_seed)
            work = [(shape, boundary) for boundary in range(boundaries + 1) for shape in SHAPES]
            random.Random(round_seed).shuffle(work)

            def one(item):
                return cases.run(*item, round_seed) if time.monotonic() < end else None

            done = [account for account in workers.map(one, work) if account]
            for account in done:
                total.add(account)
            if len(done) < len(work):
                say(f"a store: seed {round_seed}, {len(done)} of {len(work)} cases, then the time was over")
                return total
            say(f"a store: seed {round_seed}, every kind of fault at each of {boundaries} write boundaries")


async def burn(make_scene, program, place, end, seed, boundaries):
    """A relay or an agent, one fault after the other until the time is over."""
    place.mkdir()
    scene = make_scene(program, place, fault.build(place.parent))
    await scene.prepare()
    chance = random.Random(seed)
    injected = Counter()
    while time.monotonic() <= end:
        disk_seed = chance.getrandbits(32)
        kind = chance.choice([
            fault.KILL, fault.TEAR, fault.CUT, fault.CUT, fault.FULL, fault.WRITE_ERROR, fault.SYNC_ERROR])
        injected[fault.NAMES[kind]] += 1
        if kind in fault.DEADLY:
            await scene.ends_at(kind, chance.randrange(boundaries), disk_seed)
        elif kind == fault.SYNC_ERROR and chance.randrange(2):
            injected[fault.NAMES[fault.KILL]] += 1
            injected[fault.NAMES[fault.CUT]] += 1
            await scene.ends_in_doubt(disk_seed)
        else:
            injected[fault.NAMES[fault.CUT]] += 1
            await scene.lives_through(kind, disk_seed)
    await scene.end()
    return scene, injected


def table(counts):
    return ", ".join(f"{number} × {name}" for name, number in sorted(counts.items()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("products", type=Path)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pr-fire-"))
    full = full_disks(arguments.products / "postrider", folder / "full")
    say(f"full disks: not as promised: {len(full)}")
    for finding in full:
        say(f"  FOUND {finding}")
    begun = time.monotonic()
    seconds = arguments.minutes * 60

    store = store_part(arguments.products / "store-under-fire", folder, begun + seconds / 2, arguments.seed)
    say(f"  {store.cases} cases, faults injected: {table(store.injected)}")
    say(f"  {store.changes} changes made durable, {store.refused} refused; not as promised: {len(store.findings)}")
    for finding in store.findings:
        say(f"  FOUND {finding}")

    program = arguments.products / "postrider"
    part, found = "a relay", None
    try:
        scene, injected = asyncio.run(
            burn(burning.Scene, program, folder / "relay", begun + seconds * 3 / 4, arguments.seed, 120))
        answers = Counter("accepted" if answer == 200 else "unanswered" if answer is None else "refused"
                          for answer in scene.answers.values())
        say(f"a relay: {sum(injected.values())} faults injected: {table(injected)}")
        say(f"  {len(scene.answers)} pushes: {table(answers)}")
        say(f"  lost: 0; {scene.device.copies} came again after a fault and were told by their identity; counters balanced "
            "after each fault")
        part = "an agent"
        scene, injected = asyncio.run(
            burn(agent_fire.Scene, program, folder / "agent", begun + seconds, arguments.seed, 40))
        say(f"an agent: {sum(injected.values())} faults injected: {table(injected)}")
        say(f"  {len(scene.pushed)} pushes, all accepted by its relay; lost: 0; handed over to the app twice: {scene.again}, "
            "each where the agent ended before it had written down that the app was done")
    except (SystemExit, TimeoutError) as failure:
        found = str(failure) or "something that was waited for did not happen"
        say(f"{part}: FOUND {found}")
    if full or store.findings or found:
        say(f"found something; it lies in {folder}, and the seed was {arguments.seed}")
        sys.exit(1)
    shutil.rmtree(folder)
    say(f"nothing found in {time.monotonic() - begun:.0f} s")


main()
