"""Starts, observes and ends processes on this machine. Servers have one processor, clients another."""

import contextlib
import os
import platform
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SERVER, CLIENT = "0", "1"
TICKS = os.sysconf("SC_CLK_TCK")


def allow_descriptors():
    """Lets this process and its children open as many files as the system allows, and returns their number.
    Peers do not raise the limit themselves."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


@contextlib.contextmanager
def workplace():
    """Yields a folder for all files. At the end, ends all processes that were started and then removes the folder, even if
    this program is interrupted (then with exit code 130) or ended."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # The name is short because the folder contains sockets.
        with tempfile.TemporaryDirectory(prefix="pr-") as folder:
            try:
                yield folder
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while running:
                    stop(running[-1])
    except KeyboardInterrupt:
        sys.exit(130)


running = []


def start(*words, pinned=None, **streams):
    """Starts a program. taskset replaces itself, so that the process is the program's."""
    pin = ["taskset", "--cpu-list", pinned] if pinned else []
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    process = subprocess.Popen([*pin, *map(str, words)], text=True, **streams)
    running.append(process)
    return process


def stop(process):
    """Ends a process in an orderly way, or kills it if that takes too long."""
    process.terminate()
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process in running:
        running.remove(process)


def finished(*words, **settings):
    """Runs a program to its end, and returns its exit code, its output and its errors."""
    process = start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)
    try:
        output, errors = process.communicate()
    finally:
        stop(process)
    return process.returncode, output, errors


def run(*words, **settings):
    """The same, but returns only the output; ends this program if the other failed."""
    code, output, errors = finished(*words, **settings)
    if code != 0:
        sys.exit(f"'{' '.join(map(str, words))}' ended with {code}: {errors.strip() or 'it did not say why'}")
    return output


def compile_c(source, output, *options):
    """Compiles a C program with the compiler of the Swift toolchain."""
    compiler = Path(shutil.which("swift")).resolve().parent / "clang"
    run(compiler, *options, "-o", output, source)


def free_port():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def wait_for(port, server, name, log):
    """Waits until a server listens, whose output is in a log."""
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        if server.poll() is not None:
            sys.exit(f"{name} ended with {server.returncode} before it listened: {last_line(log)}")
        time.sleep(0.05)
    sys.exit(f"{name} does not listen on port {port} after 10 s: {last_line(log)}")


def last_line(log):
    lines = Path(log).read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it did not say why"


def missing(program, package, file=None):
    """Returns whether a peer is not installed; reports that once."""
    if Path(file).exists() if file else shutil.which(program) or Path("/usr/sbin", program).exists():
        return False
    if program not in missing.told:
        print(f"  ({program} is left out: the package {package} is not installed)", flush=True)
        missing.told.add(program)
    return True


missing.told = set()


def cpu(process):
    """Returns the processor time of a process in seconds, user and system."""
    fields = looked(process, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def pss(process):
    """Returns the proportional set size of a process in KiB."""
    for line in looked(process, "smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    sys.exit(f"process {process} shows no memory: it has ended, or is somebody else's")


def looked(process, file):
    """Reads the kernel's figures of a process."""
    try:
        return Path(f"/proc/{process}/{file}").read_text()
    except OSError as error:
        sys.exit(f"process {process} cannot be looked at ({error.strerror}): it has ended, or is somebody else's")


def description():
    """Describes the machine in one line, for a document."""
    model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown processor")
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    system = release.get("PRETTY_NAME", "Linux").strip('"')
    return (f"{os.cpu_count()} processors ({model}), {system}, "
            f"Linux {platform.release().partition('-')[0]}, {time.strftime('%Y-%m-%d')}")
