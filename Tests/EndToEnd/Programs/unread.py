"""Scrapers that ask a relay for its metrics again and again and never read an answer, more than there may be: pushes go on
meanwhile, and metrics are told again when those have had their time.

usage: unread.py RELAY.json POSTRIDER FOLDER
"""

import json
import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

from relay import require, say

# More than Limits.metricsConnections; the others wait in the kernel's queue.
SCRAPERS = 40


def main(description, postrider, folder):
    told = json.loads(Path(description).read_text())
    host, port = told["metricsAddress"].rsplit(":", 1)
    scrapers = []
    for _ in range(SCRAPERS):
        scraper = socket.create_connection((host, int(port)))
        # The kernel takes next to nothing for it.
        scraper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        scraper.setblocking(False)
        try:
            # More answers than fit into the buffers of both ends.
            scraper.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
        except BlockingIOError:
            pass
        scrapers.append(scraper)
    load = subprocess.run(
        [postrider, "load", "push", "--json", "--directory", str(Path(folder) / "dev"), "--devices", "20", "--count", "500",
         "--warm-up", "0s"], capture_output=True, text=True)
    require(load.returncode == 0, f"the load ended with {load.returncode}: {load.stderr}")
    say("pushes go on")
    # It has its turn when the first of the others are given up.
    text = urllib.request.urlopen(f"http://{host}:{port}/metrics", timeout=200).read().decode()
    accepted = int(re.search(r"^postrider_notifications_accepted_total (\d+)$", text, re.M)[1])
    require(accepted >= 500, f"{accepted} are accepted")
    abandoned = int(re.search(r"^postrider_metrics_abandoned_total (\d+)$", text, re.M)[1])
    require(abandoned > 0, "nobody was given up")
    for scraper in scrapers:
        scraper.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
