"""Uses the console of a relay with a real browser.

usage: console.py RELAY.json POSTRIDER pages|actions|attacks
       console.py RELAY.json POSTRIDER pictures FOLDER
"""

import json
import sys
from pathlib import Path

import console_actions
import console_attacks
import console_pages
import console_pictures
from browser import Browser
from console_stage import ConsoleStage
from relay import Relay

file, postrider, what, *rest = sys.argv[1:]
browser = Browser(json.loads(Path(file).read_text()), postrider)
stage = ConsoleStage(Relay.described_in(file))
try:
    if what == "pages":
        console_pages.run(browser, stage)
    elif what == "actions":
        console_actions.run(browser, stage)
    elif what == "attacks":
        console_attacks.run(browser, stage)
    else:
        console_pictures.run(browser, stage, Path(rest[0]))
finally:
    browser.quit()
