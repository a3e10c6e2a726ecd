"""Makes the picture of the page of nodes in docs/operate/console.md.

usage: console_nodes_picture.py CLUSTER.json POSTRIDER FOLDER
"""

import dataclasses
import json
import sys
from pathlib import Path

from browser import Browser
from console_pictures import NAMES, save
from console_stage import ConsoleStage
from relay import Relay

FILE, POSTRIDER, FOLDER = sys.argv[1:]
told = json.loads(Path(FILE).read_text())
relay = Relay.described_in(FILE)
stages = [
    ConsoleStage(dataclasses.replace(
        relay, provider_endpoint=(node["host"], node["providerPort"]), device_endpoint=(node["host"], node["devicePort"])))
    for node in told["nodes"]
]
# A device that enrols at a node has its home there; its pushes come through every node.
devices = [stages[number % len(stages)].device(name) for number, name in enumerate(NAMES)]
for number in range(400):
    stages[number % len(stages)].push(devices[number % len(devices)].token)
browser = Browser(told, POSTRIDER)
try:
    browser.sign_in()
    browser.look((1180, 520))
    browser.open("nodes")
    browser.until("all links", lambda: len(browser.all("tbody tr")) == 3 and browser.text().count("linked") == 2)
    save(browser, Path(FOLDER), "nodes")
finally:
    browser.quit()
