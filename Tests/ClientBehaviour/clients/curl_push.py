"""Pushes with the program curl and --retry, a process for each push: usage in ../measure.py."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

relay, bearer, token, count = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], sys.argv[3], int(sys.argv[4])
# Before it repeats a request, curl truncates what it has written, and fails if that is /dev/null.
with tempfile.NamedTemporaryFile() as file:
    for number in range(1, count + 1):
        subprocess.run([
            "curl", "--silent", "--http2", "--retry", "2", "--cacert", relay["authorityFile"], "--output", file.name,
            "--write-out", f"{number} %{{http_code}} %{{errormsg}}\\n", "--header", f"authorization: bearer {bearer}",
            "--header", f"apns-topic: {relay['topics'][0]}", "--header", f"apns-collapse-id: {number}",
            "--data", '{"aps":{"alert":"Tea"}}', f"https://{relay['host']}:{relay['providerPort']}/3/device/{token}"], check=False)
