"""A failing disk: builds Tests/Torture/fault.c, and tells the library its faults and their times."""

import mmap
import os
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "Torture" / "fault.c"
WORDS = 512
FOREVER = 2**63

NONE, KILL, TEAR, FULL, WRITE_ERROR, SYNC_ERROR, CUT = range(7)
NAMES = {KILL: "kill", TEAR: "torn write", FULL: "disk full", WRITE_ERROR: "write error", SYNC_ERROR: "sync error", CUT: "power cut"}
# The faults that end the program.
DEADLY = {KILL, TEAR, CUT}


def build(folder):
    """Compiles the library and returns its path."""
    library = Path(folder) / "fault.so"
    if not library.exists():
        partial = library.with_suffix(f".{os.getpid()}")
        compiler = Path(shutil.which("swift")).resolve().parent / "clang"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", partial, SOURCE, "-ldl", "-lpthread"], check=True)
        partial.rename(library)
    return library


class Disk:
    """The disk of one program, under one directory; its counters outlive the program."""

    def __init__(self, library, control, directory, seed=0):
        self.library = library
        self.control = Path(control)
        # The state of the disk that a killed program leaves for the next one.
        self.memory = self.control.with_suffix(".memory")
        self.directory = Path(directory)
        self.control.write_bytes(bytes(WORDS * 8))
        with self.control.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), WORDS * 8)
        self._set(1, seed)

    @property
    def environment(self):
        """Returns the environment with which the program is started."""
        return os.environ | {
            "LD_PRELOAD": str(self.library),
            "POSTRIDER_FAULT_CONTROL": str(self.control),
            "POSTRIDER_FAULT_DIRECTORY": str(self.directory),
            "POSTRIDER_FAULT_MEMORY": str(self.memory),
        }

    @property
    def boundaries(self):
        """The number of write boundaries so far."""
        return self._get(0)

    def plan(self, number, kind, first, count=FOREVER):
        """Plans a fault for the next `count` operations that can have it, from the boundary `first` on."""
        place = 8 + 4 * number
        self._set(place, NONE)
        self._set(place + 1, first)
        self._set(place + 2, count)
        self._set(place + 3, 0)
        self._set(place, kind)

    def hits(self, number):
        """The number of faults that a plan has injected."""
        return self._get(8 + 4 * number + 3)

    def heal(self):
        """Ends all faults."""
        for number in range(6):
            self._set(8 + 4 * number, NONE)

    def close(self):
        self.map.close()

    def _get(self, word):
        return struct.unpack_from("<Q", self.map, word * 8)[0]

    def _set(self, word, value):
        struct.pack_into("<Q", self.map, word * 8, value)
