"""Follows the page docs/start/test-your-push-code.md from an empty folder, with the ports that are on it.

usage: five_minutes.py FOLDER PROGRAM PAGE PLUGIN

It needs a network namespace of its own, whose loopback interface it sets up. PLUGIN is the folder of the package pytest_postrider.
"""

import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

from relay import require, say

folder, program, page, plugin = map(Path, sys.argv[1:5])

# What the page's code under test is, for its test in pytest: it forgets tokens that are gone.
MY_APP = '''
import json, subprocess
TOKEN = "{token}"
known = {{TOKEN}}
def tokens(): return known
def notify(token, server, ca, key):
    bearer = subprocess.run(["postrider", "token", "--key-file", key, "--key-id", "DEVKEY0001", "--team-id", "DEVTEAM001"],
                            capture_output=True, text=True, check=True).stdout.strip()
    push = ["curl", "--silent", "--http2", "--cacert", ca, "-H", "authorization: bearer " + bearer, "-H",
            "apns-topic: com.example.app", "-o", "/dev/null", "-w", "%{{http_code}}", "-d",
            json.dumps({{"aps": {{"alert": {{"title": "Tea"}}}}}}), f"https://{{server[0]}}:{{server[1]}}/3/device/{{token}}"]
    if subprocess.run(push, capture_output=True, text=True).stdout == "410":
        known.discard(token)
'''


def set_up_loopback():
    """Does what 'ip link set lo up' does (netdevice(7)): SIOCSIFFLAGS with IFF_UP."""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder / "empty", timeout=200, check=False, **more)
    require(done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout} {done.stderr}")
    return done.stdout


def shell(text):
    return run(["bash", "-euc", text])


def start(text):
    relay = subprocess.Popen(["bash", "-c", "exec " + text], stdout=subprocess.PIPE, text=True, cwd=folder / "empty")
    require("The relay is ready" in relay.stdout.readline(), "the relay does not say that it is ready")
    return relay


def end(relay):
    relay.terminate()
    relay.communicate()
    require(relay.returncode == 0, f"the relay ended with {relay.returncode}")


def main():
    set_up_loopback()
    (folder / "empty").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "postrider").symlink_to(program)
    os.environ["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"

    dev, push, captures, rules, *_ = blocks("sh")
    token = re.search(r"TOKEN=(\w+)", push)[1]
    relay = start(dev)
    require("HTTP/2 200" in shell(push), "the first push is not accepted")
    seen = shell(captures)
    require(token[:8] in seen and '"title":"Tea"' in seen, f"the captures are {seen}")
    say("a push is seen")
    shell(rules)
    require("Unregistered" in shell(push), "the token is not gone")
    end(relay)
    say("the token is gone")

    test, = blocks("python")
    (folder / "empty" / "my_app.py").write_text(MY_APP.format(token=token))
    (folder / "empty" / "test_push.py").write_text("import my_app\nfrom my_app import TOKEN\n\n\n" + test)
    python = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "pytest_postrider.plugin", "-p", "no:cacheprovider"]
    said = run(python, env={**os.environ, "PYTHONPATH": str(plugin)})
    require("1 passed" in said, said)
    say("its test in pytest passes")

    other = re.search(r"`(postrider dev [^`]*--captures-address [^`]+)`", page.read_text())[1]
    relay = start(other)
    shell(push)
    script, = blocks("js")
    head = f'import {{ strict as assert }} from "node:assert";\nconst token = "{token}";\n'
    (folder / "empty" / "test.mjs").write_text(head + script)
    run(["node", "test.mjs"])
    require("503" in shell(push), "the rules of JavaScript are not in use")
    end(relay)
    say("its test in JavaScript passes")


if __name__ == "__main__":
    main()
