"""Pushes with pyapns-client: usage in ../measure.py."""

import json
import sys
from pathlib import Path

from pyapns_client import APNSClient, IOSNotification, IOSPayload, IOSPayloadAlert
from pyapns_client.exceptions import APNSException

relay, token, count = json.loads(Path(sys.argv[1]).read_text()), sys.argv[3], int(sys.argv[4])
APNSClient.BASE_URLS["relay"] = f"https://{relay['host']}:{relay['providerPort']}"
client = APNSClient("relay", relay["authorityFile"], relay["keyFile"], relay["keyIdentifier"], relay["team"])
for number in range(1, count + 1):
    payload = IOSPayload(alert=IOSPayloadAlert(title="Tea"))
    try:
        client.push(IOSNotification(payload=payload, topic=relay["topics"][0], collapse_id=str(number)), token)
        print(number, 200, flush=True)
    except APNSException as error:
        status = getattr(error, "status_code", None)
        print(number, status or "error", repr(error), flush=True)
    except Exception as error:
        print(number, "error", repr(error), flush=True)
