"""Small file systems of every kind that this machine lets us mount, filled under a relay and under an agent."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from relay import say
from small_disk import KINDS

PROGRAMS = Path(__file__).parents[1] / "EndToEnd" / "Programs"
PARTS = ["relay", "pushes", "doubt", "agent"]
# On these a write into a file takes new room, so a disk that pushes alone have filled needs room from elsewhere.
COPYING = {"btrfs"}
# Far more seconds than one takes, also of a machine that many builds keep busy.
PATIENCE = 1800


def full_disks(program, folder):
    """Fills each kind once under each program, and answers what was found."""
    folder.mkdir()
    findings = []
    for kind in KINDS:
        probe = subprocess.run(
            [sys.executable, PROGRAMS / "small_disk.py", kind], stderr=subprocess.PIPE, text=True, check=False)
        if probe.returncode:
            say(f"a full disk: {kind} is LEFT OUT: {probe.stderr.strip()}")
            continue
        done = []
        for part in PARTS:
            if part == "pushes" and kind in COPYING:
                continue
            place = folder / f"{kind}-{part}"
            command = [sys.executable, PROGRAMS / "full_disk.py", program, place, part, kind]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
            try:
                text, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                # What it has started is in its session, and what it has mounted goes with that.
                os.killpg(process.pid, signal.SIGKILL)
                text = f"it took more than {PATIENCE} s"
                process.wait()
            lines = text.strip().split("\n")
            if process.returncode == 0 and lines[-1] == "nothing is lost":
                done += lines[:-1] or [part]
                shutil.rmtree(place, ignore_errors=True)
            else:
                findings.append(f"{kind}, {part}: {text.strip()[-2000:]}")
        say(f"a full disk: {kind}: {'; '.join(done)}")
    return findings
