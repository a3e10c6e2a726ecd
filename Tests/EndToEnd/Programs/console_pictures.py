"""Makes the pictures of docs/operate/console.md."""

import threading
import time
from math import sin

from browser import DESK
from relay import say

NAMES = ["lobby-door", "lobby-screen", "kitchen-screen", "gate-north", "gate-south", "lift-1", "lift-2", "roof-camera"]
SECONDS = 130


def traffic(stage, devices, end):
    """Pushes at a rate that changes, to some devices more than to others."""
    number = 0
    while time.monotonic() < end:
        number += 1
        device = devices[number * number % len(devices)]
        stage.push(device.token, {"aps": {"alert": {"title": "Door", "body": f"Visitor {number}"}}})
        if number % 40 == 0:
            stage.push("ab" * 32)
        time.sleep(0.04 + 0.03 * sin(time.monotonic() / 12))


def save(browser, folder, name):
    path = folder / f"console-{name}.png"
    browser.driver.get_screenshot_as_file(str(path))
    say(f"{path.name}: {path.stat().st_size // 1024} KiB")


def run(browser, stage, folder):
    devices = [stage.device(name, report="the screen is off" if name == "lift-1" else None) for name in NAMES]
    for name in NAMES:
        browser.run("devices", "tag", name, name.split("-")[0], "berlin")
    browser.sign_in()
    browser.look((1180, 760))
    pusher = threading.Thread(target=traffic, args=(stage, devices, time.monotonic() + SECONDS))
    pusher.start()
    time.sleep(SECONDS * 2 / 3)
    for device in devices[-2:]:
        stage.away(device)
    pusher.join()
    browser.until("the plots", lambda: browser.all("polyline"))
    save(browser, folder, "overview")
    _, identity = stage.push(devices[5].token)
    browser.look((1180, 640))
    browser.open(f"pushes/{identity}")
    browser.until("its life", lambda: len(browser.all(".timeline li")) >= 3)
    save(browser, folder, "push")
    browser.look((1180, 760))
    browser.open(f"send?token={devices[0].token}&topic={stage.relay.topic}")
    browser.click("Send", "button")
    browser.until("the device has it", lambda: len(browser.all(".stages .reached")) >= 2)
    save(browser, folder, "send")
    browser.look(DESK)
