"""A store of the first schema, opened by this program: it is brought up to date, whatever interrupts that."""

import shutil
import sqlite3
import subprocess
from pathlib import Path

import fault
from store_cases import Account

EARLIER = Path(__file__).parent / "Earlier"


class EarlierCases:
    def __init__(self, program, folder):
        self.program = str(program)
        self.folder = Path(folder)
        self.library = fault.build(folder)
        disk, code, self.expected = self._show(self._make("sound"), [])
        if code != 0 or '["000102030405060708090a0b phone"]' not in self.expected:
            raise RuntimeError(f"a store of the first schema cannot be opened: {self.expected}")
        self.boundaries = disk.boundaries

    def run(self, kind, boundary, seed):
        """Interrupts the opening at a boundary, then opens again."""
        place = self._make(f"earlier-{kind}-{boundary}-{seed}")
        disk, code, _ = self._show(place, [(kind, boundary, 1)], seed)
        account = Account(cases=1)
        account.injected[fault.NAMES[kind]] += disk.hits(0)
        again = subprocess.run([self.program, "show", place / "store"], capture_output=True, text=True)
        if again.stdout != self.expected:
            account.findings.append(
                f"earlier schema, {fault.NAMES[kind]} at {boundary}, seed {seed}: it holds {again.stdout}")
        else:
            shutil.rmtree(place)
        return account

    def _make(self, name):
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        (place / "store").mkdir(parents=True, mode=0o700)
        for part in ("registry", "queue"):
            database = sqlite3.connect(place / "store" / f"{part}.sqlite")
            database.executescript((EARLIER / f"{part}.sql").read_text())
            database.close()
        return place

    def _show(self, place, plans, seed=0):
        disk = fault.Disk(self.library, place / "control", place / "store", seed)
        for number, plan in enumerate(plans):
            disk.plan(number, *plan)
        shown = subprocess.run(
            [self.program, "show", place / "store"], capture_output=True, text=True, env=disk.environment)
        return disk, shown.returncode, shown.stdout
