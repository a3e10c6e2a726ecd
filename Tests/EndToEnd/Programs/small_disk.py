"""Small real file systems that a test can fill, in a mount namespace of the program that uses them."""

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

MIB = 1 << 20

# The command that makes each, and its size. xfs and btrfs have the smallest size that their tools allow.
KINDS = {
    "tmpfs": (None, 24 * MIB),
    "ext4-1k": (["mkfs.ext4", "-q", "-F", "-b", "1024"], 24 * MIB),
    "ext4-4k": (["mkfs.ext4", "-q", "-F", "-b", "4096"], 24 * MIB),
    "xfs": (["mkfs.xfs", "-q", "-f"], 300 * MIB),
    "btrfs": (["mkfs.btrfs", "-q", "-f"], 160 * MIB),
}

NAMESPACE = ["unshare", "--mount", "--propagation", "private"]


def in_namespace():
    """Restarts this program in its own mount namespace, if it has none; its mounts end with it."""
    if os.environ.get("POSTRIDER_NAMESPACE") != str(os.getpid()):
        # The process number stays the same.
        os.environ["POSTRIDER_NAMESPACE"] = str(os.getpid())
        os.execvp(NAMESPACE[0], [*NAMESPACE, sys.executable, *sys.argv])


class SmallDisk:
    """A mounted file system of one kind, which other programs may fill."""

    def __init__(self, kind, place, image):
        make, self.size = KINDS[kind]
        self.kind = kind
        self.place = Path(place)
        self.image = Path(image)
        self.place.mkdir(parents=True, exist_ok=True)
        if make:
            with self.image.open("wb") as file:
                file.truncate(self.size)
            subprocess.run([*make, self.image], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(["mount", "-o", "loop", self.image, self.place], check=True)
            shutil.rmtree(self.place / "lost+found", ignore_errors=True)
        else:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", self.place], check=True)
        self.place.chmod(0o700)

    @property
    def free(self):
        status = os.statvfs(self.place)
        return status.f_bavail * status.f_frsize

    def fill(self, leave=0):
        """Lets another program write until this many bytes are left."""
        with (self.place / "another program's").open("ab", buffering=0) as file:
            for piece in (MIB, 64 << 10, 4 << 10, 1 << 10):
                with contextlib.suppress(OSError):
                    while leave == 0 or self.free >= leave + piece:
                        file.write(bytes(piece))
                        os.fsync(file.fileno())

    def give(self, size):
        """Lets the other program free this many bytes."""
        filler = self.place / "another program's"
        os.truncate(filler, filler.stat().st_size - size)
        os.sync()

    def make_room(self):
        """Removes everything that the other program has written."""
        (self.place / "another program's").unlink()
        os.sync()

    def unmount(self):
        subprocess.run(["umount", self.place], check=True)


def probe(kind):
    """Returns whether this machine permits to make and mount one; prints the reason if not."""
    make, _ = KINDS[kind]
    if make and not shutil.which(make[0]):
        sys.exit(f"{make[0]} is missing")
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    try:
        disk = SmallDisk(kind, folder / "place", folder / "image")
        disk.unmount()
    except (OSError, subprocess.CalledProcessError) as failure:
        sys.exit(f"no {kind} can be mounted here: {failure}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        in_namespace()
    except OSError as failure:
        sys.exit(f"no mount namespace can be made here: {os.strerror(failure.errno or errno.EPERM)}")
    probe(sys.argv[1])
