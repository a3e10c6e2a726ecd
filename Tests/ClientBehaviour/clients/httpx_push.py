"""Pushes with httpx: usage in ../measure.py."""

import json
import ssl
import sys
from pathlib import Path

import httpx

relay, bearer, token, count = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2], sys.argv[3], int(sys.argv[4])
trust = ssl.create_default_context(cafile=relay["authorityFile"])
with httpx.Client(http2=True, verify=trust, base_url=f"https://{relay['host']}:{relay['providerPort']}") as client:
    for number in range(1, count + 1):
        head = {"authorization": f"bearer {bearer}", "apns-topic": relay["topics"][0], "apns-collapse-id": str(number)}
        try:
            print(number, client.post(f"/3/device/{token}", headers=head, content='{"aps":{"alert":"Tea"}}').status_code, flush=True)
        except httpx.HTTPError as error:
            print(number, "error", repr(error), flush=True)
