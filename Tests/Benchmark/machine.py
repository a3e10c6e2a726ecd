"""Processes on this machine: started, waited for, looked at and ended. Servers have one processor, clients another."""

import atexit
import contextlib
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

SERVER, CLIENT = "0", "1"
TICKS = os.sysconf("SC_CLK_TCK")


def allow_descriptors():
    """Lets this process and all that it starts open as many files as the system lets anybody, and answers how many.
    Peers do not do so by themselves."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def start(*words, pinned=None, **streams):
    """taskset replaces itself, so that the process is the program's."""
    pin = ["taskset", "--cpu-list", pinned] if pinned else []
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    process = subprocess.Popen([*pin, *map(str, words)], text=True, **streams)
    atexit.register(process.kill)
    return process


def stop(process):
    process.terminate()
    process.wait()


def run(*words, **settings):
    """Runs a program to its end, and answers what it printed."""
    words = list(map(str, words))
    result = subprocess.run(words, capture_output=True, text=True, **settings)
    if result.returncode != 0:
        sys.exit(f"{' '.join(words)}\n{result.stderr}")
    return result.stdout


def free_port():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def wait_for(port):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise SystemExit(f"nobody listens on port {port}")


def missing(program, package, file=None):
    """Whether a peer is not installed; says so, once."""
    if Path(file).exists() if file else shutil.which(program) or Path("/usr/sbin", program).exists():
        return False
    if program not in missing.told:
        print(f"  ({program} is left out: the package {package} is not installed)", flush=True)
        missing.told.add(program)
    return True


missing.told = set()


def cpu(process):
    """Seconds of processor time that a process has used, user and system."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def pss(process):
    """KiB of memory, shared pages by their part."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise SystemExit(f"process {process} shows no memory")


def description():
    """The machine in a line, for a document."""
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    system = release.get("PRETTY_NAME", "Linux").strip('"')
    return (f"{os.cpu_count()} processors ({model}), {system}, "
            f"Linux {platform.release().partition('-')[0]}, {time.strftime('%Y-%m-%d')}")
