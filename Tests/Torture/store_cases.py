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
# The fault itself, how many boundaries meet it, and whether the power goes some boundaries later.
SHAPES = [
    (fault.KILL, 1, False), (fault.TEAR, 1, False), (fault.CUT, 1, False),
    (fault.FULL, 1, False), (fault.WRITE_ERROR, 1, False), (fault.SYNC_ERROR, 1, False),
    (fault.FULL, 25, True), (fault.WRITE_ERROR, 25, True), (fault.SYNC_ERROR, 1, True), (fault.SYNC_ERROR, 25, True),
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

    def boundaries(self, seed):
        """How many write boundaries the script has where nothing fails."""
        disk, code, _ = self._run(f"clean-{seed}", seed, [])
        if code != 0:
            raise RuntimeError(f"the script with seed {seed} fails without a fault")
        return disk.boundaries

    def run(self, shape, boundary, seed):
        """One case. Answers its account."""
        kind, span, has_cut = shape
        chance = random.Random(f"{shape} {boundary} {seed}")
        plans = [(kind, boundary, span)]
        if has_cut:
            plans.append((fault.CUT, boundary + span + chance.randrange(80), 1))
        name = f"{kind}-{span}-{int(has_cut)}-{boundary}-{seed}"
        disk, code, place = self._run(name, seed, plans)
        account = Account(cases=1)
        for number, (planned, _, _) in enumerate(plans):
            account.injected[fault.NAMES[planned]] += disk.hits(number)
        told = (place / "told").read_text().split("\n")
        account.changes = sum(line.startswith("ok ") for line in told)
        account.refused = sum(line.startswith("failed ") for line in told)
        is_deadly = kind in fault.DEADLY and disk.hits(0) or has_cut and disk.hits(1)
        checked = subprocess.run(
            [self.program, "check", place / "store", str(seed), place / "told"], capture_output=True, text=True)
        found = checked.stdout.split("\n")[:-1]
        if checked.returncode not in (0, 1, 3):
            found.append(f"the check ended with {checked.returncode}: {checked.stderr}")
        if is_deadly and code != -9 or not is_deadly and code not in (0, 3):
            found.append(f"the run ended with {code}: {(place / 'log').read_text()[-2000:]}")
        if not has_cut and kind not in fault.DEADLY and not self._went_on(told, code):
            found.append("the store did not recover when the disk did")
        title = f"{fault.NAMES[kind]} at {boundary}, {span} long{', power cut later' if has_cut else ''}, seed {seed}"
        account.findings = [f"{title}: {sentence}" for sentence in found]
        if not found:
            shutil.rmtree(place)
        return account

    def _went_on(self, told, code):
        """Whether one fault fails few steps. A store whose opening met it is refused."""
        outcomes = [line.split()[0] for line in told if line.startswith(("ok ", "failed "))]
        return code == 3 or "ok" in outcomes[-3:]

    def _run(self, name, seed, plans):
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        disk = fault.Disk(self.library, place / "control", place / "store", seed)
        for number, plan in enumerate(plans):
            disk.plan(number, *plan)
        with (place / "told").open("w") as told, (place / "log").open("w") as log:
            code = subprocess.run(
                [self.program, "run", place / "store", str(seed), "1", str(STEPS)], stdout=told, stderr=log,
                env=disk.environment,
            ).returncode
        return disk, code, place
