"""A store under fire: one fixed script of changes, and a fault of each kind at each of its write boundaries.

Every case is one run of `store-under-fire` on a new store, further runs where the fault lets the store live, and a check by
a program without faults.
"""

import random
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import fault

STEPS = 12
# The fault itself, how many boundaries meet it, and what comes some boundaries later: the power goes, or the process is
# killed, goes on in another one, and then the power goes.
SHAPES = [
    (fault.KILL, 1, None), (fault.TEAR, 1, None), (fault.CUT, 1, None),
    (fault.FULL, 1, None), (fault.WRITE_ERROR, 1, None), (fault.SYNC_ERROR, 1, None),
    (fault.FULL, 25, fault.CUT), (fault.WRITE_ERROR, 25, fault.CUT), (fault.SYNC_ERROR, 1, fault.CUT),
    (fault.SYNC_ERROR, 25, fault.CUT), (fault.SYNC_ERROR, 1, fault.KILL), (fault.SYNC_ERROR, 25, fault.KILL),
    (fault.KILL, 1, fault.CUT),
]


@dataclass
class Account:
    """What the cases have done, and found."""

    cases: int = 0
    injected: Counter = field(default_factory=Counter)
    changes: int = 0
    refused: int = 0
    findings: list = field(default_factory=list)

    def add(self, other):
        self.cases += other.cases
        self.injected += other.injected
        self.changes += other.changes
        self.refused += other.refused
        self.findings += other.findings


class StoreCases:
    def __init__(self, program, folder):
        self.program = str(program)
        self.folder = Path(folder)
        self.library = fault.build(folder)

    def boundaries(self, seed, steps=STEPS):
        """How many write boundaries the script has where nothing fails."""
        disk, code = self._run(self._make(f"clean-{seed}"), seed, [], steps=steps)
        if code != 0:
            raise RuntimeError(f"the script with seed {seed} fails without a fault")
        return disk.boundaries

    def run(self, shape, boundary, seed):
        """One case. Answers its account."""
        kind, span, later = shape
        chance = random.Random(f"{shape} {boundary} {seed}")
        place = self._make(f"{kind}-{span}-{later}-{boundary}-{seed}")
        account = Account(cases=1)
        plans = [(kind, boundary, span)]
        if later and kind not in fault.DEADLY:
            # Between a failed sync and its mending there are few.
            apart = chance.randrange(8 if later == fault.KILL else 80)
            plans.append((later, boundary + (1 if later == fault.KILL else span) + apart, 1))
        disk, code = self._run(place, seed, plans)
        is_deadly = self._count(account, plans, disk)
        found = self._unexpected(place, code, is_deadly)
        if is_deadly and (later == fault.KILL or kind == fault.KILL and later):
            # Another process goes on with the disk as this one has left it, and then the power goes.
            plans = [(fault.CUT, chance.randrange(60), 1)]
            first = max((step for step in self._steps(place)), default=0) + 1
            disk, code = self._run(place, seed, plans, first)
            is_deadly = self._count(account, plans, disk)
            found += self._unexpected(place, code, is_deadly)
        told = (place / "told").read_text().split("\n")
        account.changes = sum(line.startswith("ok ") for line in told)
        account.refused = sum(line.startswith("failed ") for line in told)
        checked = subprocess.run(
            [self.program, "check", place / "store", str(seed), place / "told"], capture_output=True, text=True)
        found += checked.stdout.split("\n")[:-1]
        if checked.returncode not in (0, 1, 3):
            found.append(f"the check ended with {checked.returncode}: {checked.stderr}")
        if not later and kind not in fault.DEADLY and not self._went_on(told, code):
            found.append("the store did not recover when the disk did")
        title = f"{fault.NAMES[kind]} at {boundary}, {span} long{f', {fault.NAMES[later]} later' if later else ''}, seed {seed}"
        account.findings = [f"{title}: {sentence}" for sentence in found]
        if not found:
            shutil.rmtree(place)
        return account

    def _went_on(self, told, code):
        """Whether one fault fails few steps. A store whose opening met it is refused."""
        outcomes = [line.split()[0] for line in told if line.startswith(("ok ", "failed "))]
        return code == 3 or "ok" in outcomes[-3:]

    def _count(self, account, plans, disk):
        """Adds what was injected, and answers whether it has ended the run."""
        for number, (planned, _, _) in enumerate(plans):
            account.injected[fault.NAMES[planned]] += disk.hits(number)
        return any(planned in fault.DEADLY and disk.hits(number) for number, (planned, _, _) in enumerate(plans))

    def _unexpected(self, place, code, is_deadly):
        if is_deadly and code != -9 or not is_deadly and code not in (0, 3):
            return [f"the run ended with {code}: {(place / 'log').read_text()[-2000:]}"]
        return []

    def _steps(self, place):
        """The steps that runs have begun."""
        lines = (line.split() for line in (place / "told").read_text().split("\n"))
        return [int(words[1]) for words in lines if len(words) == 2 and words[0] == "tried"]

    def _make(self, name):
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place

    def _run(self, place, seed, plans, first=1, steps=STEPS):
        disk = fault.Disk(self.library, place / "control", place / "store", seed)
        for number, plan in enumerate(plans):
            disk.plan(number, *plan)
        with (place / "told").open("a") as told, (place / "log").open("a") as log:
            code = subprocess.run(
                [self.program, "run", place / "store", str(seed), str(first), str(first + steps - 1)], stdout=told,
                stderr=log, env=disk.environment,
            ).returncode
        return disk, code
